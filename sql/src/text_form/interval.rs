//! Intervals in the styles that `IntervalStyle` names.

use std::fmt::Write;

use arrow::datatypes::IntervalMonthDayNano;
use bytes::{BufMut, BytesMut};

use super::datetime::{write_fraction, write_padded};

/// The setting `IntervalStyle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IntervalStyle {
    #[default]
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

impl IntervalStyle {
    /// The style of that name; the default for anything else.
    pub fn parse(name: &str) -> Self {
        match name {
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            "iso_8601" => IntervalStyle::Iso8601,
            _ => IntervalStyle::Postgres,
        }
    }
}

const SECOND_US: i64 = 1_000_000;

/// An interval in the units of the binary form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

impl From<IntervalMonthDayNano> for Parts {
    fn from(value: IntervalMonthDayNano) -> Self {
        Self {
            months: value.months,
            days: value.days,
            micros: value.nanoseconds / 1000,
        }
    }
}

impl Parts {
    fn years(self) -> i32 {
        self.months / 12
    }

    fn months_of_year(self) -> i32 {
        self.months % 12
    }

    /// Whole hours, minutes of the hour, seconds of the minute, microseconds of the second; all with the sign of the time.
    fn clock(self) -> (i64, i64, i64, i64) {
        let seconds = self.micros / SECOND_US;
        (
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            self.micros % SECOND_US,
        )
    }
}

pub fn write(parts: Parts, style: IntervalStyle, out: &mut BytesMut) {
    match style {
        IntervalStyle::Postgres => write_postgres(parts, out),
        IntervalStyle::PostgresVerbose => write_verbose(parts, out),
        IntervalStyle::SqlStandard => write_sql_standard(parts, out),
        IntervalStyle::Iso8601 => write_iso_8601(parts, out),
    }
}

/// `1 year 2 mons -3 days +04:05:06.789`: a part has a plus when the one before it was negative.
fn write_postgres(parts: Parts, out: &mut BytesMut) {
    let (mut first, mut after_negative) = (true, false);
    for (value, unit) in [
        (parts.years(), "year"),
        (parts.months_of_year(), "mon"),
        (parts.days, "day"),
    ] {
        if value == 0 {
            continue;
        }
        let space = if first { "" } else { " " };
        let plus = if after_negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        write!(out, "{space}{plus}{value} {unit}{plural}").expect("BytesMut grows");
        (first, after_negative) = (false, value < 0);
    }
    if !first && parts.micros == 0 {
        return;
    }
    if !first {
        out.put_u8(b' ');
    }
    if parts.micros < 0 {
        out.put_u8(b'-');
    } else if after_negative {
        out.put_u8(b'+');
    }
    write_clock(parts, out);
}

/// Hours, minutes and seconds without a sign.
fn write_clock(parts: Parts, out: &mut BytesMut) {
    let (hours, minutes, seconds, micros) = parts.clock();
    write_padded(hours, 2, out);
    out.put_u8(b':');
    write_padded(minutes, 2, out);
    out.put_u8(b':');
    write_padded(seconds, 2, out);
    write_fraction(micros, out);
}

/// `@ 1 year 2 mons 3 days 4 hours 5 mins 6.789 secs ago`: all signs are told relative to the first.
fn write_verbose(parts: Parts, out: &mut BytesMut) {
    let (hours, minutes, seconds, micros) = parts.clock();
    let fields = [
        (i64::from(parts.years()), "year"),
        (i64::from(parts.months_of_year()), "mon"),
        (i64::from(parts.days), "day"),
        (hours, "hour"),
        (minutes, "min"),
    ];
    out.put_u8(b'@');
    let mut ago = None;
    for (value, unit) in fields {
        if value == 0 {
            continue;
        }
        let negative = *ago.get_or_insert(value < 0);
        let shown = if negative { -value } else { value };
        let plural = if shown.abs() == 1 { "" } else { "s" };
        write!(out, " {shown} {unit}{plural}").expect("BytesMut grows");
    }
    if seconds != 0 || micros != 0 {
        let below_zero = seconds < 0 || micros < 0;
        let negative = *ago.get_or_insert(below_zero);
        out.put_slice(if below_zero == negative { b" " } else { b" -" });
        write_padded(seconds, 1, out);
        write_fraction(micros, out);
        out.put_slice(if seconds.abs() == 1 && micros == 0 {
            b" sec"
        } else {
            b" secs"
        });
    }
    match ago {
        None => out.put_slice(b" 0"),
        Some(true) => out.put_slice(b" ago"),
        Some(false) => {}
    }
}

/// `1-2`, `3 4:05:06`, or with every part signed when they are mixed: `+1-2 -3 +4:05:06`.
fn write_sql_standard(parts: Parts, out: &mut BytesMut) {
    let (hours, minutes, seconds, micros) = parts.clock();
    let signs = [i64::from(parts.months), i64::from(parts.days), parts.micros];
    let (negative, positive) = (signs.iter().any(|s| *s < 0), signs.iter().any(|s| *s > 0));
    let (has_months, has_days, has_time) = (parts.months != 0, parts.days != 0, parts.micros != 0);
    let sign = |value: i64| if value < 0 { '-' } else { '+' };
    let clock = |out: &mut BytesMut| {
        write!(out, "{}:{:02}:{:02}", hours.abs(), minutes.abs(), seconds.abs()).expect("BytesMut grows");
        write_fraction(micros, out);
    };
    if !negative && !positive {
        out.put_u8(b'0');
        return;
    }
    if (negative && positive) || (has_months && (has_days || has_time)) {
        let (years, months) = (parts.years().abs(), parts.months_of_year().abs());
        let (months_sign, days_sign) = (sign(signs[0]), sign(signs[1]));
        let days = parts.days.unsigned_abs();
        let time_sign = sign(parts.micros);
        write!(out, "{months_sign}{years}-{months} {days_sign}{days} {time_sign}").expect("BytesMut grows");
        clock(out);
        return;
    }
    if negative {
        out.put_u8(b'-');
    }
    if has_months {
        write!(out, "{}-{}", parts.years().abs(), parts.months_of_year().abs()).expect("BytesMut grows");
    } else {
        if has_days {
            write!(out, "{} ", parts.days.unsigned_abs()).expect("BytesMut grows");
        }
        clock(out);
    }
}

/// `P1Y2M3DT4H5M6.789S`.
fn write_iso_8601(parts: Parts, out: &mut BytesMut) {
    if parts
        == (Parts {
            months: 0,
            days: 0,
            micros: 0,
        })
    {
        out.put_slice(b"PT0S");
        return;
    }
    out.put_u8(b'P');
    for (value, unit) in [
        (parts.years(), 'Y'),
        (parts.months_of_year(), 'M'),
        (parts.days, 'D'),
    ] {
        if value != 0 {
            write!(out, "{value}{unit}").expect("BytesMut grows");
        }
    }
    let (hours, minutes, seconds, micros) = parts.clock();
    if parts.micros == 0 {
        return;
    }
    out.put_u8(b'T');
    for (value, unit) in [(hours, 'H'), (minutes, 'M')] {
        if value != 0 {
            write!(out, "{value}{unit}").expect("BytesMut grows");
        }
    }
    if seconds != 0 || micros != 0 {
        if seconds < 0 || micros < 0 {
            out.put_u8(b'-');
        }
        write_padded(seconds, 1, out);
        write_fraction(micros, out);
        out.put_u8(b'S');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(months: i32, days: i32, micros: i64, style: IntervalStyle) -> String {
        let mut out = BytesMut::new();
        write(Parts { months, days, micros }, style, &mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    const TIME: i64 = ((4 * 60 + 5) * 60 + 6) * 1_000_000 + 789_000;

    #[test]
    fn postgres_style() {
        for (months, days, micros, expected) in [
            (14, 3, TIME, "1 year 2 mons 3 days 04:05:06.789"),
            (0, -1, -1_000_000, "-1 days -00:00:01"),
            (0, -1, 1_000_000, "-1 days +00:00:01"),
            (-1, 1, 0, "-1 mons +1 day"),
            (0, 0, 0, "00:00:00"),
            (0, 1, 0, "1 day"),
            (0, 0, 360_000_000_000, "100:00:00"),
            (12, 0, -1, "1 year -00:00:00.000001"),
        ] {
            assert_eq!(text(months, days, micros, IntervalStyle::Postgres), expected);
        }
    }

    #[test]
    fn other_styles() {
        assert_eq!(text(14, 3, TIME, IntervalStyle::Iso8601), "P1Y2M3DT4H5M6.789S");
        assert_eq!(text(0, 1, 7_200_000_000, IntervalStyle::Iso8601), "P1DT2H");
        assert_eq!(text(0, 0, 0, IntervalStyle::Iso8601), "PT0S");
        assert_eq!(text(0, 0, -500_000, IntervalStyle::Iso8601), "PT-0.5S");
        assert_eq!(
            text(14, 3, TIME, IntervalStyle::SqlStandard),
            "+1-2 +3 +4:05:06.789"
        );
        assert_eq!(text(0, 3, TIME, IntervalStyle::SqlStandard), "3 4:05:06.789");
        assert_eq!(text(-14, 0, 0, IntervalStyle::SqlStandard), "-1-2");
        assert_eq!(
            text(14, 3, TIME, IntervalStyle::PostgresVerbose),
            "@ 1 year 2 mons 3 days 4 hours 5 mins 6.789 secs"
        );
        assert_eq!(text(0, -1, 0, IntervalStyle::PostgresVerbose), "@ 1 day ago");
    }
}
