//! Casts to `text` and from it, by the forms that Postgres prints and reads. The planner puts them in place of the library's
//! casts, which know other forms.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder, new_empty_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use bytes::BytesMut;
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use millpond_catalog::SqlType;

use crate::text_form;
use crate::time_zone::TimeZone;

/// What `write` writes for each row of `values` that is not NULL.
pub fn texts_of(values: &dyn Array, mut write: impl FnMut(usize, &mut BytesMut)) -> ArrayRef {
    let mut texts = StringBuilder::new();
    let mut out = BytesMut::new();
    for row in 0..values.len() {
        if values.is_null(row) {
            texts.append_null();
            continue;
        }
        out.clear();
        write(row, &mut out);
        texts.append_value(String::from_utf8_lossy(&out));
    }
    Arc::new(texts.finish())
}

/// Values computed one by one, as an array of that type.
pub fn array_of(values: Vec<ScalarValue>, data_type: &DataType) -> Result<ArrayRef> {
    if values.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    Ok(cast(&ScalarValue::iter_to_array(values)?, data_type)?)
}

/// The text of a value.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ToText {
    signature: Signature,
}

impl ToText {
    pub fn of(value: Expr) -> Expr {
        static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            Arc::new(ScalarUDF::new_from_impl(ToText {
                signature: Signature::any(1, Volatility::Stable),
            }))
        });
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![value]))
    }

    /// The text of one value; `None` for a type whose values have none here.
    pub fn of_scalar(value: &ScalarValue, zone: &str) -> Option<String> {
        if value.is_null() || !text_form::is_known(&value.data_type()) {
            return None;
        }
        let written = text_form::written_as(&value.data_type());
        let array = value.cast_to(&written).ok()?.to_array().ok()?;
        let mut out = BytesMut::new();
        text_form::write(&array, 0, TimeZone::parse(zone).unwrap_or_default(), &mut out);
        String::from_utf8(out.to_vec()).ok()
    }
}

impl ScalarUDFImpl for ToText {
    fn name(&self) -> &str {
        "text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [array] = &ColumnarValue::values_to_arrays(&args.args)?[..] else {
            return exec_err!("text takes one value");
        };
        let zone = TimeZone::of_session(&args.config_options);
        let array = cast(array, &text_form::written_as(array.data_type()))?;
        let texts = texts_of(&array, |row, out| text_form::write(&array, row, zone, out));
        Ok(ColumnarValue::Array(texts))
    }
}

/// A text as a value of another type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FromText {
    target: FieldRef,
    signature: Signature,
}

impl FromText {
    pub fn of(text: Expr, target: &FieldRef) -> Expr {
        let function = FromText {
            target: Arc::clone(target),
            signature: Signature::exact(vec![DataType::Utf8], Volatility::Stable),
        };
        Expr::ScalarFunction(ScalarFunction::new_udf(
            Arc::new(ScalarUDF::new_from_impl(function)),
            vec![text],
        ))
    }
}

impl ScalarUDFImpl for FromText {
    fn name(&self) -> &str {
        "from_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.target.data_type().clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.target.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [array] = &ColumnarValue::values_to_arrays(&args.args)?[..] else {
            return exec_err!("from_text takes one text");
        };
        let zone = args
            .config_options
            .execution
            .time_zone
            .as_deref()
            .unwrap_or("UTC");
        let (texts, sql_type) = (array.as_string::<i32>(), SqlType::of(&self.target));
        let values = (0..texts.len()).map(|row| {
            if texts.is_null(row) {
                return ScalarValue::try_from(self.target.data_type());
            }
            crate::read_text(texts.value(row), &sql_type, zone)
                .map_err(|error| DataFusionError::External(Box::new(error)))
        });
        let values: Vec<ScalarValue> = values.collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(array_of(values, self.target.data_type())?))
    }
}
