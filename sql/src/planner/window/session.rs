//! Session windows: whose sessions they are, and the node that assigns rows to them.
//!
//! `session(t, ts, gap)` in FROM stands below the GROUP BY that says whose sessions are meant, so the keys are carried
//! down to the call before the nodes are put in.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, Projection, ScalarUDF, cast, lit,
};

use crate::error::{Error, Result};
use crate::function::SessionWindow;
use crate::relations::Relations;

use super::assign::external;
use super::interval;

const WHAT: &str = "gap";
/// Columns for what is computed and not a column of the input.
const COMPUTED: &str = "session_value_of_row";

/// A call of the placeholder; `keys` is `None` when they follow from the GROUP BY above.
pub fn call(time: Expr, gap: Expr, keys: Option<Vec<Expr>>) -> Expr {
    let mut arguments = vec![time, gap];
    if let Some(keys) = keys {
        // The number of keys tells no keys from keys that are still to be found.
        arguments.push(lit(keys.len() as i64));
        arguments.extend(keys);
    }
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(SessionWindow::default())),
        arguments,
    ))
}

pub fn is_call(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(f) if f.func.inner().is::<SessionWindow>())
}

/// The same call with these keys, unless it has some.
pub fn with_keys(call_without: &Expr, keys: Vec<Expr>) -> Expr {
    match call_without {
        Expr::ScalarFunction(function) if is_call(call_without) && function.args.len() == 2 => {
            call(function.args[0].clone(), function.args[1].clone(), Some(keys))
        }
        other => other.clone(),
    }
}

/// Gives every `session(..)` in FROM without keys those of the GROUP BY above it.
pub fn carry_keys_down(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Aggregate(aggregate) => {
            let keys = aggregate.group_expr.clone();
            match keyed(&aggregate.input, &keys)? {
                None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
                Some(input) => {
                    let new = Aggregate::try_new(Arc::new(input), aggregate.group_expr, aggregate.aggr_expr)?;
                    Ok(Transformed::yes(LogicalPlan::Aggregate(new)))
                }
            }
        }
        other => Ok(Transformed::no(other)),
    })
    .map(|transformed| transformed.data)
}

/// `input` with the keys put into the call that is the first one below; `None` when there is none.
fn keyed(input: &LogicalPlan, keys: &[Expr]) -> DataFusionResult<Option<LogicalPlan>> {
    match input {
        LogicalPlan::Filter(_) => {
            let below = keyed(input.inputs()[0], keys)?;
            below
                .map(|below| input.with_new_exprs(input.expressions(), vec![below]))
                .transpose()
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let below = alias.input.schema().columns();
            let names: HashMap<Column, Column> = alias.schema.columns().into_iter().zip(below).collect();
            let names = names.iter().collect();
            let keys = keys
                .iter()
                .map(|key| datafusion::logical_expr::expr_rewriter::replace_col(key.clone(), &names))
                .collect::<DataFusionResult<Vec<_>>>()?;
            let below = keyed(&alias.input, &keys)?;
            below
                .map(|below| input.with_new_exprs(Vec::new(), vec![below]))
                .transpose()
        }
        LogicalPlan::Projection(projection) => {
            let calls = calls_of(&projection.expr);
            let keys = keys
                .iter()
                .map(|key| below_projection(key, projection))
                .collect::<DataFusionResult<Vec<_>>>()?;
            match calls.first() {
                None => keyed(&projection.input, &keys)?
                    .map(|below| input.with_new_exprs(projection.expr.clone(), vec![below]))
                    .transpose(),
                Some(found) => {
                    let own = keys.into_iter().filter(|key| !contains_call(key)).collect();
                    let with_keys = with_keys(found, own);
                    if with_keys == *found {
                        return Ok(None);
                    }
                    let exprs = projection
                        .expr
                        .iter()
                        .map(|expr| replace_call(expr.clone(), found, &with_keys))
                        .collect::<DataFusionResult<Vec<_>>>()?;
                    let input = Arc::clone(&projection.input);
                    Ok(Some(LogicalPlan::Projection(Projection::try_new(exprs, input)?)))
                }
            }
        }
        _ => Ok(None),
    }
}

/// An expression over a projection's columns, over those of its input.
fn below_projection(expr: &Expr, projection: &Projection) -> DataFusionResult<Expr> {
    expr.clone()
        .transform_up(|expr| match &expr {
            Expr::Column(column) => {
                let position = projection.schema.index_of_column(column)?;
                Ok(Transformed::yes(projection.expr[position].clone().unalias()))
            }
            _ => Ok(Transformed::no(expr)),
        })
        .map(|transformed| transformed.data)
}

fn calls_of(exprs: &[Expr]) -> Vec<Expr> {
    let mut calls = Vec::new();
    for expr in exprs {
        // The closure never fails.
        let _ = expr.apply(|expr| {
            if is_call(expr) && !calls.contains(expr) {
                calls.push(expr.clone());
            }
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        });
    }
    calls
}

fn contains_call(expr: &Expr) -> bool {
    !calls_of(std::slice::from_ref(expr)).is_empty()
}

fn replace_call(expr: Expr, found: &Expr, by: &Expr) -> DataFusionResult<Expr> {
    expr.transform_up(|expr| {
        Ok(if expr == *found {
            Transformed::yes(by.clone())
        } else {
            Transformed::no(expr)
        })
    })
    .map(|transformed| transformed.data)
}

/// Puts the node that assigns sessions over `input`.
pub fn assign(
    input: LogicalPlan,
    arguments: &[Expr],
    relations: &dyn Relations,
) -> DataFusionResult<LogicalPlan> {
    let mut columns = Columns {
        names: input.schema().columns().into_iter().map(Expr::Column).collect(),
        input: input.schema().as_ref().clone(),
        computed: Vec::new(),
    };
    let time = columns.column(arguments[0].clone());
    let gap = match &arguments[1] {
        varies if !varies.column_refs().is_empty() => {
            let interval = DataType::Interval(IntervalUnit::MonthDayNano);
            let gap = match varies.get_type(input.schema())? {
                DataType::Interval(_) => varies.clone(),
                _ => cast(varies.clone(), interval),
            };
            Expr::Column(columns.column(gap))
        }
        constant => lit(constant_gap(constant).map_err(external)?),
    };
    let keys = arguments
        .iter()
        .skip(3)
        .map(|key| columns.column(key.clone()))
        .collect();
    let input = columns.over(input)?;
    relations.session_assign(input, time, gap, keys)
}

fn constant_gap(expr: &Expr) -> Result<i64> {
    let us = interval::of_expr(expr, WHAT)?;
    if us <= 0 {
        return Err(Error::invalid(format!(
            "session gap must be positive, not {}",
            interval::show(us)
        )));
    }
    Ok(us)
}

/// Columns of an input, and those that are computed on top of it.
struct Columns {
    names: Vec<Expr>,
    input: DFSchema,
    computed: Vec<Expr>,
}

impl Columns {
    fn column(&mut self, expr: Expr) -> Column {
        match expr.unalias() {
            Expr::Column(column) if self.input.index_of_column(&column).is_ok() => column,
            computed => {
                let name = format!("{COMPUTED}_{}", self.computed.len());
                self.computed.push(computed.alias(&name));
                Column::new_unqualified(name)
            }
        }
    }

    fn over(self, input: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        if self.computed.is_empty() {
            return Ok(input);
        }
        let exprs = self.names.into_iter().chain(self.computed).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(
            exprs,
            Arc::new(input),
        )?))
    }
}
