//! `window(time, size[, slide[, start]])`: stands for the window of a row until planning puts an assignment of rows to
//! windows under the expression. A struct of `start` and `end`.

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::error::{Error, ErrorKind};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Window {
    signature: Signature,
}

impl Window {
    pub const NAME: &'static str = "window";
    pub const START: &'static str = "start";
    pub const END: &'static str = "end";

    /// The type of the result for a time column of this type.
    pub fn struct_type(time: &DataType) -> DataType {
        DataType::Struct(
            vec![
                Field::new(Self::START, time.clone(), false),
                Field::new(Self::END, time.clone(), false),
            ]
            .into(),
        )
    }
}

impl Default for Window {
    fn default() -> Self {
        Self {
            signature: Signature::variadic_any(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for Window {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let refuse = |error: Error| Err(DataFusionError::External(Box::new(error)));
        // The fifth is put there by planning.
        let planned = arguments.get(4) == Some(&DataType::Boolean) && arguments.len() == 5;
        if !(2..=4).contains(&arguments.len()) && !planned {
            return refuse(
                Error::new(ErrorKind::UndefinedFunction, "window takes two to four arguments")
                    .with_hint("window(time, size[, slide[, start]])"),
            );
        }
        match &arguments[0] {
            time @ DataType::Timestamp(TimeUnit::Microsecond, _) => Ok(Self::struct_type(time)),
            other => refuse(Error::new(
                ErrorKind::TypeMismatch,
                format!(
                    "window needs a time of type timestamp or timestamptz, not {}",
                    millpond_catalog::SqlType::of(&Field::new("", other.clone(), true))
                ),
            )),
        }
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("window() is allowed in SELECT and GROUP BY only")
    }
}
