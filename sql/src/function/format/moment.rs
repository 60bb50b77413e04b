//! A date and time, or an interval, in the fields that patterns show.

use std::fmt::Write;

use arrow::datatypes::IntervalMonthDayNano;
use chrono::{DateTime, Datelike, NaiveDateTime, Timelike};

use super::pattern::{Case, Field, Key};
use crate::time_zone::TimeZone;

pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
pub const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];
/// The Julian day of 1970-01-01.
const JULIAN_1970: i64 = 2_440_588;
/// The longest name of a month or day, to which shorter ones are filled up.
const NAME_WIDTH: usize = 9;

pub struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micro: i64,
    /// Absent for an interval.
    local: Option<NaiveDateTime>,
    /// Seconds east of Greenwich, and the zone's name; absent without a zone.
    zone: Option<(i32, String)>,
}

impl Moment {
    /// `None` for infinity.
    pub fn of_local(us: i64) -> Option<Self> {
        let local = DateTime::from_timestamp_micros(us)?.naive_utc();
        if us == i64::MAX || us == i64::MIN {
            return None;
        }
        Some(Self {
            year: i64::from(local.year()),
            month: i64::from(local.month()),
            day: i64::from(local.day()),
            hour: i64::from(local.hour()),
            minute: i64::from(local.minute()),
            second: i64::from(local.second()),
            micro: i64::from(local.nanosecond() / 1000),
            local: Some(local),
            zone: None,
        })
    }

    pub fn of_instant(us: i64, zone: TimeZone) -> Option<Self> {
        let offset = zone.offset_at(us);
        let name = match zone {
            TimeZone::Utc => "UTC".to_owned(),
            TimeZone::Named(tz) => DateTime::from_timestamp_micros(us)
                .map(|instant| instant.with_timezone(&tz).format("%Z").to_string())
                .unwrap_or_default(),
            TimeZone::Fixed(_) => String::new(),
        };
        Some(Self {
            zone: Some((offset, name)),
            ..Self::of_local(zone.local_us(us)?)?
        })
    }

    pub fn of_interval(interval: IntervalMonthDayNano) -> Self {
        let us = interval.nanoseconds / 1000;
        let months = i64::from(interval.months);
        Self {
            year: months / 12,
            month: months % 12,
            day: i64::from(interval.days),
            hour: us / 3_600_000_000,
            minute: us / 60_000_000 % 60,
            second: us / 1_000_000 % 60,
            micro: us % 1_000_000,
            local: None,
            zone: None,
        }
    }

    /// Years are counted from 1 in both directions.
    fn shown_year(&self) -> i64 {
        match self.local {
            Some(_) if self.year <= 0 => 1 - self.year,
            _ => self.year,
        }
    }

    /// Writes one field.
    pub fn write(&self, field: &Field, out: &mut String) {
        let start = out.len();
        match field.key {
            Key::MonthName | Key::MonthShort | Key::DayName | Key::DayShort | Key::MonthRoman => {
                self.write_name(field, out);
            }
            Key::Meridiem(points) => {
                let text = match (self.hour.rem_euclid(24) >= 12, points) {
                    (false, false) => "AM",
                    (true, false) => "PM",
                    (false, true) => "A.M.",
                    (true, true) => "P.M.",
                };
                out.push_str(&in_case(text, field.case));
            }
            Key::Era(points) => {
                let text = match (self.year <= 0, points) {
                    (false, false) => "AD",
                    (true, false) => "BC",
                    (false, true) => "A.D.",
                    (true, true) => "B.C.",
                };
                out.push_str(&in_case(text, field.case));
            }
            Key::Zone | Key::ZoneHours | Key::ZoneMinutes | Key::Offset => self.write_zone(field, out),
            _ => self.write_number(field, out),
        }
        if let Some(case) = field.ordinal
            && let Ok(number) = out[start..].trim().parse::<i64>()
        {
            out.push_str(&in_case(ordinal(number), case));
        }
    }

    fn write_name(&self, field: &Field, out: &mut String) {
        let month = usize::try_from(self.month - 1).ok().filter(|m| *m < 12);
        let weekday = self
            .local
            .map(|local| local.weekday().num_days_from_sunday() as usize);
        let (name, width) = match field.key {
            Key::MonthName => (month.map(|m| MONTHS[m]), NAME_WIDTH),
            Key::MonthShort => (month.map(|m| &MONTHS[m][..3]), 0),
            Key::MonthRoman => (month.map(|m| ROMAN[m]), 4),
            Key::DayName => (weekday.map(|d| DAYS[d]), NAME_WIDTH),
            _ => (weekday.map(|d| &DAYS[d][..3]), 0),
        };
        let Some(name) = name else { return };
        let name = in_case(name, field.case);
        let width = if field.fill { 0 } else { width };
        // A String grows.
        let _ = write!(out, "{name:<width$}");
    }

    fn write_zone(&self, field: &Field, out: &mut String) {
        let (offset, name) = match &self.zone {
            Some((offset, name)) => (*offset, name.as_str()),
            None => (0, ""),
        };
        let (sign, hours, minutes) = (
            if offset < 0 { '-' } else { '+' },
            offset.abs() / 3600,
            offset.abs() / 60 % 60,
        );
        let _ = match field.key {
            Key::Zone => write!(out, "{}", in_case(name, field.case)),
            Key::ZoneHours => write!(out, "{sign}{hours:02}"),
            Key::ZoneMinutes => write!(out, "{minutes:02}"),
            _ if minutes == 0 => write!(out, "{sign}{hours:02}"),
            _ => write!(out, "{sign}{hours:02}:{minutes:02}"),
        };
    }

    fn write_number(&self, field: &Field, out: &mut String) {
        let Some((number, width)) = self.number(field.key) else {
            return;
        };
        if field.key == Key::YearWithComma {
            let _ = write!(out, "{},{:03}", number / 1000, number % 1000);
            return;
        }
        // Digits of a second are not a number that zeros could be taken from.
        let fixed = matches!(field.key, Key::Milli | Key::Micro | Key::Fraction(_));
        let width = if field.fill && !fixed { 0 } else { width };
        let _ = match number < 0 {
            true => write!(out, "-{:0width$}", number.unsigned_abs()),
            false => write!(out, "{number:0width$}"),
        };
    }

    /// The number of a field and the digits it is filled up to.
    fn number(&self, key: Key) -> Option<(i64, usize)> {
        let digits = |year: i64, digits: u8| match digits {
            4 => (year, 4),
            digits => (year % 10_i64.pow(u32::from(digits)), usize::from(digits)),
        };
        Some(match key {
            Key::Hour24 => (self.hour, 2),
            Key::Hour12 => match self.hour % 12 {
                0 => (12, 2),
                hour => (hour, 2),
            },
            Key::Minute => (self.minute, 2),
            Key::Second => (self.second, 2),
            Key::Milli => (self.micro / 1000, 3),
            Key::Micro => (self.micro, 6),
            Key::Fraction(places) => (
                self.micro / 10_i64.pow(6 - u32::from(places)),
                usize::from(places),
            ),
            Key::SecondsOfDay => (self.hour * 3600 + self.minute * 60 + self.second, 0),
            Key::Year(count) => digits(self.shown_year(), count),
            Key::YearWithComma => (self.shown_year(), 4),
            Key::Month => (self.month, 2),
            Key::Day => (self.day, 2),
            Key::Quarter => match self.month {
                0 => return None,
                month => ((month - 1) / 3 + 1, 0),
            },
            Key::Century => match self.year {
                year if year > 0 => ((year - 1) / 100 + 1, 2),
                year => (year / 100 - 1, 2),
            },
            _ => return self.calendar_number(key),
        })
    }

    /// Fields that only a date has.
    fn calendar_number(&self, key: Key) -> Option<(i64, usize)> {
        let local = self.local?;
        let iso = local.iso_week();
        let day_of_year = i64::from(local.ordinal());
        let iso_day = i64::from(local.weekday().number_from_monday());
        Some(match key {
            Key::DayOfYear => (day_of_year, 3),
            Key::IsoDayOfYear => (i64::from(iso.week() - 1) * 7 + iso_day, 3),
            Key::DayOfWeek => (i64::from(local.weekday().num_days_from_sunday()) + 1, 0),
            Key::IsoDayOfWeek => (iso_day, 0),
            Key::WeekOfMonth => ((self.day - 1) / 7 + 1, 0),
            Key::Week => ((day_of_year - 1) / 7 + 1, 2),
            Key::IsoWeek => (i64::from(iso.week()), 2),
            Key::IsoYear(4) => (i64::from(iso.year()), 4),
            Key::IsoYear(digits) => (
                i64::from(iso.year()) % 10_i64.pow(u32::from(digits)),
                usize::from(digits),
            ),
            Key::Julian => (local.and_utc().timestamp().div_euclid(86_400) + JULIAN_1970, 0),
            _ => return None,
        })
    }
}

fn in_case(text: &str, case: Case) -> String {
    match case {
        Case::Upper => text.to_uppercase(),
        Case::Lower => text.to_lowercase(),
        Case::Title => text.to_owned(),
    }
}

fn ordinal(number: i64) -> &'static str {
    match (number.abs() % 100, number.abs() % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}
