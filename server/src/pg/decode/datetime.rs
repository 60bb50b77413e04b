//! Dates and times in the ISO form that drivers send: `2024-02-29 12:34:56.789+05:30`, with `T` or a blank between,
//! optionally with `BC`; and `infinity`.

use millpond_catalog::SqlType;

use crate::error::{Error, Result, ValueError};
use crate::pg::encode::datetime::{DAY_US, Zone, days_from_civil, parse_offset};

const MINUTE_US: i64 = 60_000_000;

pub fn date(text: &str) -> Result<i32> {
    match text.to_ascii_lowercase().as_str() {
        "infinity" => return Ok(i32::MAX),
        "-infinity" => return Ok(i32::MIN),
        "epoch" => return Ok(0),
        _ => {}
    }
    // A timestamp is read as its day.
    let parts = split(text, &SqlType::Date)?;
    i32::try_from(parts.days).map_err(|_| ValueError::DatetimeRange(text.to_owned()).into())
}

pub fn time(text: &str) -> Result<i64> {
    clock(text)
        .ok_or_else(|| syntax(text, &SqlType::Time))?
        .ok_or_else(|| range(text))
}

pub fn timestamp(text: &str) -> Result<i64> {
    if let Some(special) = special(text) {
        return Ok(special);
    }
    // A zone in the text of a timestamp without one is ignored.
    split(text, &SqlType::Timestamp)?.local_us(text)
}

pub fn timestamptz(text: &str, session: Zone) -> Result<i64> {
    if let Some(special) = special(text) {
        return Ok(special);
    }
    let parts = split(text, &SqlType::TimestampTz)?;
    let local = parts.local_us(text)?;
    let zone = match parts.zone {
        None => session,
        Some(name) => Zone::parse(name).ok_or_else(|| ValueError::UnknownTimeZone(name.to_owned()))?,
    };
    Ok(zone.instant_of(local))
}

fn special(text: &str) -> Option<i64> {
    match text.to_ascii_lowercase().as_str() {
        "infinity" => Some(i64::MAX),
        "-infinity" => Some(i64::MIN),
        "epoch" => Some(0),
        _ => None,
    }
}

fn syntax(text: &str, sql_type: &SqlType) -> Error {
    ValueError::DatetimeSyntax {
        sql_type: sql_type.to_string(),
        text: text.to_owned(),
    }
    .into()
}

fn range(text: &str) -> Error {
    ValueError::DatetimeRange(text.to_owned()).into()
}

struct Parts<'a> {
    days: i64,
    time_us: i64,
    zone: Option<&'a str>,
}

impl Parts<'_> {
    fn local_us(&self, text: &str) -> Result<i64> {
        let us = self
            .days
            .checked_mul(DAY_US)
            .and_then(|us| us.checked_add(self.time_us));
        us.ok_or_else(|| range(text))
    }
}

fn split<'a>(text: &'a str, sql_type: &SqlType) -> Result<Parts<'a>> {
    let bad = || syntax(text, sql_type);
    let (body, before_christ) = match text.len().checked_sub(3).and_then(|at| text.split_at_checked(at)) {
        Some((body, era)) if era.eq_ignore_ascii_case(" bc") => (body, true),
        Some((body, era)) if era.eq_ignore_ascii_case(" ad") => (body, false),
        _ => (text, false),
    };
    let (date, rest) = match body.find([' ', 'T', 't']) {
        Some(at) => (&body[..at], body[at + 1..].trim()),
        None => (body, ""),
    };
    let mut fields = date.split('-').map(|field| number(field).ok_or_else(bad));
    let mut field = || fields.next().ok_or_else(bad)?;
    let (year, month, day) = (field()?, field()?, field()?);
    if fields.next().is_some() {
        return Err(bad());
    }
    let year = if before_christ { 1 - year } else { year };
    let narrow = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    let days = days_from_civil(year, narrow(month), narrow(day)).ok_or_else(|| range(text))?;
    if rest.is_empty() {
        return Ok(Parts {
            days,
            time_us: 0,
            zone: None,
        });
    }
    let zone_at = rest
        .find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'))
        .unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let time_us = clock(time).ok_or_else(bad)?.ok_or_else(|| range(text))?;
    let zone = zone.trim();
    if zone.starts_with(['+', '-']) && parse_offset(zone).is_none() {
        return Err(bad());
    }
    Ok(Parts {
        days,
        time_us,
        zone: (!zone.is_empty()).then_some(zone),
    })
}

/// Microseconds of `12:34[:56[.789]]`; the outer `None` for anything else, the inner one for no such time of day.
fn clock(text: &str) -> Option<Option<i64>> {
    let mut fields = text.trim().split(':');
    let (hours, minutes) = (number(fields.next()?)?, number(fields.next()?)?);
    let (seconds, micros) = match fields.next() {
        None => (0, 0),
        Some(field) => match field.split_once('.') {
            None => (number(field)?, 0),
            Some((seconds, fraction)) => (number(seconds)?, fraction_us(fraction)?),
        },
    };
    if fields.next().is_some() {
        return None;
    }
    let us = (hours * 60 + minutes) * MINUTE_US + seconds * 1_000_000 + micros;
    let valid = hours <= 24 && minutes < 60 && seconds <= 60 && us <= DAY_US;
    Some(valid.then_some(us))
}

/// The digits after the point as microseconds, rounded.
fn fraction_us(digits: &str) -> Option<i64> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let padded: String = digits.chars().chain("0000000".chars()).take(7).collect();
    let tenths: i64 = padded.parse().ok()?;
    Some((tenths + 5) / 10)
}

/// A number of up to six digits.
fn number(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
