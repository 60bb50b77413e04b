//! Intervals as Postgres computes with them.

use arrow::datatypes::IntervalMonthDayNano;

const DAYS_PER_MONTH: f64 = 30.0;
const SECONDS_PER_DAY: f64 = 86_400.0;
const NANOS_PER_MICRO: i64 = 1000;
/// Of the time of an interval.
const MICROS_MAX: f64 = 9.2e15;

/// The interval times or by a number: `scaled` does that to months, days and microseconds. Fractions of months go down to
/// days, those of days to time. `None` if it is out of range.
pub fn scaled(value: IntervalMonthDayNano, scaled: impl Fn(f64) -> f64) -> Option<IntervalMonthDayNano> {
    let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
    let (months, days) = (scaled(f64::from(value.months)), scaled(f64::from(value.days)));
    let days_of_month = rounded((months - months.trunc()) * DAYS_PER_MONTH);
    let mut whole_days = days.trunc() + days_of_month.trunc();
    let mut seconds =
        rounded((days - days.trunc() + days_of_month - days_of_month.trunc()) * SECONDS_PER_DAY);
    if seconds.abs() >= SECONDS_PER_DAY {
        whole_days += (seconds / SECONDS_PER_DAY).trunc();
        seconds -= (seconds / SECONDS_PER_DAY).trunc() * SECONDS_PER_DAY;
    }
    let us = (scaled((value.nanoseconds / NANOS_PER_MICRO) as f64) + seconds * 1e6).round_ties_even();
    let fits = [months, whole_days]
        .iter()
        .all(|part| part.abs() <= f64::from(i32::MAX));
    (fits && us.abs() <= MICROS_MAX)
        .then(|| IntervalMonthDayNano::new(months as i32, whole_days as i32, us as i64 * NANOS_PER_MICRO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_months_and_days_goes_down() {
        const DAY_NS: i64 = 86_400_000_000_000;
        let of = IntervalMonthDayNano::new;
        for (value, by, expected) in [
            (of(1, 0, 0), 2.0, Some(of(0, 15, 0))),
            (of(0, 1, 0), 2.0, Some(of(0, 0, DAY_NS / 2))),
            (of(-13, 1, 3000), 2.0, Some(of(-6, -15, DAY_NS / 2 + 2000))),
            (of(0, 7, 0), 3.0, Some(of(0, 2, DAY_NS / 3))),
            (of(i32::MAX, 0, 0), 0.5, None),
            (of(1, 0, 0), f64::NAN, None),
        ] {
            assert_eq!(scaled(value, |part| part / by), expected, "{value:?} / {by}");
        }
    }
}
