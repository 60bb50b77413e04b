//! `a JOIN b WITHIN INTERVAL '1 hour' ON ..`: partners are at most so far apart, by the event times of both sides.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, lit};
use datafusion::scalar::ScalarValue;

use crate::error::Error;
use crate::function::Marker;
use crate::relations::Relations;

use super::delayed::DelayedSource;
use super::{external, interval};

/// Puts conditions on the event times in the place of `WITHIN`.
///
/// # Errors
/// A side without an event time, or with several; `WITHIN` that is not the condition of a join.
pub fn bound_joins(plan: LogicalPlan, relations: &dyn Relations) -> DataFusionResult<LogicalPlan> {
    let bound = |node: LogicalPlan| {
        let LogicalPlan::Join(join) = node else {
            return Ok(Transformed::no(node));
        };
        let has_call = { join.filter.as_ref() }
            .is_some_and(|filter| filter.exists(|expr| Ok(within(expr).is_some())).unwrap_or(false));
        match has_call {
            true => bound_join(join, relations).map(Transformed::yes),
            false => Ok(Transformed::no(LogicalPlan::Join(join))),
        }
    };
    Ok(plan.transform_up_with_subqueries(bound)?.data)
}

fn within(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(call) if call.name() == Marker::JOIN_WITHIN => call.args.first(),
        _ => None,
    }
}

fn bound_join(join: Join, relations: &dyn Relations) -> DataFusionResult<LogicalPlan> {
    let left = event_time(&join.left, "left", relations)?;
    let right = event_time(&join.right, "right", relations)?;
    let mut conditions = Vec::new();
    for condition in { join.filter.into_iter() }.flat_map(split_conjunction_owned) {
        let Some(duration) = within(&condition) else {
            if condition.exists(|expr| Ok(within(expr).is_some()))? {
                return Err(external(
                    Error::syntax("WITHIN bounds the whole join")
                        .with_hint("Put what follows ON in parentheses."),
                ));
            }
            conditions.push(condition);
            continue;
        };
        let us = interval::of_expr(duration, "time between partners").map_err(external)?;
        if us < 0 {
            return Err(external(Error::invalid("WITHIN must not be negative")));
        }
        let span = || lit(ScalarValue::new_interval_mdn(0, 0, us.saturating_mul(1000)));
        conditions.push(right.clone().gt_eq(left.clone() - span()));
        conditions.push(right.clone().lt_eq(left.clone() + span()));
    }
    let filter = conjunction(conditions);
    Ok(LogicalPlan::Join(Join { filter, ..join }))
}

/// The column of a side by which its rows are in time.
fn event_time(side: &LogicalPlan, which: &str, relations: &dyn Relations) -> DataFusionResult<Expr> {
    let mut names = Vec::new();
    side.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let column = match scan.source.downcast_ref::<DelayedSource>() {
                Some(delayed) => Some(delayed.column),
                None => relations.event_time(&scan.source),
            };
            names.extend(column.map(|column| scan.source.schema().field(column).name().clone()));
        }
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    })?;
    let schema: &DFSchema = side.schema();
    let mut found: Vec<Column> = Vec::new();
    for (qualifier, field) in schema.iter() {
        if names.contains(field.name()) {
            found.push(Column::new(qualifier.cloned(), field.name().clone()));
        }
    }
    match found.len() {
        1 => Ok(Expr::Column(found.swap_remove(0))),
        0 => Err(external(
            Error::invalid(format!("WITHIN needs an event time, and the {which} side has none"))
                .with_hint("Declare WATERMARK FOR ts, or compare two times: ON .. AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1 hour'."),
        )),
        _ => Err(external(
            Error::invalid(format!("WITHIN needs one event time, and the {which} side has several"))
                .with_hint("Compare two times: ON .. AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1 hour'."),
        )),
    }
}
