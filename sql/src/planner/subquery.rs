//! Subqueries as values.
//!
//! The library evaluates the cells of VALUES while it plans, where no subquery has run; so rows of VALUES with subqueries
//! become a union of rows of SELECT.
//!
//! What the library gets wrong or refuses is written in other words first: [`column_names`], [`membership`], [`outer_condition`],
//! [`single_row`], [`projection`].
//!
//! A subquery without rows is NULL, whatever its column promises. The library gives the subquery the promise of its
//! column, and then finds a NULL where none may be.

pub mod column_names;
pub mod membership;
pub mod nullability;
pub mod outer_condition;
pub mod projection;
pub mod single_row;

use std::sync::{Arc, LazyLock};

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    EmptyRelation, Expr, ExprSchemable, LogicalPlan, Projection, ScalarUDF, Union, Values,
};

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
            let expr = expr.transform_down(|expr| {
                if promises_a_value(&expr) {
                    let call = ScalarFunction::new_udf(Arc::clone(&NULLABLE), vec![expr]);
                    let call = Expr::ScalarFunction(call);
                    return Ok(Transformed::new(call, true, TreeNodeRecursion::Jump));
                }
                let done = matches!(&expr, Expr::ScalarFunction(call) if call.func == *NULLABLE);
                let next = if done {
                    TreeNodeRecursion::Jump
                } else {
                    TreeNodeRecursion::Continue
                };
                Ok(Transformed::new(expr, false, next))
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        // Also those above hold what they were told of the columns below.
        Ok(Transformed::yes(node.data.recompute_schema()?))
    })
    .map(|transformed| transformed.data)
}

/// Makes every VALUES with subqueries rows of SELECT.
pub fn select_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Values(values) if has_subqueries(&values)? => Ok(Transformed::yes(selected(values)?)),
        node => Ok(Transformed::no(node)),
    })
    .map(|transformed| transformed.data)
}

fn has_subqueries(values: &Values) -> Result<bool> {
    for cell in values.values.iter().flatten() {
        if cell.exists(|expr| {
            Ok(matches!(
                expr,
                Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)
            ))
        })? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn selected(values: Values) -> Result<LogicalPlan> {
    let Values { schema, values } = values;
    let one_row = Arc::new(LogicalPlan::EmptyRelation(EmptyRelation {
        produce_one_row: true,
        schema: Arc::new(DFSchema::empty()),
    }));
    let select = |row: Vec<Expr>| {
        let cells = row.into_iter().zip(schema.fields());
        let cells = cells.map(|(cell, field)| cell.alias(field.name())).collect();
        Projection::try_new(cells, Arc::clone(&one_row)).map(LogicalPlan::Projection)
    };
    let rows = values.into_iter().map(select).collect::<Result<Vec<_>>>()?;
    match <[LogicalPlan; 1]>::try_from(rows) {
        Ok([row]) => Ok(row),
        Err(rows) => {
            let rows = rows.into_iter().map(Arc::new).collect();
            Union::try_new_with_loose_types(rows).map(LogicalPlan::Union)
        }
    }
}

/// Whether an expression of the node, at any depth, is one of these.
fn has_expression(node: &LogicalPlan, is_one: impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= expr.exists(|expr| Ok(is_one(expr)))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
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
