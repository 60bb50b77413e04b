//! An unconstrained numeric as text, without the zeros at its end that nobody wrote.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, AsArray, StringBuilder};
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use millpond_catalog::SqlType;

/// Called in place of a cast.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct NumericText {
    signature: Signature,
}

impl NumericText {
    pub fn of(value: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> =
            LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(NumericText::default())));
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![value]))
    }
}

impl Default for NumericText {
    fn default() -> Self {
        Self {
            signature: Signature::exact(vec![SqlType::PLAIN_NUMERIC], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for NumericText {
    fn name(&self) -> &str {
        "numeric_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [array] = &ColumnarValue::values_to_arrays(&args.args)?[..] else {
            return plan_err!("{} takes one value", self.name());
        };
        let values = array.as_primitive::<Decimal128Type>();
        let mut texts = StringBuilder::new();
        for row in 0..values.len() {
            if values.is_null(row) {
                texts.append_null();
                continue;
            }
            let text = values.value_as_string(row);
            // There is a point, since the scale is not zero.
            texts.append_value(text.trim_end_matches('0').trim_end_matches('.'));
        }
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    }
}
