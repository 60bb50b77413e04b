//! Stands for `ARRAY(SELECT ..)` until the subquery is replaced, which leaves no call of this function behind.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use millpond_sql::ErrorKind;

use super::identifier::undefined;
use crate::pg_catalog::ARRAY_OF_SUBQUERY;

pub fn array_of_subquery() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Stable);
    Arc::new(ScalarUDF::new_from_impl(ArrayOfSubquery { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayOfSubquery {
    signature: Signature,
}

impl ScalarUDFImpl for ArrayOfSubquery {
    fn name(&self) -> &str {
        ARRAY_OF_SUBQUERY
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(
            given.first().cloned().unwrap_or(DataType::Null),
            true,
        ))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // The subquery reads a table of a user, and those are not read row by row.
        Err(undefined(
            ErrorKind::Unsupported,
            "ARRAY(SELECT ..) is only supported over system tables",
        ))
    }
}
