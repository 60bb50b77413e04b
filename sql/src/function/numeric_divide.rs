//! `numeric / numeric` with at least 16 digits behind the point, rounded half away from zero as Postgres does.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Decimal128Array};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, i256};
use arrow::error::ArrowError;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// Postgres chooses the scale by the size of each quotient; a column has one scale, so the least that Postgres gives.
const SCALE_MIN: i8 = 16;

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
                SCALE_MIN.max(*left).max(*right),
            )),
            _ => plan_err!("{} takes two numerics", Self::NAME),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Decimal128(precision, scale) = *args.return_type() else {
            return plan_err!("{} gives a numeric", Self::NAME);
        };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (left, right) = (
            arrays[0].as_primitive::<Decimal128Type>(),
            arrays[1].as_primitive::<Decimal128Type>(),
        );
        // left / 10^l / (right / 10^r) * 10^scale, and the scale is at least l.
        let factor = i256::from_i128(10)
            .wrapping_pow((i32::from(scale) + i32::from(right.scale()) - i32::from(left.scale())) as u32);
        let mut quotients = Vec::with_capacity(left.len());
        for row in 0..left.len() {
            quotients.push(if left.is_null(row) || right.is_null(row) {
                None
            } else {
                Some(divide(left.value(row), right.value(row), factor)?)
            });
        }
        let quotients = Decimal128Array::from(quotients).with_precision_and_scale(precision, scale)?;
        quotients.validate_decimal_precision(precision)?;
        Ok(ColumnarValue::Array(Arc::new(quotients)))
    }
}

fn divide(left: i128, right: i128, factor: i256) -> Result<i128, ArrowError> {
    if right == 0 {
        return Err(ArrowError::DivideByZero);
    }
    let out_of_range = || ArrowError::ArithmeticOverflow("numeric out of range".to_owned());
    let (left, right) = (i256::from_i128(left), i256::from_i128(right));
    let scaled = left.checked_mul(factor).ok_or_else(out_of_range)?;
    let (quotient, rest) = (scaled.wrapping_div(right), scaled.wrapping_rem(right));
    let double = rest.wrapping_abs().wrapping_add(rest.wrapping_abs());
    let away = match (scaled < i256::ZERO) == (right < i256::ZERO) {
        true => i256::ONE,
        false => i256::MINUS_ONE,
    };
    let rounded = match double >= right.wrapping_abs() {
        true => quotient.wrapping_add(away),
        false => quotient,
    };
    rounded.to_i128().ok_or_else(out_of_range)
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
