//! Text of dates and times, in the forms that Postgres writes and the ISO forms that people do.

use arrow::datatypes::IntervalMonthDayNano;
use chrono::{DateTime, Datelike, NaiveDate, Utc};

use crate::error::{Error, ErrorKind, Result};
use crate::time_zone::TimeZone;

const DAY_US: i64 = 86_400_000_000;

/// A text taken apart. The zone is left as written.
struct Parts<'a> {
    days: i64,
    time_us: i64,
    zone: Option<&'a str>,
}

fn invalid(sql_type: &str, text: &str) -> Error {
    let message = format!("invalid input syntax for type {sql_type}: \"{text}\"");
    Error::new(ErrorKind::InvalidDatetimeFormat, message)
}

fn overflow(text: &str) -> Error {
    Error::new(
        ErrorKind::DatetimeOverflow,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// Microseconds since 1970-01-01 without a zone; a zone in the text is ignored, as Postgres does.
pub fn timestamp(text: &str) -> Result<i64> {
    if let Some(special) = special(text, "timestamp")? {
        return Ok(special);
    }
    let parts = parts(text, "timestamp")?;
    instant(&parts).ok_or_else(|| overflow(text))
}

/// Microseconds since 1970-01-01 UTC; a text without a zone is in `time_zone`.
pub fn timestamp_tz(text: &str, time_zone: &str) -> Result<i64> {
    const TYPE: &str = "timestamp with time zone";
    if let Some(special) = special(text, TYPE)? {
        return Ok(special);
    }
    let parts = parts(text, TYPE)?;
    let local = instant(&parts).ok_or_else(|| overflow(text))?;
    let zone = parts.zone.unwrap_or(time_zone);
    let zone = TimeZone::parse(zone).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidParameterValue,
            format!("time zone \"{zone}\" not recognized"),
        )
    })?;
    zone.instant_us(local).ok_or_else(|| overflow(text))
}

/// Days since 1970-01-01.
pub fn date(text: &str) -> Result<i32> {
    match special(text, "date")? {
        Some(i64::MAX) => return Ok(i32::MAX),
        Some(i64::MIN) => return Ok(i32::MIN),
        Some(_) => return Ok(0),
        None => {}
    }
    i32::try_from(parts(text, "date")?.days).map_err(|_| overflow(text))
}

/// Microseconds since midnight.
pub fn time(text: &str) -> Result<i64> {
    let trimmed = text.trim();
    let clock = trimmed.split_whitespace().last().unwrap_or_default();
    let clock = clock.split(['+', 'Z']).next().unwrap_or_default();
    time_of_day(clock).ok_or_else(|| invalid("time", text))
}

pub fn interval(text: &str) -> Result<IntervalMonthDayNano> {
    super::interval::parse(text).ok_or_else(|| invalid("interval", text))
}

fn special(text: &str, sql_type: &str) -> Result<Option<i64>> {
    Ok(match text.trim().to_ascii_lowercase().as_str() {
        "infinity" | "+infinity" => Some(i64::MAX),
        "-infinity" => Some(i64::MIN),
        "epoch" => Some(0),
        "now" | "today" | "tomorrow" | "yesterday" => {
            return Err(
                Error::unsupported(format!("'{}' as a {sql_type} is not supported", text.trim()))
                    .with_hint("Use now() or current_date."),
            );
        }
        _ => None,
    })
}

fn instant(parts: &Parts<'_>) -> Option<i64> {
    parts.days.checked_mul(DAY_US)?.checked_add(parts.time_us)
}

fn parts<'a>(text: &'a str, sql_type: &str) -> Result<Parts<'a>> {
    let invalid = || invalid(sql_type, text);
    let mut rest = text.trim();
    let mut before_christ = false;
    if let Some(shorter) = rest.strip_suffix("BC").or_else(|| rest.strip_suffix("bc")) {
        before_christ = true;
        rest = shorter.trim_end();
    } else if let Some(shorter) = rest.strip_suffix("AD").or_else(|| rest.strip_suffix("ad")) {
        rest = shorter.trim_end();
    }
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '-' && c != '/')
        .unwrap_or(rest.len());
    let (date, mut rest) = rest.split_at(end);
    let days = days_of(date, before_christ)
        .ok_or_else(invalid)?
        .ok_or_else(|| overflow(text))?;
    rest = rest.strip_prefix(['T', 't']).unwrap_or(rest).trim_start();
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
        .unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let time_us = if clock.is_empty() {
        0
    } else {
        time_of_day(clock).ok_or_else(|| overflow(text))?
    };
    let zone = Some(zone.trim()).filter(|zone| !zone.is_empty());
    if zone.is_some_and(|zone| TimeZone::parse(zone).is_none()) {
        return Err(invalid());
    }
    Ok(Parts { days, time_us, zone })
}

/// The outer option tells whether the text is a date at all, the inner one whether there is such a day.
fn days_of(text: &str, before_christ: bool) -> Option<Option<i64>> {
    let mut fields = text.split(['-', '/']);
    let (year, month, day) = match (fields.next()?, fields.next(), fields.next(), fields.next()) {
        (year, Some(month), Some(day), None) if year.len() >= 3 => (year, month, day),
        (compact, None, None, None) if compact.len() == 8 => (&compact[..4], &compact[4..6], &compact[6..]),
        _ => return None,
    };
    let (year, month, day): (i32, u32, u32) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    if year == 0 {
        return Some(None);
    }
    let year = if before_christ { 1 - year } else { year };
    let day = NaiveDate::from_ymd_opt(year, month, day);
    Some(day.map(|day| i64::from(day.num_days_from_ce()) - i64::from(epoch().num_days_from_ce())))
}

fn epoch() -> NaiveDate {
    DateTime::<Utc>::UNIX_EPOCH.date_naive()
}

/// `HH:MM[:SS[.f]]`; `24:00:00` is the end of the day.
fn time_of_day(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut fields = clock.split(':');
    let hours: i64 = fields.next()?.parse().ok()?;
    let minutes: i64 = fields.next()?.parse().ok()?;
    let seconds: i64 = fields.next().map_or(Some(0), |s| s.parse().ok())?;
    if fields.next().is_some() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction_us = if fraction.is_empty() {
        0
    } else {
        // More digits than microseconds are rounded.
        (format!("0.{fraction}").parse::<f64>().ok()? * 1e6).round() as i64
    };
    let us = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction_us;
    (hours <= 24 && minutes < 60 && seconds <= 60 && us <= DAY_US).then_some(us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_forms_and_far_years() {
        assert_eq!(timestamp("1970-01-01 00:00:00.000001").unwrap(), 1);
        assert_eq!(timestamp("1970-01-02").unwrap(), DAY_US);
        assert_eq!(
            timestamp("19700102T000000").unwrap_err().kind,
            ErrorKind::DatetimeOverflow
        );
        assert_eq!(timestamp("1969-12-31T23:59:59.999999Z").unwrap(), -1);
        assert!(timestamp("9999-12-31 23:59:59").unwrap() > timestamp("2262-04-12").unwrap());
        assert!(timestamp("0044-03-15 BC").unwrap() < timestamp("0001-01-01").unwrap());
        assert_eq!(timestamp("infinity").unwrap(), i64::MAX);
        assert_eq!(
            timestamp("2024-02-30").unwrap_err().kind,
            ErrorKind::DatetimeOverflow
        );
        assert_eq!(
            timestamp("yesterday noon").unwrap_err().kind,
            ErrorKind::InvalidDatetimeFormat
        );
        assert_eq!(timestamp("").unwrap_err().kind, ErrorKind::InvalidDatetimeFormat);
    }

    #[test]
    fn zones_of_the_text_and_of_the_session() {
        assert_eq!(timestamp_tz("1970-01-01 02:00:00+02", "UTC").unwrap(), 0);
        assert_eq!(timestamp_tz("1970-01-01 05:30:00", "+05:30").unwrap(), 0);
        assert_eq!(timestamp_tz("1970-01-01 01:00 Europe/Berlin", "UTC").unwrap(), 0);
        assert_eq!(timestamp("1970-01-01 02:00:00+02").unwrap(), 2 * 3_600_000_000);
        // The hour that exists twice: the second time, in winter time.
        let second = timestamp_tz("2021-10-31 02:30:00", "Europe/Berlin").unwrap();
        assert_eq!(second, timestamp("2021-10-31 01:30:00").unwrap());
    }

    #[test]
    fn times_dates_and_intervals() {
        assert_eq!(time("12:30").unwrap(), 45_000_000_000);
        assert_eq!(time("24:00:00").unwrap(), DAY_US);
        assert!(time("25:00").is_err());
        assert_eq!(date("-infinity").unwrap(), i32::MIN);
        assert_eq!(date("1970-01-03").unwrap(), 2);
        assert!(interval("soon").is_err());
    }
}
