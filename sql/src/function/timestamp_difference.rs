//! `timestamp - timestamp` as Postgres has it: an interval of whole days and a rest below a day.

use std::sync::Arc;

use arrow::array::{Array, AsArray, IntervalMonthDayNanoArray};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{exec_datafusion_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

const DAY_US: i64 = 86_400_000_000;

/// Called by the planner of operators only, with two timestamps in microseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TimestampDifference {
    signature: Signature,
}

impl TimestampDifference {
    pub const NAME: &'static str = "timestamp_difference";
}

impl Default for TimestampDifference {
    fn default() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for TimestampDifference {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let is_time = |t: &DataType| matches!(t, DataType::Timestamp(TimeUnit::Microsecond, _));
        if arguments.iter().all(is_time) {
            Ok(DataType::Interval(IntervalUnit::MonthDayNano))
        } else {
            plan_err!("timestamp_difference takes two timestamps")
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let left = arrays[0].as_primitive::<TimestampMicrosecondType>();
        let right = arrays[1].as_primitive::<TimestampMicrosecondType>();
        let mut values = Vec::with_capacity(left.len());
        for row in 0..left.len() {
            values.push(if left.is_null(row) || right.is_null(row) {
                None
            } else {
                Some(difference(left.value(row), right.value(row))?)
            });
        }
        Ok(ColumnarValue::Array(Arc::new(IntervalMonthDayNanoArray::from(
            values,
        ))))
    }
}

fn difference(left: i64, right: i64) -> Result<IntervalMonthDayNano> {
    let out_of_range = || exec_datafusion_err!("interval out of range");
    let us = left.checked_sub(right).ok_or_else(out_of_range)?;
    let days = i32::try_from(us / DAY_US).map_err(|_| out_of_range())?;
    Ok(IntervalMonthDayNano::new(0, days, us % DAY_US * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_days_are_taken_out() {
        assert_eq!(
            difference(DAY_US + 5, 0).unwrap(),
            IntervalMonthDayNano::new(0, 1, 5000)
        );
        assert_eq!(
            difference(0, DAY_US + 5).unwrap(),
            IntervalMonthDayNano::new(0, -1, -5000)
        );
        assert!(difference(i64::MAX, i64::MIN).is_err());
    }
}
