//! Functions of dates, times and intervals.

use arrow::datatypes::IntervalMonthDayNano;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime};
use datafusion::common::ScalarValue;
use datafusion::functions::datetime;
use millpond_catalog::{SqlType, interval};

use super::{Overload, RowFunction, as_float, as_int, as_interval, as_micros, as_text};
use crate::error::{Error, ErrorKind};

type Outcome<T> = std::result::Result<T, Error>;
type Result = Outcome<ScalarValue>;

pub const DAY_US: i64 = 86_400_000_000;
const MONTH_DAYS: i32 = 30;

/// What the planner makes of `interval * number`, `interval / number`, casts between times and intervals, and the units of
/// `date_trunc` that the library lacks or reads for few years only.
pub const MULTIPLY: &str = "interval_multiply";
pub const DIVIDE: &str = "interval_divide";
pub const OF_TIME: &str = "interval_of_time";
pub const TO_TIME: &str = "time_of_interval";
pub const TRUNCATE: &str = "timestamp_truncate";

pub fn list() -> Vec<RowFunction> {
    use SqlType::{Bool, Date, Float8, Int4, Interval, Text, Time, Timestamp, TimestampTz};
    let f = RowFunction::new;
    let new = Overload::new;
    vec![
        f(
            "isfinite",
            vec![
                new(&[Date], Bool, is_finite),
                new(&[Timestamp], Bool, is_finite),
                new(&[TimestampTz], Bool, is_finite),
                new(&[Interval], Bool, is_finite),
            ],
        ),
        f(
            "justify_days",
            vec![new(&[Interval], Interval, |v| {
                whole(justify_days(Parts::of(&v[0])))
            })],
        ),
        f(
            "justify_hours",
            vec![new(&[Interval], Interval, |v| {
                whole(justify_hours(Parts::of(&v[0])))
            })],
        ),
        f(
            "justify_interval",
            vec![new(&[Interval], Interval, |v| whole(justify(Parts::of(&v[0]))))],
        ),
        f(
            "timestamp_age",
            vec![
                new(&[Timestamp, Timestamp], Interval, age),
                new(&[TimestampTz, TimestampTz], Interval, age),
            ],
        ),
        f(
            "date_trunc",
            vec![new(&[Text, Interval], Interval, truncate_interval)],
        )
        .over(datetime::date_trunc()),
        f(TRUNCATE, vec![new(&[Text, Timestamp], Timestamp, truncate)]),
        f(
            MULTIPLY,
            vec![new(&[Interval, Float8], Interval, |v| {
                scale(as_interval(&v[0]), as_float(&v[1]))
            })],
        ),
        f(
            DIVIDE,
            vec![new(&[Interval, Float8], Interval, |v| match as_float(&v[1]) {
                0.0 => Err(Error::new(ErrorKind::DivisionByZero, "division by zero")),
                by => scale_by(as_interval(&v[0]), |value| value / by),
            })],
        ),
        f(
            OF_TIME,
            vec![new(&[Time], Interval, |v| interval(0, 0, as_micros(&v[0])))],
        ),
        f(
            TO_TIME,
            vec![new(&[Interval], Time, |v| {
                let us = (as_interval(&v[0]).nanoseconds / 1000).rem_euclid(DAY_US);
                Ok(ScalarValue::Time64Microsecond(Some(us)))
            })],
        ),
        f(
            "make_interval",
            (0..=7)
                .map(|count| {
                    let types = [Int4, Int4, Int4, Int4, Int4, Int4, Float8];
                    new(&types[..count], Interval, make_interval)
                })
                .collect(),
        ),
        f("make_time", vec![new(&[Int4, Int4, Float8], Time, make_time)]),
        f(
            "make_timestamp",
            vec![new(
                &[Int4, Int4, Int4, Int4, Int4, Float8],
                Timestamp,
                make_timestamp,
            )],
        ),
    ]
}

fn overflow() -> Error {
    Error::new(ErrorKind::DatetimeOverflow, "interval out of range")
}

fn interval(months: i64, days: i64, us: i64) -> Result {
    let (Ok(months), Ok(days), Some(ns)) = (i32::try_from(months), i32::try_from(days), us.checked_mul(1000))
    else {
        return Err(overflow());
    };
    Ok(ScalarValue::IntervalMonthDayNano(Some(
        IntervalMonthDayNano::new(months, days, ns),
    )))
}

fn is_finite(v: &[ScalarValue]) -> Result {
    let infinite = match v[0] {
        ScalarValue::Date32(Some(days)) => days == i32::MAX || days == i32::MIN,
        ScalarValue::TimestampMicrosecond(Some(us), _) => us == i64::MAX || us == i64::MIN,
        _ => false,
    };
    Ok(ScalarValue::Boolean(Some(!infinite)))
}

/// The fields of an interval, wide enough for sums.
#[derive(Clone, Copy)]
struct Parts {
    months: i64,
    days: i64,
    us: i64,
}

impl Parts {
    fn of(value: &ScalarValue) -> Self {
        let value = as_interval(value);
        Self {
            months: i64::from(value.months),
            days: i64::from(value.days),
            us: value.nanoseconds / 1000,
        }
    }
}

fn whole(parts: Parts) -> Result {
    interval(parts.months, parts.days, parts.us)
}

/// Moves whole units of a lower field up and gives both fields one sign.
fn carry(upper: &mut i64, lower: &mut i64, unit: i64) {
    *upper += *lower / unit;
    *lower %= unit;
    if *upper > 0 && *lower < 0 {
        *lower += unit;
        *upper -= 1;
    } else if *upper < 0 && *lower > 0 {
        *lower -= unit;
        *upper += 1;
    }
}

fn justify_days(mut parts: Parts) -> Parts {
    carry(&mut parts.months, &mut parts.days, i64::from(MONTH_DAYS));
    parts
}

fn justify_hours(mut parts: Parts) -> Parts {
    carry(&mut parts.days, &mut parts.us, DAY_US);
    parts
}

fn justify(mut parts: Parts) -> Parts {
    let unit = i64::from(MONTH_DAYS);
    parts.days += parts.us / DAY_US;
    parts.us %= DAY_US;
    parts.months += parts.days / unit;
    parts.days %= unit;
    let lower = |parts: &Parts| (parts.days, parts.us);
    if parts.months > 0 && lower(&parts) < (0, 0) {
        parts.days += unit;
        parts.months -= 1;
    } else if parts.months < 0 && lower(&parts) > (0, 0) {
        parts.days -= unit;
        parts.months += 1;
    }
    if parts.days > 0 && parts.us < 0 {
        parts.us += DAY_US;
        parts.days -= 1;
    } else if parts.days < 0 && parts.us > 0 {
        parts.us -= DAY_US;
        parts.days += 1;
    }
    parts
}

pub fn moment(us: i64) -> Outcome<NaiveDateTime> {
    let moment = DateTime::from_timestamp_micros(us).map(|moment| moment.naive_utc());
    moment.ok_or_else(|| Error::new(ErrorKind::DatetimeOverflow, "timestamp out of range"))
}

fn timestamp(day: Option<NaiveDate>) -> Result {
    let midnight = day.and_then(|day| day.and_hms_opt(0, 0, 0));
    match midnight {
        Some(midnight) => Ok(ScalarValue::TimestampMicrosecond(
            Some(midnight.and_utc().timestamp_micros()),
            None,
        )),
        None => Err(Error::new(ErrorKind::DatetimeOverflow, "timestamp out of range")),
    }
}

/// The difference in years, months, days and the rest, as a calendar counts it.
fn age(v: &[ScalarValue]) -> Result {
    let (later, earlier) = (as_micros(&v[0]), as_micros(&v[1]));
    let (a, b) = (moment(later)?, moment(earlier)?);
    let fields = |m: NaiveDateTime, us: i64| {
        let of_day = us.rem_euclid(DAY_US);
        (
            i64::from(m.year()) * 12 + i64::from(m.month0()),
            i64::from(m.day()),
            of_day,
        )
    };
    let ((am, ad, au), (bm, bd, bu)) = (fields(a, later), fields(b, earlier));
    let sign = if later < earlier { -1 } else { 1 };
    let (mut months, mut days, mut us) = ((am - bm) * sign, (ad - bd) * sign, (au - bu) * sign);
    if us < 0 {
        us += DAY_US;
        days -= 1;
    }
    // A month is as long as the one of the earlier moment.
    let month = if sign < 0 { a } else { b };
    while days < 0 {
        days += days_in_month(month.year(), month.month());
        months -= 1;
    }
    interval(months * sign, days * sign, us * sign)
}

fn days_in_month(year: i32, month: u32) -> i64 {
    let next = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    let last = NaiveDate::from_ymd_opt(next.0, next.1, 1).and_then(|day| day.pred_opt());
    last.map_or(31, |day| i64::from(day.day()))
}

fn unknown_unit(unit: &str) -> Error {
    Error::invalid(format!("unit \"{unit}\" not recognized"))
}

/// The unit without a plural.
fn unit_of(value: &ScalarValue) -> String {
    let unit = as_text(value).trim().to_ascii_lowercase();
    match unit.as_str() {
        "centuries" => "century".to_owned(),
        "millennia" => "millennium".to_owned(),
        other => other.strip_suffix('s').unwrap_or(other).to_owned(),
    }
}

fn truncate_interval(v: &[ScalarValue]) -> Result {
    let unit = unit_of(&v[0]);
    let Parts { months, days, us } = Parts::of(&v[1]);
    let by = |value: i64, unit: i64| value / unit * unit;
    match unit.as_str() {
        "millennium" => interval(by(months, 12_000), 0, 0),
        "century" => interval(by(months, 1_200), 0, 0),
        "decade" => interval(by(months, 120), 0, 0),
        "year" => interval(by(months, 12), 0, 0),
        "quarter" => interval(by(months, 3), 0, 0),
        "month" => interval(months, 0, 0),
        "day" => interval(months, days, 0),
        "hour" => interval(months, days, by(us, 3_600_000_000)),
        "minute" => interval(months, days, by(us, 60_000_000)),
        "second" => interval(months, days, by(us, 1_000_000)),
        "millisecond" => interval(months, days, by(us, 1_000)),
        "microsecond" => interval(months, days, us),
        _ => Err(unknown_unit(&unit)),
    }
}

/// Units of a week and more; smaller ones are the library's.
fn truncate(v: &[ScalarValue]) -> Result {
    let unit = unit_of(&v[0]);
    let us = as_micros(&v[1]);
    if us == i64::MAX || us == i64::MIN {
        return Ok(v[1].clone());
    }
    let day = moment(us)?.date();
    let of_year = |year: i32| timestamp(NaiveDate::from_ymd_opt(year, 1, 1));
    // Decades begin with the year 0, centuries and millennia with the year 1; there is no year 0.
    let begin = |length: i32| {
        let year = day.year();
        if year > 0 {
            (year - 1) / length * length + 1
        } else {
            -((length - 1 - year) / length) * length + 1
        }
    };
    match unit.as_str() {
        "week" => {
            let back = u64::from(day.weekday().num_days_from_monday());
            timestamp(day.checked_sub_days(chrono::Days::new(back)))
        }
        "month" => timestamp(day.with_day(1)),
        "quarter" => timestamp(NaiveDate::from_ymd_opt(day.year(), day.month0() / 3 * 3 + 1, 1)),
        "year" => of_year(day.year()),
        "decade" => of_year(day.year().div_euclid(10) * 10),
        "century" => of_year(begin(100)),
        "millennium" => of_year(begin(1000)),
        _ => Err(unknown_unit(&unit)),
    }
}

fn scale(value: IntervalMonthDayNano, factor: f64) -> Result {
    scale_by(value, |part| part * factor)
}

fn scale_by(value: IntervalMonthDayNano, scaled: impl Fn(f64) -> f64) -> Result {
    let scaled = interval::scaled(value, scaled).ok_or_else(overflow)?;
    Ok(ScalarValue::IntervalMonthDayNano(Some(scaled)))
}

fn make_interval(v: &[ScalarValue]) -> Result {
    let part = |at: usize| v.get(at).map_or(0, as_int);
    let seconds = v.get(6).map_or(0.0, as_float);
    let us = (seconds * 1e6).round();
    if us.is_nan() || us.abs() > 9.2e15 {
        return Err(overflow());
    }
    interval(
        part(0) * 12 + part(1),
        part(2) * 7 + part(3),
        part(4) * 3_600_000_000 + part(5) * 60_000_000 + us as i64,
    )
}

fn make_time(v: &[ScalarValue]) -> Result {
    let (hour, minute, second) = (as_int(&v[0]), as_int(&v[1]), as_float(&v[2]));
    let us = hour * 3_600_000_000 + minute * 60_000_000 + (second * 1e6).round() as i64;
    let fields = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0.0..=60.0).contains(&second);
    if !fields || us > DAY_US {
        return Err(Error::new(
            ErrorKind::DatetimeOverflow,
            format!("time field value out of range: {hour}:{minute:02}:{second:02}"),
        ));
    }
    Ok(ScalarValue::Time64Microsecond(Some(us)))
}

fn make_timestamp(v: &[ScalarValue]) -> Result {
    let out_of_range = || Error::new(ErrorKind::DatetimeOverflow, "date/time field value out of range");
    let field = |at: usize| u32::try_from(as_int(&v[at])).map_err(|_| out_of_range());
    let year = i32::try_from(as_int(&v[0])).map_err(|_| out_of_range())?;
    let (hour, minute, second) = (field(3)?, field(4)?, as_float(&v[5]));
    if hour > 24 || minute > 59 || !(0.0..=60.0).contains(&second) {
        return Err(out_of_range());
    }
    let day = NaiveDate::from_ymd_opt(year, field(1)?, field(2)?).ok_or_else(out_of_range)?;
    let ScalarValue::TimestampMicrosecond(Some(midnight), zone) = timestamp(Some(day))? else {
        return Err(out_of_range());
    };
    let us = i64::from(hour) * 3_600_000_000 + i64::from(minute) * 60_000_000 + (second * 1e6).round() as i64;
    Ok(ScalarValue::TimestampMicrosecond(Some(midnight + us), zone))
}
