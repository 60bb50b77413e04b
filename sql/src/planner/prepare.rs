//! PREPARE and EXECUTE.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Execute, Plan, PlanKind, Prepare};
use crate::statement::{Execute as ExecuteStatement, ParsedStatement, Prepare as PrepareStatement};
use crate::text::SourceText;

use super::translate::translate;
use super::{PlanContext, plan_statement, query, types};

pub fn plan_prepare(
    prepare: &PrepareStatement,
    text: &Arc<SourceText>,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let types = prepare
        .types
        .iter()
        .map(types::sql_type)
        .collect::<Result<Vec<_>>>()?;
    let given: Vec<_> = types.iter().cloned().map(Some).collect();
    // Errors are told now, not at the first EXECUTE.
    let inner = PlanContext {
        parameter_types: &given,
        ..*context
    };
    plan_statement(&prepare.statement.statement, text, &inner)?;
    let statement = ParsedStatement {
        statement: prepare.statement.statement.clone(),
        text_range: prepare.statement.text_range.clone(),
        text: Arc::clone(text),
    };
    Ok(PlanKind::Prepare(Box::new(Prepare {
        name: prepare.name.clone(),
        types,
        statement,
    }))
    .into())
}

pub fn plan_execute(
    execute: &ExecuteStatement,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let mut arguments = Vec::with_capacity(execute.arguments.len());
    for argument in &execute.arguments {
        let expr = query::plan_constant(argument, text, context)?;
        let value = evaluate(expr).map_err(|error| translate(error, text))?;
        if !matches!(value, Expr::Literal(..)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("argument {argument} of EXECUTE is not a constant"),
            ));
        }
        arguments.push(value);
    }
    Ok(PlanKind::Execute(Execute {
        name: execute.name.clone(),
        arguments,
    })
    .into())
}

fn evaluate(expr: Expr) -> DataFusionResult<Expr> {
    let schema = Arc::new(DFSchema::empty());
    let simplifier = ExprSimplifier::new(
        SimplifyContext::builder()
            .with_schema(Arc::clone(&schema))
            .build(),
    );
    let coerced = simplifier.coerce(expr, &schema)?;
    simplifier.simplify(coerced)
}
