//! `asof_join([comparison])` in the condition of a join: of the rows that match, only the nearest by the comparison of two times
//! is a partner. It is what `ASOF JOIN` becomes until planning puts the bounds of each row in its place.

use arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct AsofJoin {
    signature: Signature,
}

impl AsofJoin {
    pub const NAME: &'static str = "asof_join";
}

impl Default for AsofJoin {
    fn default() -> Self {
        Self {
            signature: Signature::one_of(
                vec![TypeSignature::Nullary, TypeSignature::Any(1)],
                Volatility::Volatile,
            ),
        }
    }
}

impl ScalarUDFImpl for AsofJoin {
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
        exec_err!("asof_join is allowed in the ON of a join only")
    }
}
