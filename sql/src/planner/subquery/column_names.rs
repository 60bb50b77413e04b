//! Names of the columns of IN and EXISTS subqueries.
//!
//! To make a join of a subquery, the library adds the columns to it that its conditions compare with the outer row. One of
//! these may have the name that an expression was given: `x IN (SELECT r.a + 1 AS a FROM r WHERE r.a = t.a)`. Nobody sees
//! the names of these subqueries, so such an expression gets another.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};

use crate::planner::typed::change_expressions;

pub fn tell_apart(plan: LogicalPlan) -> Result<LogicalPlan> {
    change_expressions(plan, |expr, _| match expr {
        Expr::InSubquery(mut member) => {
            let renamed = rename(&mut member.subquery)?;
            Ok(Transformed::new_transformed(Expr::InSubquery(member), renamed))
        }
        Expr::Exists(mut exists) => {
            let renamed = rename(&mut exists.subquery)?;
            Ok(Transformed::new_transformed(Expr::Exists(exists), renamed))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn rename(subquery: &mut Subquery) -> Result<bool> {
    let LogicalPlan::Projection(projection) = subquery.subquery.as_ref() else {
        return Ok(false);
    };
    let input = projection.input.schema();
    let is_taken =
        |alias: &Alias| alias.relation.is_none() && input.has_column_with_unqualified_name(&alias.name);
    let taken = |expr: &Expr| matches!(expr, Expr::Alias(alias) if is_taken(alias));
    if !projection.expr.iter().any(taken) {
        return Ok(false);
    }
    let columns = projection
        .expr
        .iter()
        .enumerate()
        .map(|(place, expr)| match expr {
            Expr::Alias(alias) if is_taken(alias) => Expr::Alias(Alias::new(
                *alias.expr.clone(),
                None::<&str>,
                format!("__value_{place}"),
            )),
            other => other.clone(),
        });
    let projection = Projection::try_new(columns.collect(), Arc::clone(&projection.input))?;
    subquery.subquery = Arc::new(LogicalPlan::Projection(projection));
    Ok(true)
}
