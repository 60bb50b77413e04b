//! `join_within(interval)` in the condition of a join: stands for a bound on the time between partners until planning knows
//! the event times of both sides. It is what `a JOIN b WITHIN INTERVAL '1 hour' ON ..` becomes.

use arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct JoinWithin {
    signature: Signature,
}

impl JoinWithin {
    pub const NAME: &'static str = "join_within";
}

impl Default for JoinWithin {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Volatile),
        }
    }
}

impl ScalarUDFImpl for JoinWithin {
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
        exec_err!("WITHIN is allowed before the ON of a join only")
    }
}
