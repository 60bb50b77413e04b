//! `numeric / numeric` with at least 16 digits behind the point, rounded half away from zero as Postgres does.

use std::sync::Arc;

use arrow::array::{AsArray, Decimal128Array};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, i256};
use arrow::error::ArrowError;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::numeric;

/// Called by the planner of operators only, with two numerics.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct NumericDivide {
    signature: Signature,
}

impl NumericDivide {
    pub const NAME: &'static str = "numeric_divide";
}

impl Default for NumericDivide {
    fn default() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for NumericDivide {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Decimal128(_, left), DataType::Decimal128(_, right)] => Ok(DataType::Decimal128(
                DECIMAL128_MAX_PRECISION,
                numeric::QUOTIENT_SCALE_MIN.max(*left).max(*right),
            )),
            _ => plan_err!("{} takes two numerics", Self::NAME),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Decimal128(precision, scale) = *args.return_type() else {
            return plan_err!("{} gives a numeric", Self::NAME);
        };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = [0, 1].map(|i| arrays[i].as_primitive::<Decimal128Type>());
        // left / 10^l / (right / 10^r) * 10^scale, and the scale is at least l.
        let factor = i256::from_i128(10)
            .wrapping_pow((i32::from(scale) + i32::from(right.scale()) - i32::from(left.scale())) as u32);
        let quotients: Decimal128Array = try_binary(left, right, |left, right| divide(left, right, factor))?;
        let quotients = quotients.with_precision_and_scale(precision, scale)?;
        quotients.validate_decimal_precision(precision)?;
        Ok(ColumnarValue::Array(Arc::new(quotients)))
    }
}

fn divide(left: i128, right: i128, factor: i256) -> Result<i128, ArrowError> {
    if right == 0 {
        return Err(ArrowError::DivideByZero);
    }
    let scaled = i256::from_i128(left).checked_mul(factor);
    let quotient = scaled.and_then(|scaled| numeric::divide(scaled, i256::from_i128(right)));
    quotient.ok_or_else(numeric::out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_half_away_from_zero() {
        let divide = |left, right| divide(left, right, i256::from_i128(10)).unwrap();
        assert_eq!(divide(2, 3), 7);
        assert_eq!(divide(-2, 3), -7);
        assert_eq!(divide(1, -4), -3);
        assert_eq!(divide(1, 4), 3);
        assert_eq!(divide(1, 3), 3);
        assert!(super::divide(1, 0, i256::ONE).is_err());
        assert!(super::divide(i128::MAX, 1, i256::from_i128(10)).is_err());
    }
}
