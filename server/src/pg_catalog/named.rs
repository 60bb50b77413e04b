//! Identifiers become names where they are cast to text: `oid::regtype::text`.
//!
//! Within a query an identifier is a number, so that it can be compared and joined. Where it is a column of the result,
//! the encoding of values looks up the name.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan};
use millpond_catalog::{SqlType, SystemType};

use super::SystemContext;
use super::expressions::map_expressions;

/// Looks up names where identifiers are cast to text.
///
/// # Errors
/// None that a planned query could cause.
pub fn name_casts(plan: LogicalPlan, context: &Arc<SystemContext>) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        map_expressions(node, |expr| {
            expr.transform_up(|expr| {
                let Expr::Cast(Cast { expr: inner, field }) = &expr else {
                    return Ok(Transformed::no(expr));
                };
                let is_text = matches!(
                    field.data_type(),
                    DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
                );
                let system = match is_text {
                    true => inner
                        .to_field(&schema)
                        .ok()
                        .and_then(|(_, field)| identifier_type(&field)),
                    false => None,
                };
                Ok(match system {
                    Some(system) => {
                        let named = name_of(inner.as_ref().clone(), system, context);
                        Transformed::yes(Expr::Cast(Cast {
                            expr: Box::new(named),
                            field: field.clone(),
                        }))
                    }
                    None => Transformed::no(expr),
                })
            })
        })
    })
    .map(|transformed| transformed.data)
}

/// The kind of identifier that a field holds, if it is shown by name.
fn identifier_type(field: &Field) -> Option<SystemType> {
    match SqlType::of(field) {
        SqlType::System(system) if system.is_named_identifier() => Some(system),
        _ => None,
    }
}

fn name_of(identifier: Expr, system: SystemType, context: &Arc<SystemContext>) -> Expr {
    let name = crate::function::output_of(system).expect("the type is shown by name");
    let function =
        crate::function::scalar_function(&name, context).expect("each such type has an output function");
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![identifier]))
}
