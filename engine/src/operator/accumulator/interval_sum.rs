//! Sums and averages of intervals. Months, days and time are summed apart, as Postgres does; an average hands what is left of
//! a month down to days of which a month has 30, and what is left of a day down to 24 hours.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Int64Array, IntervalMonthDayNanoArray};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit,
};

use millpond_catalog::interval;

use crate::error::Result;
use crate::operator::accumulator::integer_sum::fitting;
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

pub(crate) const TYPE: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// Months, days, nanoseconds, and how many values are not NULL.
pub(crate) fn state_types() -> Vec<DataType> {
    let nanoseconds = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);
    vec![DataType::Int64, DataType::Int64, nanoseconds, DataType::Int64]
}

#[derive(Default)]
pub(super) struct IntervalSum {
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    months: i64,
    days: i64,
    nanoseconds: i128,
    count: i64,
}

impl Slot {
    fn add(&mut self, other: Slot) {
        self.months = self.months.wrapping_add(other.months);
        self.days = self.days.wrapping_add(other.days);
        self.nanoseconds = self.nanoseconds.wrapping_add(other.nanoseconds);
        self.count += other.count;
    }

    fn sum(self) -> Option<IntervalMonthDayNano> {
        Some(IntervalMonthDayNano::new(
            self.months.try_into().ok()?,
            self.days.try_into().ok()?,
            self.nanoseconds.try_into().ok()?,
        ))
    }

    fn average(self) -> Option<IntervalMonthDayNano> {
        interval::scaled(self.sum()?, |part| part / self.count as f64)
    }
}

impl Accumulator for IntervalSum {
    fn reserve(&mut self, groups: usize) {
        self.slots.resize(groups, Slot::default());
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let array = values.expect("sum and avg have an argument");
        let array = array.as_primitive::<IntervalMonthDayNanoType>();
        for_each_valid(groups, array.nulls(), weights, |row, group, weight| {
            let value = array.value(row);
            self.slots[group].add(Slot {
                months: i64::from(value.months).wrapping_mul(weight),
                days: i64::from(value.days).wrapping_mul(weight),
                nanoseconds: i128::from(value.nanoseconds).wrapping_mul(weight.into()),
                count: weight,
            });
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let [months, days, count] = [0, 1, 3].map(|column: usize| state[column].as_primitive::<Int64Type>());
        let nanoseconds = state[2].as_primitive::<Decimal128Type>();
        for (row, group) in groups.iter().enumerate() {
            self.slots[*group].add(Slot {
                months: months.value(row),
                days: days.value(row),
                nanoseconds: nanoseconds.value(row),
                count: count.value(row),
            });
        }
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let slots = || groups.iter().map(|group| self.slots[*group]);
        let nanoseconds = Decimal128Array::from_iter_values(slots().map(|slot| slot.nanoseconds));
        Ok(vec![
            Arc::new(Int64Array::from_iter_values(slots().map(|slot| slot.months))),
            Arc::new(Int64Array::from_iter_values(slots().map(|slot| slot.days))),
            Arc::new(nanoseconds.with_data_type(DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0))),
            Arc::new(Int64Array::from_iter_values(slots().map(|slot| slot.count))),
        ])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        let slots = groups.iter().map(|group| self.slots[*group]);
        let read = match reading {
            Reading::Count => {
                return Ok(Arc::new(Int64Array::from_iter_values(
                    slots.map(|slot| slot.count),
                )));
            }
            Reading::Sum => Slot::sum,
            Reading::Average => Slot::average,
            other => return Err(no_reading(other)),
        };
        let results = slots.enumerate().map(|(position, slot)| {
            let result = (slot.count != 0).then(|| read(slot));
            fitting(result, position, "interval out of range", failures)
        });
        Ok(Arc::new(results.collect::<IntervalMonthDayNanoArray>()))
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.slots = keep.iter().map(|group| self.slots[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_hands_down_what_is_left_of_months_and_days() {
        let (second, day) = (1_000_000_000, 86_400_000_000_000_i128);
        for ((months, days, nanoseconds, count), expected) in [
            ((1, 0, 0, 2), (0, 15, 0)),
            ((0, 1, 0, 2), (0, 0, day / 2)),
            ((-13, 1, 3 * second, 2), (-6, -15, day / 2 + 3 * second / 2)),
            ((0, 7, 0, 3), (0, 2, day / 3)),
        ] {
            let slot = Slot {
                months,
                days,
                nanoseconds,
                count,
            };
            let (months, days, nanoseconds) = expected;
            let expected = IntervalMonthDayNano::new(months, days, nanoseconds as i64);
            assert_eq!(slot.average(), Some(expected), "{slot:?}");
        }
    }
}
