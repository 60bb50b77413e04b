//! `coalesce`, `greatest` and `least` of the library, which also take a literal, read as a text until its place is known,
//! beside values that no text becomes by itself, such as arrays. The planner gives it their type.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result;
use datafusion::functions::core;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    inner: ScalarUDF,
}

impl Choice {
    pub fn all() -> [Arc<ScalarUDF>; 3] {
        [core::coalesce(), core::greatest(), core::least()].map(|inner| {
            let inner = inner.as_ref().clone();
            Arc::new(ScalarUDF::new_from_impl(Choice { inner }))
        })
    }
}

impl ScalarUDFImpl for Choice {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types).or_else(|error| {
            let typed: Vec<_> = types.iter().filter(|t| !t.is_string()).cloned().collect();
            match self.inner.coerce_types(&typed)?.first() {
                Some(common) if typed.len() < types.len() => Ok(vec![common.clone(); types.len()]),
                _ => Err(error),
            }
        })
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.inner().invoke_with_args(args)
    }
}
