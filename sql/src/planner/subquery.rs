//! Subqueries as values.
//!
//! A subquery without rows is NULL, whatever its column promises. The library gives the subquery the promise of its
//! column, and then finds a NULL where none may be.

use std::sync::{Arc, LazyLock};

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, ScalarUDF};

use crate::function::Nullable;

static NULLABLE: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(Nullable::default())));

/// Lets every subquery that stands for a value be NULL.
pub fn make_nullable(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_promises(&plan)? {
        return Ok(plan);
    }
    plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| {
                if promises_a_value(&expr) {
                    let call = ScalarFunction::new_udf(Arc::clone(&NULLABLE), vec![expr]);
                    Ok(Transformed::yes(Expr::ScalarFunction(call)))
                } else {
                    Ok(Transformed::no(expr))
                }
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        // Also those above hold what they were told of the columns below.
        Ok(Transformed::yes(node.data.recompute_schema()?))
    })
    .map(|transformed| transformed.data)
}

fn has_promises(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(promises_a_value(expr)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

fn promises_a_value(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_)) && !expr.nullable(&DFSchema::empty()).unwrap_or(true)
}
