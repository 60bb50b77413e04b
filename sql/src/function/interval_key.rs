//! The length of an interval, by which intervals are compared and sorted: a month is 30 days, a day is 24 hours.

use std::sync::{Arc, LazyLock};

use arrow::array::{AsArray, Decimal128Array};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Digits of the longest interval in microseconds.
const PRECISION: u8 = 38;

/// The planner calls it; its name is not for users.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct IntervalKey {
    signature: Signature,
}

impl IntervalKey {
    pub const NAME: &'static str = "interval_length";

    /// The length of an interval.
    pub fn of(interval: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> =
            LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(IntervalKey::default())));
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![interval]))
    }
}

impl Default for IntervalKey {
    fn default() -> Self {
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        Self {
            signature: Signature::exact(vec![interval], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for IntervalKey {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(PRECISION, 0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [intervals] = arrays.as_slice() else {
            return plan_err!("{} takes one interval", Self::NAME);
        };
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        let lengths: Decimal128Array = intervals.iter().map(|interval| interval.map(length)).collect();
        let lengths = lengths.with_precision_and_scale(PRECISION, 0)?;
        Ok(ColumnarValue::Array(Arc::new(lengths)))
    }
}

/// Nanoseconds.
fn length(interval: IntervalMonthDayNano) -> i128 {
    const DAY_NS: i128 = 86_400_000_000_000;
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * DAY_NS + i128::from(interval.nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_thirty_days() {
        let of = |months, days, ns| length(IntervalMonthDayNano::new(months, days, ns));
        assert_eq!(of(1, 0, 0), of(0, 30, 0));
        assert_eq!(of(0, 1, 0), of(0, 0, 86_400_000_000_000));
        assert!(of(1, 0, 0) < of(0, 31, 0));
        assert!(of(i32::MAX, i32::MAX, i64::MAX) > 0 && of(i32::MIN, i32::MIN, i64::MIN) < 0);
    }
}
