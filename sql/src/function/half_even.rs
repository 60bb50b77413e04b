//! Rounds a float to the next whole number, halves to the even one: what Postgres does where a float becomes an integer.
//! Users cannot call it.

use std::sync::{Arc, LazyLock};

use arrow::array::{AsArray, Float64Array};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{internal_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct HalfEven {
    signature: Signature,
}

impl HalfEven {
    pub const NAME: &'static str = "round_half_even";

    pub fn call(arguments: Vec<Expr>) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> =
            LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(HalfEven::default())));
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), arguments))
    }
}

impl Default for HalfEven {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for HalfEven {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Float32 | DataType::Float64] => Ok(DataType::Float64),
            other => plan_err!("{} takes a float, not {other:?}", Self::NAME),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let Some(value) = args.args.into_iter().next() else {
            return internal_err!("{} takes one value", Self::NAME);
        };
        let is_scalar = matches!(value, ColumnarValue::Scalar(_));
        let values = value.into_array(if is_scalar { 1 } else { rows })?;
        let rounded: Float64Array = match values.data_type() {
            DataType::Float32 => values
                .as_primitive::<Float32Type>()
                .unary(|value| f64::from(value).round_ties_even()),
            _ => values.as_primitive::<Float64Type>().unary(f64::round_ties_even),
        };
        if is_scalar {
            let scalar = datafusion::common::ScalarValue::try_from_array(&rounded, 0)?;
            return Ok(ColumnarValue::Scalar(scalar));
        }
        Ok(ColumnarValue::Array(Arc::new(rounded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_neighbour() {
        let rounded = |value: f64| {
            let args = ScalarFunctionArgs {
                args: vec![ColumnarValue::Scalar(value.into())],
                arg_fields: Vec::new(),
                number_rows: 1,
                return_field: Arc::new(arrow::datatypes::Field::new("", DataType::Float64, true)),
                config_options: Arc::default(),
            };
            match HalfEven::default().invoke_with_args(args).unwrap() {
                ColumnarValue::Scalar(datafusion::common::ScalarValue::Float64(value)) => value,
                other => panic!("{other}"),
            }
        };
        for (value, expected) in [(2.5, 2.0), (3.5, 4.0), (-0.5, 0.0), (-2.5, -2.0), (2.6, 3.0)] {
            assert_eq!(rounded(value), Some(expected), "{value}");
        }
    }
}
