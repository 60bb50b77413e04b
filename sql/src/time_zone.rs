//! Time zones: names and offsets as users write them, and how far a zone is ahead of UTC.

use std::str::FromStr;

use chrono::offset::LocalResult;
use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone as _};
use chrono_tz::Tz;
use datafusion::config::ConfigOptions;

const SECOND_US: i64 = 1_000_000;
const HOURS_MAX: i32 = 15;

/// A zone of the time zone database, or a fixed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeZone {
    #[default]
    Utc,
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(Tz),
}

impl TimeZone {
    /// That of the session that a function is called in.
    pub fn of_session(options: &ConfigOptions) -> Self {
        let name = options.execution.time_zone.as_deref();
        name.and_then(Self::parse).unwrap_or_default()
    }

    /// Reads a name of the time zone database, in any case, or an offset such as `+05:30`, which is counted to the east
    /// as in the text of a `timestamptz`.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        if ["utc", "gmt", "z", "zulu", "etc/utc"]
            .iter()
            .any(|utc| name.eq_ignore_ascii_case(utc))
        {
            return Some(Self::Utc);
        }
        if name.starts_with(['+', '-']) {
            return offset_seconds(name).map(Self::Fixed);
        }
        Tz::from_str(name)
            .ok()
            .or_else(|| {
                chrono_tz::TZ_VARIANTS
                    .iter()
                    .copied()
                    .find(|tz| tz.name().eq_ignore_ascii_case(name))
            })
            .map(Self::Named)
    }

    /// Reads what stands behind `AT TIME ZONE`: as [`TimeZone::parse`], but an offset, also behind letters as in
    /// `UTC+3`, is counted to the west. That is the POSIX rule, which Postgres follows there.
    pub fn parse_posix(name: &str) -> Option<Self> {
        let name = name.trim();
        let letters = name.len() - name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        match name.split_at(letters) {
            (_, offset) if offset.starts_with(['+', '-']) => {
                offset_seconds(offset).map(|seconds| Self::Fixed(-seconds))
            }
            _ => Self::parse(name),
        }
    }

    /// Seconds east of Greenwich at an instant, in microseconds since 1970-01-01 UTC.
    pub fn offset_at(self, instant_us: i64) -> i32 {
        match self {
            Self::Utc => 0,
            Self::Fixed(seconds) => seconds,
            // The database covers more than chrono can express; beyond that only UTC is left.
            Self::Named(tz) => DateTime::from_timestamp_micros(instant_us).map_or(0, |instant| {
                tz.offset_from_utc_datetime(&instant.naive_utc())
                    .fix()
                    .local_minus_utc()
            }),
        }
    }

    /// Seconds east of Greenwich at a local time, in microseconds since 1970-01-01 00:00 local. A local time that does
    /// not exist takes the offset before the change, one that exists twice the offset after it, as Postgres does.
    pub fn offset_at_local(self, local_us: i64) -> i32 {
        match self {
            Self::Utc => 0,
            Self::Fixed(seconds) => seconds,
            Self::Named(tz) => DateTime::from_timestamp_micros(local_us)
                .and_then(|local| named_offset_at_local(tz, local.naive_utc()))
                .unwrap_or(0),
        }
    }

    /// The instant of a local time; `None` beyond the range of a timestamp. Infinity stays what it is.
    pub fn instant_us(self, local_us: i64) -> Option<i64> {
        if [i64::MAX, i64::MIN].contains(&local_us) {
            return Some(local_us);
        }
        local_us.checked_sub(i64::from(self.offset_at_local(local_us)) * SECOND_US)
    }

    /// The local time at an instant; `None` beyond the range of a timestamp. Infinity stays what it is.
    pub fn local_us(self, instant_us: i64) -> Option<i64> {
        if [i64::MAX, i64::MIN].contains(&instant_us) {
            return Some(instant_us);
        }
        instant_us.checked_add(i64::from(self.offset_at(instant_us)) * SECOND_US)
    }
}

fn named_offset_at_local(tz: Tz, local: NaiveDateTime) -> Option<i32> {
    let offset = match tz.offset_from_local_datetime(&local) {
        LocalResult::Single(offset) | LocalResult::Ambiguous(_, offset) => offset.fix(),
        LocalResult::None => {
            let before = local.checked_sub_signed(TimeDelta::hours(3))?;
            tz.offset_from_local_datetime(&before).earliest()?.fix()
        }
    };
    Some(offset.local_minus_utc())
}

/// `+05`, `-0530`, `+05:30` or `+05:30:15` in seconds.
fn offset_seconds(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let mut parts = [0i32; 3];
    if rest.contains(':') {
        let mut fields = rest.split(':');
        for part in &mut parts {
            let Some(field) = fields.next() else { break };
            *part = digits(field)?;
        }
        if fields.next().is_some() {
            return None;
        }
    } else if rest.len() == 4 {
        parts[0] = digits(rest.get(..2)?)?;
        parts[1] = digits(rest.get(2..)?)?;
    } else {
        parts[0] = digits(rest)?;
    }
    let [hours, minutes, seconds] = parts;
    (hours <= HOURS_MAX && minutes < 60 && seconds < 60)
        .then(|| sign * (hours * 3600 + minutes * 60 + seconds))
}

fn digits(text: &str) -> Option<i32> {
    let plain = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_offsets() {
        assert_eq!(TimeZone::parse("utc"), Some(TimeZone::Utc));
        assert_eq!(TimeZone::parse("+05:30"), Some(TimeZone::Fixed(19_800)));
        assert_eq!(TimeZone::parse("-0330"), Some(TimeZone::Fixed(-12_600)));
        assert_eq!(
            TimeZone::parse("europe/berlin"),
            Some(TimeZone::Named(Tz::Europe__Berlin))
        );
        for bad in ["", "+", "+99", "+1:2:3:4", "Nowhere/Land", "+é"] {
            assert_eq!(TimeZone::parse(bad), None, "{bad}");
        }
        assert_eq!(TimeZone::parse_posix("UTC+3"), Some(TimeZone::Fixed(-10_800)));
        assert_eq!(TimeZone::parse_posix("+03"), Some(TimeZone::Fixed(-10_800)));
        assert_eq!(TimeZone::parse_posix("Etc/GMT+3"), TimeZone::parse("Etc/GMT+3"));
    }

    #[test]
    fn the_hour_that_exists_twice_and_the_one_that_does_not() {
        let new_york = TimeZone::parse("America/New_York").unwrap();
        let local = |text: &str| {
            let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap();
            time.and_utc().timestamp_micros()
        };
        let hours = |from: i64, to: i64| (to - from) / (3600 * SECOND_US);
        let twice = local("2024-11-03 01:30");
        assert_eq!(hours(twice, new_york.instant_us(twice).unwrap()), 5);
        let never = local("2024-03-10 02:30");
        assert_eq!(hours(never, new_york.instant_us(never).unwrap()), 5);
        let summer = local("2024-07-01 00:00");
        assert_eq!(
            new_york.local_us(new_york.instant_us(summer).unwrap()),
            Some(summer)
        );
        assert_eq!(new_york.local_us(i64::MAX), Some(i64::MAX));
    }
}
