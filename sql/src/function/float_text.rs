//! A float as Postgres' text, where a float is cast to text. Users cannot call it.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{ScalarValue, internal_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::float_text::{write_f32, write_f64};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FloatText {
    signature: Signature,
}

impl FloatText {
    pub const NAME: &'static str = "float_text";

    pub fn call(value: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> =
            LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(FloatText::default())));
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![value]))
    }
}

impl Default for FloatText {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for FloatText {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Float32 | DataType::Float64] => Ok(DataType::Utf8),
            other => plan_err!("{} takes a float, not {other:?}", Self::NAME),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(ColumnarValue::Array(values)) => Ok(ColumnarValue::Array(texts(&values))),
            Some(ColumnarValue::Scalar(value)) => {
                let text = texts(&value.to_array()?);
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&text, 0)?))
            }
            None => internal_err!("{} takes one value", Self::NAME),
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
