//! `processing_time()`: what `now()` is in a streaming view. The engine puts the epoch's time in its place.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ProcessingTime {
    signature: Signature,
}

impl ProcessingTime {
    pub const NAME: &'static str = "processing_time";
}

impl Default for ProcessingTime {
    fn default() -> Self {
        // Volatile, so that no rule takes it for a constant of the query.
        Self {
            signature: Signature::nullary(Volatility::Volatile),
        }
    }
}

impl ScalarUDFImpl for ProcessingTime {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if !arguments.is_empty() {
            return plan_err!("processing_time takes no arguments");
        }
        Ok(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("processing_time() has a value in streaming views only")
    }
}
