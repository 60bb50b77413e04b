//! OVERLAPS, and times of fewer digits.

use chrono::Months;
use datafusion::common::ScalarValue;
use millpond_catalog::SqlType;

use super::time::moment;
use super::{Overload, RowFunction, as_int, as_interval, as_micros};
use crate::error::{Error, ErrorKind};

type Result = std::result::Result<ScalarValue, Error>;

/// What the planner makes of `(a, b) OVERLAPS (c, d)`, and of casts to times with a precision.
pub const OVERLAPS: &str = "overlaps";
pub const ROUND: &str = "round_time";

pub fn list() -> Vec<RowFunction> {
    use SqlType::{Bool, Int4, Interval, Time, Timestamp, TimestampTz};
    let moments = |moment: SqlType| {
        let ends = [moment.clone(), Interval];
        let pairs = ends
            .iter()
            .flat_map(|left| ends.iter().map(move |right| (left.clone(), right.clone())));
        pairs
            .map(|(left, right)| {
                Overload::new(&[moment.clone(), left, moment.clone(), right], Bool, overlaps).with_nulls()
            })
            .collect::<Vec<_>>()
    };
    let times = Overload::new(&[Time, Time, Time, Time], Bool, overlaps).with_nulls();
    let rounding = |of: SqlType| Overload::new(&[of.clone(), Int4], of, round);
    vec![
        RowFunction::new(
            OVERLAPS,
            [moments(Timestamp), moments(TimestampTz), vec![times]].concat(),
        ),
        RowFunction::new(
            ROUND,
            [Timestamp, TimestampTz, Time, Interval].map(rounding).to_vec(),
        ),
    ]
}

/// A period's bounds in microseconds, the lesser first. One that is not known is the second.
fn period(start: &ScalarValue, end: &ScalarValue) -> std::result::Result<Option<(i64, Option<i64>)>, Error> {
    let end = match end {
        _ if end.is_null() => None,
        ScalarValue::IntervalMonthDayNano(_) if start.is_null() => None,
        ScalarValue::IntervalMonthDayNano(_) => Some(later(as_micros(start), end)?),
        end => Some(as_micros(end)),
    };
    let start = (!start.is_null()).then(|| as_micros(start));
    Ok(match (start, end) {
        (Some(start), Some(end)) => Some((start.min(end), Some(start.max(end)))),
        (Some(known), None) | (None, Some(known)) => Some((known, None)),
        (None, None) => None,
    })
}

fn later(start: i64, length: &ScalarValue) -> std::result::Result<i64, Error> {
    let length = as_interval(length);
    let months = Months::new(length.months.unsigned_abs());
    let moved = match length.months {
        0.. => moment(start)?.checked_add_months(months),
        _ => moment(start)?.checked_sub_months(months),
    };
    let days = i64::from(length.days) * super::time::DAY_US;
    moved
        .map(|moved| moved.and_utc().timestamp_micros())
        .and_then(|moved| moved.checked_add(days)?.checked_add(length.nanoseconds / 1000))
        .ok_or_else(|| Error::new(ErrorKind::DatetimeOverflow, "timestamp out of range"))
}

/// By the standard: a period holds its start and not its end, except one of a single moment.
fn overlaps(v: &[ScalarValue]) -> Result {
    let (Some(mut first), Some(mut second)) = (period(&v[0], &v[1])?, period(&v[2], &v[3])?) else {
        return Ok(ScalarValue::Boolean(None));
    };
    if first.0 > second.0 {
        std::mem::swap(&mut first, &mut second);
    }
    let answer = match (first, second) {
        ((start, end), (other, other_end)) if start == other => {
            (end.is_some() && other_end.is_some()).then_some(true)
        }
        // The later one began before the earlier one was over.
        ((_, Some(end)), (other, _)) if other < end => Some(true),
        ((_, Some(_)), (_, Some(_))) => Some(false),
        _ => None,
    };
    Ok(ScalarValue::Boolean(answer))
}

/// Rounds to so many digits of a second, halves away from zero: for timestamps, the year 2000.
fn round(v: &[ScalarValue]) -> Result {
    const YEAR_2000_US: i64 = 946_684_800_000_000;
    let digits = u32::try_from(as_int(&v[1])).unwrap_or(0).min(6);
    let unit = 10_i64.pow(6 - digits);
    let rounded = |us: i64| {
        let half = unit / 2 * us.signum();
        us.saturating_add(half) / unit * unit
    };
    Ok(match &v[0] {
        ScalarValue::TimestampMicrosecond(Some(us), _) if *us == i64::MAX || *us == i64::MIN => v[0].clone(),
        ScalarValue::TimestampMicrosecond(Some(us), zone) => {
            let rounded = rounded(us.saturating_sub(YEAR_2000_US)).saturating_add(YEAR_2000_US);
            ScalarValue::TimestampMicrosecond(Some(rounded), zone.clone())
        }
        ScalarValue::Time64Microsecond(Some(us)) => ScalarValue::Time64Microsecond(Some(rounded(*us))),
        ScalarValue::IntervalMonthDayNano(Some(length)) => {
            let mut length = *length;
            length.nanoseconds = rounded(length.nanoseconds / 1000).saturating_mul(1000);
            ScalarValue::IntervalMonthDayNano(Some(length))
        }
        other => other.clone(),
    })
}
