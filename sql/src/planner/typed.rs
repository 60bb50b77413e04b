//! The expressions of a plan, with the types of what they read.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use millpond_catalog::SqlType;

/// Calls `visit` with every expression of `plan` and of its subqueries.
pub fn visit_expressions(
    plan: &LogicalPlan,
    mut visit: impl FnMut(&Expr, &DFSchema) -> Result<()>,
) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                visit(expr, &schema)?;
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(|_| ())
}

/// Calls `change` with every expression of `plan` and of its subqueries, the innermost first. Columns keep their names.
pub fn change_expressions(
    plan: LogicalPlan,
    mut change: impl FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        change_node(node, &mut |expr| change(expr, &schema))
    })
    .map(|transformed| transformed.data)
}

/// The same for the expressions of one node.
pub fn change_node(
    node: LogicalPlan,
    change: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    // Names of VALUES are its columns', whatever the cells are called.
    let names = match &node {
        LogicalPlan::Values(_) => None,
        node => Some(NamePreserver::new(node)),
    };
    let changed = node.map_expressions(|expr| {
        let name = names.as_ref().map(|names| names.save(&expr));
        let changed = expr.transform_up(&mut *change)?;
        Ok(changed.update_data(|expr| match name {
            Some(name) => name.restore(expr),
            None => expr,
        }))
    })?;
    if changed.transformed {
        Ok(Transformed::yes(changed.data.recompute_schema()?))
    } else {
        Ok(changed)
    }
}

/// The type that an expression has by itself; `None` for NULL and for what is not settled.
pub fn known_type(expr: &Expr, schema: &DFSchema) -> Option<SqlType> {
    // Literals are wide until their place is known.
    if let Expr::Literal(ScalarValue::Int64(Some(value)), _) = expr
        && i32::try_from(*value).is_ok()
    {
        return Some(SqlType::Int4);
    }
    let (_, field) = expr.to_field(schema).ok()?;
    (!field.data_type().is_null()).then(|| SqlType::of(&field))
}
