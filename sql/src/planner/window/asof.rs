//! `a ASOF JOIN b`: of the rows of b with the same key, only the nearest in time is a partner.
//!
//! Each row of b is the nearest for the times up to the next one, so it gets the time of that, by `lead` or `lag` over the
//! key, and the join has two comparisons instead of one. Of rows of b with one time, the one that is last (for `>=` and
//! `>`) or first by its other columns is a partner.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_window::lead_lag::{lag, lead};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder, Operator,
};

use crate::error::Error;
use crate::function::Marker;

use super::external;

/// The time up to which a row is the nearest.
const NEXT: &str = "next_asof";

/// Puts comparisons in the place of `ASOF`.
///
/// # Errors
/// Other kinds of joins; conditions that are not equalities and one comparison of the two sides.
pub fn nearest_partners(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let rewrite = |node: LogicalPlan| {
        let LogicalPlan::Join(join) = node else {
            return Ok(Transformed::no(node));
        };
        let is_asof = |expr: &Expr| Ok(asof(expr).is_some());
        match { join.filter.as_ref() }.is_some_and(|filter| filter.exists(is_asof).unwrap_or(false)) {
            true => nearest(join).map(Transformed::yes),
            false => Ok(Transformed::no(LogicalPlan::Join(join))),
        }
    };
    Ok(plan.transform_up_with_subqueries(rewrite)?.data)
}

/// The comparison that the placeholder holds, if it is one.
fn asof(expr: &Expr) -> Option<Option<&Expr>> {
    match expr {
        Expr::ScalarFunction(call) if call.name() == Marker::ASOF_JOIN => Some(call.args.first()),
        _ => None,
    }
}

/// What an ASOF join says: a left time, how it compares, a right time, and keys of the right side.
struct Asof {
    left: Expr,
    operator: Operator,
    right: Expr,
    keys: Vec<Expr>,
    equalities: Vec<Expr>,
}

fn nearest(join: Join) -> DataFusionResult<LogicalPlan> {
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        let kind = join.join_type;
        return Err(unsupported(&format!("an ASOF join is inner or LEFT, not {kind}")));
    }
    let names = { join.schema.iter() }
        .map(|(qualifier, field)| Expr::Column(Column::new(qualifier.cloned(), field.name())))
        .collect::<Vec<_>>();
    let said = understood(&join)?;
    let later = matches!(said.operator, Operator::GtEq | Operator::Gt);
    let right = with_next(&join, &said, later)?;
    let next = Expr::Column(Column::new_unqualified(NEXT));
    // A row at the time of the next one belongs to that, where it may be at it.
    let until = match said.operator {
        Operator::GtEq => Operator::Lt,
        Operator::Gt => Operator::LtEq,
        Operator::LtEq => Operator::Gt,
        _ => Operator::GtEq,
    };
    let compare = |left: &Expr, operator, right: Expr| {
        Expr::BinaryExpr(BinaryExpr::new(Box::new(left.clone()), operator, Box::new(right)))
    };
    let mut conditions = said.equalities.clone();
    conditions.push(compare(&said.left, said.operator, said.right.clone()));
    conditions.push(next.clone().is_null().or(compare(&said.left, until, next)));
    let joined = Join::try_new(
        join.left,
        Arc::new(right),
        join.on,
        conjunction(conditions),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    LogicalPlanBuilder::from(LogicalPlan::Join(joined))
        .project(names)?
        .build()
}

/// The right side with the time of the next row of the same key.
fn with_next(join: &Join, said: &Asof, later: bool) -> DataFusionResult<LogicalPlan> {
    let schema = join.right.schema();
    let ascending = |expr: Expr| -> Sort { expr.sort(true, false) };
    let mut order = vec![ascending(said.right.clone())];
    for (qualifier, field) in schema.iter() {
        // Rows that agree in all of these are equal as far as the order is concerned.
        if !field.data_type().is_nested() {
            order.push(ascending(Expr::Column(Column::new(
                qualifier.cloned(),
                field.name(),
            ))));
        }
    }
    let time = said.right.clone();
    let neighbour = if later {
        lead(time, Some(1), None)
    } else {
        lag(time, Some(1), None)
    };
    let neighbour = neighbour
        .partition_by(said.keys.clone())
        .order_by(order)
        .build()?;
    let window = LogicalPlanBuilder::from(join.right.as_ref().clone()).window([neighbour])?;
    let mut columns: Vec<Expr> = { window.schema().iter() }
        .map(|(qualifier, field)| Expr::Column(Column::new(qualifier.cloned(), field.name())))
        .collect();
    let next = columns.pop().map(|next| next.alias(NEXT));
    window.project(columns.into_iter().chain(next))?.build()
}

fn understood(join: &Join) -> DataFusionResult<Asof> {
    let mut keys: Vec<Expr> = join.on.iter().map(|(_, right)| right.clone()).collect();
    let (mut equalities, mut comparisons) = (Vec::new(), Vec::new());
    for condition in { join.filter.clone().into_iter() }.flat_map(split_conjunction_owned) {
        if let Some(comparison) = asof(&condition) {
            let given = comparison.cloned().into_iter().flat_map(split_conjunction_owned);
            comparisons.extend(given);
            continue;
        }
        if condition.exists(|expr| Ok(asof(expr).is_some()))? {
            return Err(unsupported("ASOF is about the whole join"));
        }
        comparisons.push(condition);
    }
    let mut found = None;
    for condition in comparisons {
        let (left, operator, right) = sides(&condition, join)?;
        match operator {
            Operator::Eq => {
                keys.push(right);
                equalities.push(condition);
            }
            Operator::GtEq | Operator::Gt | Operator::LtEq | Operator::Lt if found.is_none() => {
                found = Some((left, operator, right));
            }
            _ => {
                return Err(unsupported(&format!(
                    "{condition} cannot be part of an ASOF join"
                )));
            }
        }
    }
    let Some((left, operator, right)) = found else {
        return Err(unsupported("an ASOF join compares two times"));
    };
    Ok(Asof {
        left,
        operator,
        right,
        keys,
        equalities,
    })
}

/// A comparison of the two sides, the left one first.
fn sides(condition: &Expr, join: &Join) -> DataFusionResult<(Expr, Operator, Expr)> {
    let is_of = |expr: &Expr, schema: &DFSchema| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| schema.has_column(column))
    };
    if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition {
        if is_of(left, join.left.schema()) && is_of(right, join.right.schema()) {
            return Ok((left.as_ref().clone(), *op, right.as_ref().clone()));
        }
        if is_of(right, join.left.schema())
            && is_of(left, join.right.schema())
            && let Some(swapped) = op.swap()
        {
            return Ok((right.as_ref().clone(), swapped, left.as_ref().clone()));
        }
    }
    Err(unsupported(&format!(
        "{condition} cannot be part of an ASOF join"
    )))
}

fn unsupported(message: &str) -> datafusion::error::DataFusionError {
    external(Error::unsupported(message).with_hint(
        "Write a ASOF [LEFT] JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k; what else the rows of b must meet stands in a \
         subquery: JOIN (SELECT .. FROM b WHERE ..) AS b.",
    ))
}
