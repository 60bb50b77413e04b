//! Texts read by a pattern: `to_date` and `to_timestamp`.

use chrono::{Datelike, Duration, NaiveDate};

use super::moment::{DAYS, MONTHS, ROMAN};
use super::pattern::{Field, Key, Node, Pattern};
use crate::error::{Error, ErrorKind, Result};
use crate::time_zone::TimeZone;

const DAY_US: i64 = 86_400_000_000;

/// What a text said.
#[derive(Debug, Default)]
pub struct Read {
    year: Option<i64>,
    iso_year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    week: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    century: Option<i64>,
    julian: Option<i64>,
    hour: i64,
    is_hour12: bool,
    minute: i64,
    second: i64,
    micro: i64,
    seconds_of_day: Option<i64>,
    afternoon: Option<bool>,
    before_christ: bool,
    /// Seconds east of Greenwich.
    offset: Option<i64>,
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidDatetimeFormat, message)
}

fn out_of_range(text: &str) -> Error {
    Error::new(
        ErrorKind::DatetimeOverflow,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// # Errors
/// A text that does not fit the pattern.
pub fn read(pattern: &Pattern, text: &str) -> Result<Read> {
    let mut read = Read::default();
    let mut rest = text.trim_start();
    for (i, node) in pattern.nodes.iter().enumerate() {
        match node {
            // Separators stand for each other, and for none at all.
            Node::Text(separator) => {
                let is_separator = |c: char| !c.is_alphanumeric();
                if separator.chars().all(is_separator) {
                    let keep_sign =
                        matches!(pattern.nodes.get(i + 1), Some(Node::Field(f)) if f.key == Key::ZoneHours);
                    let first = rest.chars().next();
                    if let Some(c) = first.filter(|c| is_separator(*c))
                        && !(keep_sign && matches!(c, '+' | '-'))
                    {
                        rest = &rest[c.len_utf8()..];
                    }
                    rest = rest.trim_start();
                } else {
                    rest = rest
                        .char_indices()
                        .nth(separator.chars().count())
                        .map_or("", |(at, _)| &rest[at..]);
                }
            }
            Node::Field(field) => {
                if rest.is_empty() {
                    break;
                }
                let followed = match pattern.nodes.get(i + 1) {
                    Some(Node::Field(_)) => true,
                    Some(Node::Text(text)) => text.starts_with(|c: char| c.is_ascii_digit()),
                    None => false,
                };
                rest = read.field(field, rest, followed)?;
            }
        }
    }
    read.check(text)?;
    Ok(read)
}

impl Read {
    /// Reads one field; gives what is left. Digits that directly follow belong to the next field.
    fn field<'a>(&mut self, field: &Field, text: &'a str, followed: bool) -> Result<&'a str> {
        let text = text.trim_start();
        let digits = |width: usize| if followed || field.fill { width } else { usize::MAX };
        let (number, rest) = match field.key {
            Key::MonthName | Key::MonthShort => {
                let (month, rest) = name(text, &MONTHS, "month")?;
                self.month = Some(month + 1);
                return Ok(rest);
            }
            Key::MonthRoman => {
                let mut best: Option<(usize, usize)> = None;
                for (i, numeral) in ROMAN.iter().enumerate() {
                    let fits = text
                        .get(..numeral.len())
                        .is_some_and(|t| t.eq_ignore_ascii_case(numeral));
                    if fits && best.is_none_or(|(_, length)| numeral.len() > length) {
                        best = Some((i, numeral.len()));
                    }
                }
                let (month, length) = best.ok_or_else(|| bad_value(text, "RM"))?;
                self.month = Some(month as i64 + 1);
                return Ok(&text[length..]);
            }
            Key::DayName | Key::DayShort => return name(text, &DAYS, "day").map(|(_, rest)| rest),
            Key::Meridiem(_) | Key::Era(_) => return self.half(field, text),
            Key::Zone | Key::Offset | Key::ZoneHours => return self.zone(text),
            Key::ZoneMinutes => {
                let (minutes, rest) = number(text, 2)?;
                let offset = self.offset.unwrap_or(0);
                self.offset = Some(offset + if offset < 0 { -minutes * 60 } else { minutes * 60 });
                return Ok(rest);
            }
            Key::Milli | Key::Micro | Key::Fraction(_) => return self.fraction(field.key, text),
            Key::Year(4) | Key::IsoYear(4) | Key::YearWithComma => number(text, digits(4))?,
            Key::Year(count) | Key::IsoYear(count) => number(text, digits(usize::from(count)))?,
            Key::DayOfYear | Key::IsoDayOfYear => number(text, digits(3))?,
            Key::DayOfWeek | Key::IsoDayOfWeek | Key::WeekOfMonth | Key::Quarter => number(text, 1)?,
            Key::Julian | Key::SecondsOfDay => number(text, usize::MAX)?,
            _ => number(text, digits(2))?,
        };
        let rest = match field.ordinal {
            Some(_) => rest.get(2..).unwrap_or_default(),
            None => rest,
        };
        self.set(field.key, number, text.len() - rest.len());
        Ok(rest)
    }

    fn set(&mut self, key: Key, number: i64, width: usize) {
        match key {
            Key::YearWithComma | Key::Year(4) => self.year = Some(number),
            Key::Year(_) => self.year = Some(near(number, width)),
            Key::IsoYear(4) => self.iso_year = Some(number),
            Key::IsoYear(_) => self.iso_year = Some(near(number, width)),
            Key::Month => self.month = Some(number),
            Key::Day => self.day = Some(number),
            Key::DayOfYear => self.day_of_year = Some(number),
            Key::Week => self.week = Some(number),
            Key::IsoWeek => self.iso_week = Some(number),
            Key::IsoDayOfWeek => self.iso_day = Some(number),
            Key::Century => self.century = Some(number),
            Key::Julian => self.julian = Some(number),
            Key::SecondsOfDay => self.seconds_of_day = Some(number),
            Key::Hour12 => {
                self.hour = number;
                self.is_hour12 = true;
            }
            Key::Hour24 => self.hour = number,
            Key::Minute => self.minute = number,
            Key::Second => self.second = number,
            _ => {}
        }
    }

    /// AM and PM, AD and BC.
    fn half<'a>(&mut self, field: &Field, text: &'a str) -> Result<&'a str> {
        let words: [(&str, bool); 4] = match field.key {
            Key::Meridiem(_) => [("a.m.", false), ("p.m.", true), ("am", false), ("pm", true)],
            _ => [("a.d.", false), ("b.c.", true), ("ad", false), ("bc", true)],
        };
        for (word, later) in words {
            if text
                .get(..word.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(word))
            {
                match field.key {
                    Key::Meridiem(_) => {
                        self.afternoon = Some(later);
                        self.is_hour12 = true;
                    }
                    _ => self.before_christ = later,
                }
                return Ok(&text[word.len()..]);
            }
        }
        Err(bad_value(text, "AM"))
    }

    /// `+05:30`, `-08`, or the name of a zone.
    fn zone<'a>(&mut self, text: &'a str) -> Result<&'a str> {
        let end = text
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '-' | ':' | '/' | '_')))
            .unwrap_or(text.len());
        let zone = TimeZone::parse(&text[..end]).ok_or_else(|| bad_value(&text[..end], "TZ"))?;
        self.offset = Some(i64::from(zone.offset_at(0)));
        Ok(&text[end..])
    }

    /// Digits behind the point: `5` are 500 milliseconds.
    fn fraction<'a>(&mut self, key: Key, text: &'a str) -> Result<&'a str> {
        let places = match key {
            Key::Milli => 3,
            Key::Micro => 6,
            Key::Fraction(places) => usize::from(places),
            _ => 6,
        };
        let length = text.bytes().take(places).take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return Err(bad_value(text, "US"));
        }
        let digits: i64 = text[..length].parse().unwrap_or(0);
        self.micro = digits * 10_i64.pow(6 - length.min(6) as u32);
        Ok(&text[length..])
    }

    fn check(&self, text: &str) -> Result<()> {
        let in_range = (0..=59).contains(&self.minute)
            && (0..=59).contains(&self.second)
            && (0..=24).contains(&self.hour)
            && (!self.is_hour12
                || (1..=12).contains(&self.hour)
                || self.hour == 0 && self.afternoon.is_none());
        match in_range {
            true => Ok(()),
            false if self.is_hour12 && self.hour > 12 => Err(invalid(format!(
                "hour \"{}\" is invalid for the 12-hour clock",
                self.hour
            ))
            .with_hint("Use the 24-hour clock, or give an hour between 1 and 12.")),
            false => Err(out_of_range(text)),
        }
    }

    fn date(&self) -> Result<NaiveDate> {
        let bad = || {
            out_of_range(&format!(
                "{}-{}-{}",
                self.year.unwrap_or(0),
                self.month.unwrap_or(1),
                self.day.unwrap_or(1)
            ))
        };
        let days = |days: i64| Duration::try_days(days).ok_or_else(bad);
        let year_number = |year: i64| i32::try_from(year).map_err(|_| bad());
        let epoch = NaiveDate::default();
        if let Some(julian) = self.julian {
            return epoch
                .checked_add_signed(days(julian - 2_440_588)?)
                .ok_or_else(bad);
        }
        if let Some(year) = self.iso_year {
            let week = u32::try_from(self.iso_week.unwrap_or(1)).map_err(|_| bad())?;
            let first = NaiveDate::from_isoywd_opt(year_number(year)?, week, chrono::Weekday::Mon);
            let day = self.iso_day.unwrap_or(1) - 1;
            return first
                .and_then(|first| first.checked_add_signed(days(day).ok()?))
                .ok_or_else(bad);
        }
        let mut year = match (self.year, self.century) {
            (Some(year), Some(century)) if year < 100 => (century - 1) * 100 + year,
            (Some(year), _) => year,
            (None, Some(century)) => (century - 1) * 100 + 1,
            // As Postgres: without a year it is 1 BC.
            (None, None) => 0,
        };
        if self.before_christ {
            year = 1 - year;
        }
        let year = year_number(year)?;
        let first = NaiveDate::from_ymd_opt(year, 1, 1).ok_or_else(bad)?;
        if let Some(day) = self.day_of_year {
            let date = first.checked_add_signed(days(day - 1)?).ok_or_else(bad)?;
            return if date.year() == year { Ok(date) } else { Err(bad()) };
        }
        if let (Some(week), None) = (self.week, self.month) {
            return first.checked_add_signed(days((week - 1) * 7)?).ok_or_else(bad);
        }
        let part = |part: Option<i64>| u32::try_from(part.unwrap_or(1)).map_err(|_| bad());
        NaiveDate::from_ymd_opt(year, part(self.month)?, part(self.day)?).ok_or_else(bad)
    }

    /// Days since 1970-01-01.
    pub fn days(&self) -> Result<i32> {
        let days = self
            .date()?
            .signed_duration_since(NaiveDate::default())
            .num_days();
        i32::try_from(days).map_err(|_| out_of_range(&days.to_string()))
    }

    /// Microseconds since 1970-01-01 UTC; without a zone in the text it is local time of `zone`.
    pub fn instant_us(&self, zone: TimeZone) -> Result<i64> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            None if self.is_hour12 && self.hour == 12 => 0,
            _ => self.hour,
        };
        let seconds = self
            .seconds_of_day
            .unwrap_or(hour * 3600 + self.minute * 60 + self.second);
        let local = i64::from(self.days()?)
            .checked_mul(DAY_US)
            .and_then(|us| us.checked_add(seconds * 1_000_000 + self.micro))
            .ok_or_else(|| out_of_range("timestamp"))?;
        let instant = match self.offset {
            Some(offset) => local.checked_sub(offset * 1_000_000),
            None => zone.instant_us(local),
        };
        instant.ok_or_else(|| out_of_range("timestamp"))
    }
}

/// A year of fewer digits is the one nearest to 2020.
fn near(number: i64, width: usize) -> i64 {
    match width {
        1 | 2 if number < 70 => number + 2000,
        1 | 2 => number + 1900,
        3 if number < 100 => number + 2000,
        3 if number >= 520 => number + 1000,
        3 => number + 2000,
        _ => number,
    }
}

fn bad_value(text: &str, field: &str) -> Error {
    let shown: String = text.chars().take(8).collect();
    invalid(format!("invalid value \"{shown}\" for \"{field}\"")).with_detail("Value must be an integer.")
}

fn number(text: &str, width: usize) -> Result<(i64, &str)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let length = digits.bytes().take(width).take_while(u8::is_ascii_digit).count();
    let value: i64 = digits[..length].parse().map_err(|_| bad_value(text, "DD"))?;
    Ok((if negative { -value } else { value }, &digits[length..]))
}

/// A name, whole or by its first three letters.
fn name<'a>(text: &'a str, names: &[&str], what: &str) -> Result<(i64, &'a str)> {
    let begins = |name: &str| {
        text.get(..name.len())
            .is_some_and(|t| t.eq_ignore_ascii_case(name))
    };
    for (i, full) in names.iter().enumerate() {
        if begins(full) {
            return Ok((i as i64, &text[full.len()..]));
        }
    }
    for (i, full) in names.iter().enumerate() {
        if begins(&full[..3]) {
            return Ok((i as i64, &text[3..]));
        }
    }
    let word: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    Err(invalid(format!("invalid value \"{word}\" for \"{what}\""))
        .with_detail("The given value did not match any of the allowed values for this field."))
}
