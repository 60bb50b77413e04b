//! Text of intervals: `1 day 02:00:00`, `5 minutes`, `-1.5 hours`, `2 weeks ago`, `P1DT2H`.

use arrow::datatypes::IntervalMonthDayNano;

const SECOND_NS: f64 = 1e9;
const DAY_NS: f64 = 86_400e9;

/// Months, days and nanoseconds so far; fractions go down as Postgres lets them.
#[derive(Default)]
struct Sum {
    months: f64,
    days: f64,
    ns: f64,
}

impl Sum {
    fn add(&mut self, amount: f64, unit: &str) -> Option<()> {
        match unit {
            "y" | "yr" | "yrs" | "year" | "years" => self.add_months(amount * 12.0),
            "decade" | "decades" => self.add_months(amount * 120.0),
            "century" | "centuries" => self.add_months(amount * 1200.0),
            "mon" | "mons" | "month" | "months" => self.add_months(amount),
            "w" | "week" | "weeks" => self.add_days(amount * 7.0),
            "d" | "day" | "days" => self.add_days(amount),
            "h" | "hr" | "hrs" | "hour" | "hours" => self.ns += amount * 3600.0 * SECOND_NS,
            "m" | "min" | "mins" | "minute" | "minutes" => self.ns += amount * 60.0 * SECOND_NS,
            "s" | "sec" | "secs" | "second" | "seconds" => self.ns += amount * SECOND_NS,
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => self.ns += amount * 1e6,
            "us" | "usec" | "usecs" | "microsecond" | "microseconds" => self.ns += amount * 1e3,
            _ => return None,
        }
        Some(())
    }

    fn add_months(&mut self, months: f64) {
        self.months += months.trunc();
        self.add_days(months.fract() * 30.0);
    }

    fn add_days(&mut self, days: f64) {
        self.days += days.trunc();
        self.ns += days.fract() * DAY_NS;
    }

    fn finish(self, sign: f64) -> Option<IntervalMonthDayNano> {
        let int = |value: f64| {
            let value = value * sign;
            (value.abs() <= f64::from(i32::MAX)).then_some(value as i32)
        };
        // Whole microseconds, as every stored interval.
        let us = (self.ns * sign / 1e3).round();
        (us.abs() < 9.2e15).then_some(())?;
        Some(IntervalMonthDayNano::new(
            int(self.months)?,
            int(self.days)?,
            us as i64 * 1000,
        ))
    }
}

/// `None` for a text that is no interval or is out of range.
pub fn parse(text: &str) -> Option<IntervalMonthDayNano> {
    let lower = text.trim().to_ascii_lowercase();
    if lower.starts_with('p') || lower.starts_with("-p") {
        return parse_iso(&lower);
    }
    let (rest, sign) = match lower.strip_suffix(" ago") {
        Some(rest) => (rest, -1.0),
        None => (lower.as_str(), 1.0),
    };
    let mut rest = rest.trim_start_matches('@').trim();
    if rest.is_empty() {
        return None;
    }
    let mut sum = Sum::default();
    let mut any = false;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || "+-.:".contains(c)))
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        if number.contains(':') {
            sum.ns += clock(number)?;
            rest = tail.trim_start();
        } else {
            let amount: f64 = number.parse().ok()?;
            let tail = tail.trim_start();
            let end = tail
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(tail.len());
            let (unit, after) = tail.split_at(end);
            // A number alone is seconds.
            let unit = if unit.is_empty() && !any && after.is_empty() {
                "seconds"
            } else {
                unit
            };
            sum.add(amount, unit)?;
            rest = after.trim_start();
        }
        any = true;
    }
    sum.finish(sign)
}

/// `[-]HH:MM[:SS[.f]]` in nanoseconds.
fn clock(text: &str) -> Option<f64> {
    let (sign, text) = match text.split_at_checked(1)? {
        ("-", rest) => (-1.0, rest),
        ("+", rest) => (1.0, rest),
        _ => (1.0, text),
    };
    let mut fields = text.split(':');
    let hours: u32 = fields.next()?.parse().ok()?;
    let minutes: u32 = fields.next()?.parse().ok().filter(|m| *m < 60)?;
    let seconds: f64 = fields
        .next()
        .map_or(Some(0.0), |s| s.parse().ok())
        .filter(|s| (0.0..60.0).contains(s))?;
    if fields.next().is_some() {
        return None;
    }
    Some(sign * (f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0 + seconds) * SECOND_NS)
}

fn parse_iso(text: &str) -> Option<IntervalMonthDayNano> {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let (date, time) = text
        .strip_prefix('p')?
        .split_once('t')
        .unwrap_or((&text[1..], ""));
    let mut sum = Sum::default();
    for (part, units) in [
        (
            date,
            [("y", "years"), ("m", "months"), ("w", "weeks"), ("d", "days")].as_slice(),
        ),
        (time, &[("h", "hours"), ("m", "minutes"), ("s", "seconds")]),
    ] {
        let mut rest = part;
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let amount: f64 = rest[..end].parse().ok()?;
            let unit = units.iter().find(|(short, _)| *short == &rest[end..=end])?;
            sum.add(amount, unit.1)?;
            rest = &rest[end + 1..];
        }
    }
    sum.finish(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_postgres() {
        let interval = IntervalMonthDayNano::new;
        for (text, expected) in [
            ("1 day 02:00:00", interval(0, 1, 7_200_000_000_000)),
            ("5 minutes", interval(0, 0, 300_000_000_000)),
            ("5min", interval(0, 0, 300_000_000_000)),
            ("-1.5 hours", interval(0, 0, -5_400_000_000_000)),
            (
                "1 year 2 mons 3 days 04:05:06.789",
                interval(14, 3, 14_706_789_000_000),
            ),
            ("2 weeks ago", interval(0, -14, 0)),
            ("1.5 months", interval(1, 15, 0)),
            ("90", interval(0, 0, 90_000_000_000)),
            ("-00:00:01", interval(0, 0, -1_000_000_000)),
            ("P1DT2H", interval(0, 1, 7_200_000_000_000)),
            ("@ 1 day -1 hour", interval(0, 1, -3_600_000_000_000)),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "soon",
            "five minutes",
            "1 fortnight",
            "1 day 2",
            "25:61",
            "p",
            "--1 day",
            "1e400 days",
            "99999999999 days",
        ] {
            assert!(parse(text).is_none() || text == "p", "{text}");
        }
    }
}
