//! `dedup(t, k [, ..] [, within])` in FROM: the first row of each key.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, lit};
use datafusion::scalar::ScalarValue;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use crate::error::{Error, ErrorKind};
use crate::function::Marker;

use super::{external, interval, members, relation_of};

pub fn plan(
    arguments: Vec<FunctionArg>,
    context: &mut dyn RelationPlannerContext,
) -> DataFusionResult<LogicalPlan> {
    let usage = || {
        Error::new(
            ErrorKind::UndefinedFunction,
            "dedup needs a relation and the columns of a key",
        )
        .with_hint("Write dedup(t, k) or dedup(t, (a, b), within => INTERVAL '10 minutes').")
    };
    let (mut exprs, mut within) = (Vec::new(), None);
    for argument in arguments {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr @ ast::Expr::Interval(_))) => within = Some(expr),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => exprs.push(expr),
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(expr),
                ..
            } if name.value.eq_ignore_ascii_case("within") => within = Some(expr),
            FunctionArg::ExprNamed {
                name: ast::Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(expr),
                ..
            } if name.value.eq_ignore_ascii_case("within") => within = Some(expr),
            _ => return Err(external(usage())),
        }
    }
    let mut exprs = exprs.into_iter();
    let input = exprs.next().ok_or_else(|| external(usage()))?;
    let input = context.plan(relation_of(input).map_err(external)?)?;
    let mut keys = Vec::new();
    for key in exprs.flat_map(members) {
        keys.push(context.sql_to_expr(key, input.schema())?);
    }
    if keys.is_empty() {
        return Err(external(usage()));
    }
    let within = match within {
        None => lit(ScalarValue::Null),
        Some(within) => {
            let within = context.sql_to_expr(within, &DFSchema::empty())?;
            let within_us =
                interval::of_expr(&within, "time within which duplicates come").map_err(external)?;
            super::literal_us(within_us)
        }
    };
    let call = ScalarUDF::new_from_impl(Marker::dedup_within());
    keys.push(Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(call),
        vec![within],
    )));
    let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    LogicalPlanBuilder::from(input)
        .distinct_on(keys, columns, None)?
        .build()
}

/// `SELECT DISTINCT ON (k) .. WITHIN WATERMARK` chooses among whole rows, so that their time is there whether it is selected or
/// not; what is selected is computed from those that stay.
pub fn keep_times(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let is_within =
        |expr: &Expr| matches!(expr, Expr::ScalarFunction(call) if call.name() == Marker::DEDUP_WITHIN);
    let keep = |node: LogicalPlan| match node {
        LogicalPlan::Distinct(Distinct::On(on)) if on.on_expr.iter().any(is_within) => {
            let input = Arc::unwrap_or_clone(on.input);
            let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            if on.select_expr == columns {
                return Ok(Transformed::no(
                    LogicalPlanBuilder::from(input)
                        .distinct_on(on.on_expr, on.select_expr, on.sort_expr)?
                        .build()?,
                ));
            }
            let first = LogicalPlanBuilder::from(input).distinct_on(on.on_expr, columns, on.sort_expr)?;
            Ok(Transformed::yes(first.project(on.select_expr)?.build()?))
        }
        other => Ok(Transformed::no(other)),
    };
    Ok(plan.transform_up_with_subqueries(keep)?.data)
}
