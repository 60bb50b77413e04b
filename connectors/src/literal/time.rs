//! Dates and times: ISO 8601 with a space or a `T`, an optional zone, and `infinity`.
//!
//! `timestamptz` applies a zone: `2024-01-01T01:00:00+01:00` is the instant 2024-01-01 00:00 UTC; without one the text is
//! UTC. `timestamp` has no zone and passes over one, as Postgres does: the same text is 01:00 there.

use millpond_catalog::SqlType;

use super::{invalid, out_of_range};

const DAY_US: i64 = 86_400_000_000;

/// Days since 1970-01-01. The time of a timestamp is left out.
pub fn date(text: &str) -> Result<i32, String> {
    let trimmed = text.trim();
    match infinite(trimmed) {
        Some(true) => return Ok(i32::MIN),
        Some(false) => return Ok(i32::MAX),
        None => {}
    }
    let mut rest = Rest(trimmed.as_bytes());
    let days = rest.date().ok_or_else(|| invalid(&SqlType::Date, text))?;
    if !rest.is_empty() {
        timestamp(text)?;
    }
    i32::try_from(days).map_err(|_| out_of_range(&SqlType::Date, text))
}

/// Microseconds since midnight.
pub fn time(text: &str) -> Result<i64, String> {
    let mut rest = Rest(text.trim().as_bytes());
    let micros = rest.time().filter(|us| rest.is_empty() && *us <= DAY_US);
    micros.ok_or_else(|| invalid(&SqlType::Time, text))
}

/// What becomes of a zone in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    Applied,
    Ignored,
}

/// Microseconds since 1970-01-01 00:00, whatever the zone; `infinity` is the greatest number, `-infinity` the least.
#[inline]
pub fn timestamp(text: &str) -> Result<i64, String> {
    timestamp_with(text, Zone::Ignored)
}

/// Microseconds since 1970-01-01 00:00 UTC; `infinity` is the greatest number, `-infinity` the least.
#[inline]
pub fn timestamptz(text: &str) -> Result<i64, String> {
    timestamp_with(text, Zone::Applied)
}

#[inline]
fn timestamp_with(text: &str, zone: Zone) -> Result<i64, String> {
    let mut rest = Rest(text.as_bytes());
    match rest.timestamp(zone) {
        Some(micros) if rest.is_empty() => Ok(micros),
        _ => unusual_timestamp(text, zone),
    }
}

#[cold]
fn unusual_timestamp(text: &str, zone: Zone) -> Result<i64, String> {
    let trimmed = text.trim();
    match infinite(trimmed) {
        Some(true) => return Ok(i64::MIN),
        Some(false) => return Ok(i64::MAX),
        None => {}
    }
    let mut rest = Rest(trimmed.as_bytes());
    let micros = rest.timestamp(zone).filter(|_| rest.is_empty());
    micros.ok_or_else(|| {
        let sql_type = match zone {
            Zone::Applied => SqlType::TimestampTz,
            Zone::Ignored => SqlType::Timestamp,
        };
        invalid(&sql_type, text)
    })
}

/// `Some(true)` for minus infinity.
fn infinite(text: &str) -> Option<bool> {
    let word = |name: &str| text.eq_ignore_ascii_case(name);
    if word("infinity") || word("+infinity") {
        Some(false)
    } else if word("-infinity") {
        Some(true)
    } else {
        None
    }
}

/// What is left of a text.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Two digits.
    #[inline]
    fn two(&mut self) -> Option<i64> {
        let (digits, rest) = self.0.split_first_chunk::<2>()?;
        let (tens, ones) = (digits[0].wrapping_sub(b'0'), digits[1].wrapping_sub(b'0'));
        if tens > 9 || ones > 9 {
            return None;
        }
        self.0 = rest;
        Some(i64::from(tens) * 10 + i64::from(ones))
    }

    /// Days since 1970-01-01 of `YYYY-MM-DD`; years may have up to six digits.
    fn date(&mut self) -> Option<i64> {
        let digits = self
            .0
            .iter()
            .take(7)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(4..=6).contains(&digits) {
            return None;
        }
        let year = self.0[..digits]
            .iter()
            .fold(0, |year, byte| year * 10 + i64::from(byte - b'0'));
        self.0 = &self.0[digits..];
        self.take(b'-')?;
        let month = self.two()?;
        self.take(b'-')?;
        let day = self.two()?;
        let valid = (1..=12).contains(&month) && day >= 1 && day <= days_of_month(year, month);
        valid.then(|| days_since_epoch(year, month, day))
    }

    /// Microseconds of `HH:MM[:SS[.fraction]]`. As in Postgres, `24:00` and a second of 60 are valid.
    fn time(&mut self) -> Option<i64> {
        let hour = self.two()?;
        self.take(b':')?;
        let minute = self.two()?;
        let (mut second, mut fraction_us) = (0, 0);
        if self.take(b':').is_some() {
            second = self.two()?;
            if self.take(b'.').is_some() {
                fraction_us = self.fraction()?;
            }
        }
        let micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction_us;
        (hour <= 24 && minute < 60 && second <= 60 && micros <= DAY_US).then_some(micros)
    }

    /// Digits after the point, rounded to microseconds.
    fn fraction(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, rest) = self.0.split_at(digits);
        self.0 = rest;
        if digits == 0 {
            return None;
        }
        let mut micros = 0;
        for place in 0..6 {
            micros = micros * 10 + fraction.get(place).map_or(0, |byte| i64::from(byte - b'0'));
        }
        Some(micros + i64::from(fraction.get(6).is_some_and(|byte| *byte >= b'5')))
    }

    fn timestamp(&mut self, zone: Zone) -> Option<i64> {
        let days = self.date()?;
        let mut micros = days.checked_mul(DAY_US)?;
        if self.is_empty() {
            return Some(micros);
        }
        self.take(b'T')
            .or_else(|| self.take(b' '))
            .or_else(|| self.take(b't'))?;
        micros = micros.checked_add(self.time()?)?;
        if self.is_empty() {
            return Some(micros);
        }
        let east_us = self.zone()?;
        match zone {
            Zone::Applied => micros.checked_sub(east_us),
            Zone::Ignored => Some(micros),
        }
    }

    /// Microseconds east of UTC of `Z`, `UTC`, `+HH`, `+HHMM`, `+HH:MM` or `+HH:MM:SS`, after optional spaces.
    fn zone(&mut self) -> Option<i64> {
        while self.take(b' ').is_some() {}
        if self.0.eq_ignore_ascii_case(b"z") || self.0.eq_ignore_ascii_case(b"utc") {
            self.0 = &[];
            return Some(0);
        }
        let sign = if self.take(b'+').is_some() {
            1
        } else {
            self.take(b'-').map(|()| -1)?
        };
        let hours = self.two()?;
        let (mut minutes, mut seconds) = (0, 0);
        if !self.is_empty() {
            let _colon = self.take(b':');
            minutes = self.two()?;
            if self.take(b':').is_some() {
                seconds = self.two()?;
            }
        }
        let valid = hours < 16 && minutes < 60 && seconds < 60;
        valid.then_some(sign * ((hours * 60 + minutes) * 60 + seconds) * 1_000_000)
    }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar. Years begin in March here, so that the leap day is the last one.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}
