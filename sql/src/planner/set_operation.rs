//! UNION as Postgres types it: branches of different kinds are an error, where the library would turn numbers into text.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::Union;
use millpond_catalog::SqlType;

use crate::error::{Error, ErrorKind};

use super::literal::is_string_literal;

/// # Errors
/// Columns of one UNION of which one is text and another is not. A literal without a type fits everywhere.
pub fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Union(union) = node {
            check_union(union).map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn check_union(union: &Union) -> crate::error::Result<()> {
    let width = union
        .inputs
        .first()
        .map_or(0, |input| input.schema().fields().len());
    for column in 0..width {
        let mut first: Option<SqlType> = None;
        for input in union.inputs.iter().filter(|input| !is_untyped(input, column)) {
            let Some(field) = input.schema().fields().get(column) else {
                continue;
            };
            let sql_type = SqlType::of(field);
            let Some(first) = &first else {
                first = Some(sql_type);
                continue;
            };
            if is_text(first) != is_text(&sql_type) {
                let message = format!("UNION types {first} and {sql_type} cannot be matched");
                return Err(Error::new(ErrorKind::TypeMismatch, message)
                    .with_hint("Cast the column of one of the queries to the type of the other."));
            }
        }
    }
    Ok(())
}

fn is_text(sql_type: &SqlType) -> bool {
    sql_type.arrow() == DataType::Utf8
}

/// A string literal or NULL.
fn is_untyped(plan: &LogicalPlan, column: usize) -> bool {
    let is_null = |plan: &LogicalPlan| {
        let field = plan.schema().fields().get(column);
        field.is_some_and(|field| field.data_type().is_null())
    };
    match plan {
        LogicalPlan::Projection(projection) => {
            let literal = projection.expr.get(column).map(|expr| expr.clone().unalias());
            is_null(plan) || literal.is_some_and(|expr| is_string_literal(&expr))
        }
        LogicalPlan::Union(union) => union.inputs.iter().all(|input| is_untyped(input, column)),
        plan => is_null(plan),
    }
}
