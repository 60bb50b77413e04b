//! `current_watermark([time])`: in a streaming view, the watermark by which rows of that time are late. The engine puts the
//! epoch's in its place.

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::error::{Error, ErrorKind};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct CurrentWatermark {
    signature: Signature,
}

impl CurrentWatermark {
    pub const NAME: &'static str = "current_watermark";
}

impl Default for CurrentWatermark {
    fn default() -> Self {
        // Volatile, so that no rule moves it to another place in the query, where the watermark may be another.
        Self {
            signature: Signature::one_of(
                vec![TypeSignature::Nullary, TypeSignature::Any(1)],
                Volatility::Volatile,
            ),
        }
    }
}

impl ScalarUDFImpl for CurrentWatermark {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [] => Ok(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
            [time @ DataType::Timestamp(TimeUnit::Microsecond, _)] => Ok(time.clone()),
            [other, ..] => Err(DataFusionError::External(Box::new(
                Error::new(
                    ErrorKind::TypeMismatch,
                    format!(
                        "current_watermark needs a time of type timestamp or timestamptz, not {}",
                        millpond_catalog::SqlType::of(&Field::new("", other.clone(), true))
                    ),
                )
                .with_hint("Write current_watermark(ts) with the column that has the watermark."),
            ))),
        }
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::External(Box::new(
            Error::unsupported("current_watermark() has a value in streaming views only").with_hint(
                "SELECT source, watermark FROM sys.watermarks shows that of each input of each query.",
            ),
        )))
    }
}
