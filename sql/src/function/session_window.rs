//! `session_window(time, gap[, keys..])`: stands for the session of a row until planning puts an assignment of rows to
//! sessions under the expression. A struct of `start` and `end`. Without keys the sessions are those of the groups that
//! the query makes.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::Window;
use crate::error::{Error, ErrorKind};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SessionWindow {
    signature: Signature,
}

impl SessionWindow {
    pub const NAME: &'static str = "session_window";
}

impl Default for SessionWindow {
    fn default() -> Self {
        Self {
            signature: Signature::variadic_any(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for SessionWindow {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let refuse = |error: Error| Err(DataFusionError::External(Box::new(error)));
        match arguments {
            [time @ DataType::Timestamp(TimeUnit::Microsecond, _), _, ..] => Ok(Window::struct_type(time)),
            [_, _, ..] => refuse(Error::new(
                ErrorKind::TypeMismatch,
                "session_window needs a time of type timestamp or timestamptz",
            )),
            _ => refuse(
                Error::new(
                    ErrorKind::UndefinedFunction,
                    "session_window takes a time and a gap",
                )
                .with_hint("session_window(time, gap)"),
            ),
        }
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("session_window() is allowed in SELECT and GROUP BY only")
    }
}
