//! What the planner puts around a subquery that stands for a value and may have several rows. Users cannot call it.
//!
//! Its argument is a struct of the number of rows and one of their values.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{exec_err, internal_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// The value, unless there are several.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SingleValue {
    signature: Signature,
}

impl Default for SingleValue {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for SingleValue {
    fn name(&self) -> &str {
        "single_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        internal_err!("the type comes with the field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first().map(|field| field.data_type()) {
            Some(DataType::Struct(fields)) if fields.len() == 2 => {
                let value: &Field = &fields[1];
                Ok(Arc::new(value.clone().with_nullable(true)))
            }
            _ => plan_err!("single_value takes a number of rows and a value"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(argument) = args.args.pop() else {
            return internal_err!("single_value takes one argument");
        };
        let rows = argument.into_array(args.number_rows)?;
        let rows = rows.as_struct();
        let counts = rows.column(0).as_primitive::<Int64Type>();
        let several = |row: usize| rows.is_valid(row) && counts.is_valid(row) && counts.value(row) > 1;
        if (0..rows.len()).any(several) {
            return exec_err!("more than one row returned by a subquery used as an expression");
        }
        let value = rows.column(1);
        let value = match rows.nulls() {
            None => Arc::clone(value),
            Some(nulls) => {
                let absent = arrow::array::BooleanArray::new(!nulls.inner(), None);
                arrow::compute::nullif(value, &absent)?
            }
        };
        Ok(ColumnarValue::Array(value))
    }
}
