//! What Postgres does where a float is cast: to text, and to the nearest whole number before it becomes an integer.
//! Users cannot call these functions.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, StringBuilder};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{ScalarValue, internal_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::float_text::{write_f32, write_f64};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    Text,
    /// Halves go to the even neighbour.
    WholeNumber,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FloatCast {
    target: Target,
    signature: Signature,
}

impl FloatCast {
    pub const HALF_EVEN: &'static str = "round_half_even";

    /// The float as Postgres prints it.
    pub fn to_text(value: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| FloatCast::function(Target::Text));
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![value]))
    }

    /// The float rounded to a whole number, as a double.
    pub fn half_even(value: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> =
            LazyLock::new(|| FloatCast::function(Target::WholeNumber));
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![value]))
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            signature: Signature::any(1, Volatility::Immutable),
        }
    }

    fn function(target: Target) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(Self::new(target)))
    }
}

impl ScalarUDFImpl for FloatCast {
    fn name(&self) -> &str {
        match self.target {
            Target::Text => "float_text",
            Target::WholeNumber => Self::HALF_EVEN,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match (arguments, self.target) {
            ([DataType::Float32 | DataType::Float64], Target::Text) => Ok(DataType::Utf8),
            ([DataType::Float32 | DataType::Float64], Target::WholeNumber) => Ok(DataType::Float64),
            (other, _) => plan_err!("{} takes a float, not {other:?}", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let cast = match self.target {
            Target::Text => texts,
            Target::WholeNumber => whole_numbers,
        };
        match args.args.into_iter().next() {
            Some(ColumnarValue::Array(values)) => Ok(ColumnarValue::Array(cast(&values))),
            Some(ColumnarValue::Scalar(value)) => {
                let result = cast(&value.to_array()?);
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?))
            }
            None => internal_err!("{} takes one value", self.name()),
        }
    }
}

fn texts(values: &ArrayRef) -> ArrayRef {
    let mut builder = StringBuilder::new();
    for row in 0..values.len() {
        if values.is_null(row) {
            builder.append_null();
            continue;
        }
        let mut text = String::new();
        let written = match values.data_type() {
            DataType::Float32 => write_f32(values.as_primitive::<Float32Type>().value(row), &mut text),
            _ => write_f64(values.as_primitive::<Float64Type>().value(row), &mut text),
        };
        written.expect("a String grows");
        builder.append_value(text);
    }
    Arc::new(builder.finish())
}

fn whole_numbers(values: &ArrayRef) -> ArrayRef {
    let rounded: Float64Array = match values.data_type() {
        DataType::Float32 => values
            .as_primitive::<Float32Type>()
            .unary(|value| f64::from(value).round_ties_even()),
        _ => values.as_primitive::<Float64Type>().unary(f64::round_ties_even),
    };
    Arc::new(rounded)
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
            match FloatCast::new(Target::WholeNumber)
                .invoke_with_args(args)
                .unwrap()
            {
                ColumnarValue::Scalar(ScalarValue::Float64(value)) => value,
                other => panic!("{other}"),
            }
        };
        for (value, expected) in [(2.5, 2.0), (3.5, 4.0), (-0.5, 0.0), (-2.5, -2.0), (2.6, 3.0)] {
            assert_eq!(rounded(value), Some(expected), "{value}");
        }
    }
}
