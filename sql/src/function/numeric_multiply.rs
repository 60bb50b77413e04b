//! `numeric * numeric` where the exact product has more digits than a column can hold: rounded behind the point.
//!
//! The exact scale is the sum of both. With 38 digits in all, two unconstrained numerics would leave eight digits before
//! the point.

use std::sync::Arc;

use arrow::array::{AsArray, Decimal128Array};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, i256};
use arrow::error::ArrowError;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use millpond_catalog::SqlType;

use super::numeric;

/// Called by the planner of operators only, with two numerics of which [`NumericMultiply::scale`] says so.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct NumericMultiply {
    signature: Signature,
}

impl NumericMultiply {
    /// The scale of the product of such numerics (precision and scale of each), where it is less than the exact one.
    pub fn scale(left: (u8, i8), right: (u8, i8)) -> Option<i8> {
        let exact = left.1.checked_add(right.1)?;
        if left.0 + right.0 <= DECIMAL128_MAX_PRECISION || exact <= numeric::QUOTIENT_SCALE_MIN {
            return None;
        }
        let is_plain = |(precision, scale)| DataType::Decimal128(precision, scale) == SqlType::PLAIN_NUMERIC;
        let least = if is_plain(left) || is_plain(right) {
            SqlType::NUMERIC_SCALE
        } else {
            numeric::QUOTIENT_SCALE_MIN
        };
        Some(least.max(left.1).max(right.1).min(exact))
    }
}

impl Default for NumericMultiply {
    fn default() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for NumericMultiply {
    fn name(&self) -> &str {
        "numeric_multiply"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if let [DataType::Decimal128(p, s), DataType::Decimal128(q, t)] = arguments
            && let Some(scale) = Self::scale((*p, *s), (*q, *t))
        {
            return Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale));
        }
        plan_err!("{} takes two numerics", self.name())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Decimal128(precision, scale) = *args.return_type() else {
            return plan_err!("{} gives a numeric", self.name());
        };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = [0, 1].map(|i| arrays[i].as_primitive::<Decimal128Type>());
        let digits_too_many = u32::from((left.scale() + right.scale() - scale).unsigned_abs());
        let divisor = i256::from_i128(10).wrapping_pow(digits_too_many);
        let products: Decimal128Array =
            try_binary(left, right, |left, right| multiply(left, right, divisor))?;
        let products = products.with_precision_and_scale(precision, scale)?;
        products.validate_decimal_precision(precision)?;
        Ok(ColumnarValue::Array(Arc::new(products)))
    }
}

fn multiply(left: i128, right: i128, divisor: i256) -> Result<i128, ArrowError> {
    // Two numbers of 127 bits: the product always fits in 255.
    let product = i256::from_i128(left).wrapping_mul(i256::from_i128(right));
    numeric::divide(product, divisor).ok_or_else(numeric::out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_rounded_half_away_from_zero() {
        let multiply = |left, right| multiply(left, right, i256::from_i128(100)).unwrap();
        assert_eq!(multiply(15, 10), 2);
        assert_eq!(multiply(-15, 10), -2);
        assert_eq!(multiply(149, 1), 1);
        assert!(super::multiply(i128::MAX, 1000, i256::from_i128(100)).is_err());
    }

    #[test]
    fn only_products_that_do_not_fit_are_rounded() {
        assert_eq!(NumericMultiply::scale((10, 9), (10, 9)), None);
        assert_eq!(NumericMultiply::scale((38, 15), (20, 0)), None);
        assert_eq!(NumericMultiply::scale((38, 15), (38, 15)), Some(15));
        assert_eq!(NumericMultiply::scale((38, 16), (10, 2)), Some(16));
        assert_eq!(NumericMultiply::scale((38, 15), (38, 16)), Some(16));
    }
}
