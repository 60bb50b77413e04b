//! What the planner puts around a value whose SQL type its Arrow type does not tell. Users cannot call it.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use millpond_catalog::SqlType;

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct OfType {
    field: FieldRef,
    signature: Signature,
}

impl OfType {
    /// `value`, which is stored as values of `sql_type` are.
    pub fn of(value: Expr, sql_type: &SqlType) -> Expr {
        let function = OfType {
            field: Arc::new(sql_type.field("of_type", true)),
            signature: Signature::any(1, Volatility::Immutable),
        };
        Expr::ScalarFunction(ScalarFunction::new_udf(
            Arc::new(ScalarUDF::new_from_impl(function)),
            vec![value],
        ))
    }
}

impl ScalarUDFImpl for OfType {
    fn name(&self) -> &str {
        "of_type"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(self.field.as_ref().clone().with_nullable(nullable)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => internal_err!("of_type takes one value"),
        }
    }
}
