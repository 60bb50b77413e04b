//! Dates and times: text in the ISO style, and the epochs of the binary forms.

use crate::TimeZone;
use bytes::{BufMut, BytesMut};

/// Days and microseconds from 1970-01-01 to 2000-01-01, where the wire's binary forms begin.
pub const POSTGRES_EPOCH_DAYS: i32 = 10_957;
pub const POSTGRES_EPOCH_US: i64 = POSTGRES_EPOCH_DAYS as i64 * DAY_US;
pub const DAY_US: i64 = 86_400_000_000;
const SECOND_US: i64 = 1_000_000;

/// Year (0 = 1 BC), month and day of a day counted from 1970-01-01, in the Gregorian calendar without end.
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    // Counted from 0000-03-01, so that the leap day ends a year; an era is 400 years.
    const ERA_DAYS: i64 = 146_097;
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

pub fn write_date(days: i32, out: &mut BytesMut) {
    if !write_infinity(days == i32::MAX, days == i32::MIN, out) {
        let era = write_day(i64::from(days), out);
        out.put_slice(era);
    }
}

pub fn write_time(time_us: i64, out: &mut BytesMut) {
    let seconds = time_us / SECOND_US;
    write_padded(seconds / 3600, 2, out);
    out.put_u8(b':');
    write_padded(seconds / 60 % 60, 2, out);
    out.put_u8(b':');
    write_padded(seconds % 60, 2, out);
    write_fraction(time_us % SECOND_US, out);
}

pub fn write_timestamp(timestamp_us: i64, out: &mut BytesMut) {
    if !write_infinity(timestamp_us == i64::MAX, timestamp_us == i64::MIN, out) {
        let era = write_day(timestamp_us.div_euclid(DAY_US), out);
        out.put_u8(b' ');
        write_time(timestamp_us.rem_euclid(DAY_US), out);
        out.put_slice(era);
    }
}

pub fn write_timestamptz(instant_us: i64, zone: TimeZone, out: &mut BytesMut) {
    if write_infinity(instant_us == i64::MAX, instant_us == i64::MIN, out) {
        return;
    }
    let offset = zone.offset_at(instant_us);
    let local = instant_us.saturating_add(i64::from(offset) * SECOND_US);
    let era = write_day(local.div_euclid(DAY_US), out);
    out.put_u8(b' ');
    write_time(local.rem_euclid(DAY_US), out);
    write_offset(offset, out);
    out.put_slice(era);
}

fn write_infinity(positive: bool, negative: bool, out: &mut BytesMut) -> bool {
    if positive {
        out.put_slice(b"infinity");
    } else if negative {
        out.put_slice(b"-infinity");
    }
    positive || negative
}

/// Writes year, month and day; returns what must stand at the end.
fn write_day(days: i64, out: &mut BytesMut) -> &'static [u8] {
    let (year, month, day) = civil_from_days(days);
    let before_christ = year <= 0;
    write_padded(if before_christ { 1 - year } else { year }, 4, out);
    out.put_u8(b'-');
    write_padded(i64::from(month), 2, out);
    out.put_u8(b'-');
    write_padded(i64::from(day), 2, out);
    if before_christ { b" BC" } else { b"" }
}

fn write_offset(offset: i32, out: &mut BytesMut) {
    out.put_u8(if offset < 0 { b'-' } else { b'+' });
    let offset = i64::from(offset.abs());
    write_padded(offset / 3600, 2, out);
    if offset % 3600 != 0 {
        out.put_u8(b':');
        write_padded(offset / 60 % 60, 2, out);
    }
    if offset % 60 != 0 {
        out.put_u8(b':');
        write_padded(offset % 60, 2, out);
    }
}

/// The fraction of a second without trailing zeros, nothing for none.
pub fn write_fraction(micros: i64, out: &mut BytesMut) {
    if micros == 0 {
        return;
    }
    let (mut fraction, mut width) = (micros.abs(), 6);
    while fraction % 10 == 0 {
        fraction /= 10;
        width -= 1;
    }
    out.put_u8(b'.');
    write_padded(fraction, width, out);
}

/// A number that is not negative, with zeros in front up to `width`.
pub fn write_padded(value: i64, width: usize, out: &mut BytesMut) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut at) = (value.unsigned_abs(), digits.len());
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let at = at.min(digits.len() - width);
    out.put_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut BytesMut)) -> String {
        let mut out = BytesMut::new();
        write(&mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn civil_days_agree_with_chrono() {
        use chrono::{Datelike, NaiveDate};
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        for days in (-90_000_000..90_000_000).step_by(765_432).chain(-1_500..1_500) {
            let date = epoch.checked_add_signed(chrono::TimeDelta::days(days)).unwrap();
            assert_eq!(
                civil_from_days(days),
                (i64::from(date.year()), date.month(), date.day())
            );
        }
    }

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (19_782, "2024-02-29"),
            (-25_567, "1900-01-01"),
            (-719_163, "0001-12-31 BC"),
            (i32::MAX, "infinity"),
            (i32::MIN, "-infinity"),
        ] {
            assert_eq!(text(|out| write_date(days, out)), expected);
        }
    }

    #[test]
    fn timestamps_have_no_trailing_zeros() {
        for (us, expected) in [
            (1_709_210_096_789_012, "2024-02-29 12:34:56.789012"),
            (-500_000, "1969-12-31 23:59:59.5"),
            (0, "1970-01-01 00:00:00"),
            (i64::MAX, "infinity"),
            (-62_135_596_800_000_001, "0001-12-31 23:59:59.999999 BC"),
        ] {
            assert_eq!(text(|out| write_timestamp(us, out)), expected);
        }
    }

    #[test]
    fn timestamptz_in_the_session_zone() {
        let newyear = 1_704_067_200_000_000;
        for (zone, expected) in [
            ("UTC", "2024-01-01 00:00:00+00"),
            ("Asia/Tokyo", "2024-01-01 09:00:00+09"),
            ("asia/kolkata", "2024-01-01 05:30:00+05:30"),
            ("America/New_York", "2023-12-31 19:00:00-05"),
            ("-03:30", "2023-12-31 20:30:00-03:30"),
        ] {
            let zone = TimeZone::parse(zone).unwrap();
            assert_eq!(text(|out| write_timestamptz(newyear, zone, out)), expected);
        }
        assert_eq!(TimeZone::parse("Mars/Base"), None);
    }
}
