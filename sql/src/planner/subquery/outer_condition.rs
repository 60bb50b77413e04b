//! Conditions of a subquery that look at the outer row alone: `(SELECT count(*) FROM t WHERE outer.a > 5)`.
//!
//! The library makes a join only of conditions that compare a column of the subquery. So the subquery gets a column that is
//! always true, to be equal to the condition.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Projection, lit};

const HOLDS: &str = "__holds";

pub fn compare_column(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Filter(filter) => compared(filter),
        node => Ok(Transformed::no(node)),
    })
    .map(|transformed| transformed.data)
}

fn compared(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let (outer, mut inner): (Vec<_>, Vec<_>) = split_conjunction_owned(filter.predicate.clone())
        .into_iter()
        .partition(looks_outside);
    let Some(outer) = conjunction(outer) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let columns = filter.input.schema().columns().into_iter().map(Expr::Column);
    let columns = columns.chain([lit(true).alias(HOLDS)]).collect();
    let input = Projection::try_new(columns, filter.input)?;
    inner.push(Expr::Column(Column::from_name(HOLDS)).eq(outer));
    let predicate = conjunction(inner).expect("it has one condition at least");
    let filter = Filter::try_new(predicate, Arc::new(LogicalPlan::Projection(input)))?;
    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
}

/// A condition of nothing but the outer row.
fn looks_outside(condition: &Expr) -> bool {
    let has_subquery = condition.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
        ))
    });
    condition.contains_outer() && condition.column_refs().is_empty() && !has_subquery.unwrap_or(true)
}
