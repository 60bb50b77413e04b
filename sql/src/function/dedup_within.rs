//! Stands among the keys of the DISTINCT ON that `dedup(t, k, within)` is planned as, and says how long duplicates may come
//! after the first row. Run once, it is a constant and tells no rows apart.

use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

/// With one argument: an interval, or NULL for the delay of the watermark.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DedupWithin {
    signature: Signature,
}

impl DedupWithin {
    pub const NAME: &'static str = "dedup_within";
}

impl Default for DedupWithin {
    fn default() -> Self {
        Self {
            // So that it is not replaced by its value before the engine has seen it.
            signature: Signature::any(1, Volatility::Volatile),
        }
    }
}

impl ScalarUDFImpl for DedupWithin {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
    }
}
