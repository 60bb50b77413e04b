//! Puts the assignment of rows to windows under every projection and aggregate that calls the placeholder `window(..)`.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection, ScalarUDF, lit};
use datafusion::prelude::named_struct;
use datafusion::scalar::ScalarValue;

use crate::error::Error;
use crate::function::Window;
use crate::relations::{Relations, Windows};

use super::{interval, session};

/// Column that holds a time which is computed and not a column of the input.
const COMPUTED_TIME: &str = "window_time_of_row";

pub(super) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// A call of the placeholder with microseconds as arguments.
pub fn call(time: Expr, windows: Windows) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(Window::default())),
        vec![
            time,
            super::literal_us(windows.size_us),
            super::literal_us(windows.slide_us),
            super::literal_us(windows.offset_us),
            lit(windows.cumulate),
        ],
    ))
}

/// Replaces every placeholder in `plan`.
///
/// # Errors
/// Windows that make no sense, two in one SELECT, one outside of SELECT and GROUP BY.
pub fn assign(plan: LogicalPlan, relations: &dyn Relations) -> DataFusionResult<LogicalPlan> {
    let plan = session::carry_keys_down(plan)?;
    plan.transform_up_with_subqueries(|node| {
        let Some(window) = find(&node)? else {
            return Ok(Transformed::no(node));
        };
        match node {
            LogicalPlan::Aggregate(aggregate) => {
                under_aggregate(aggregate, &window, relations).map(Transformed::yes)
            }
            LogicalPlan::Projection(projection) => {
                under_projection(projection, &window, relations).map(Transformed::yes)
            }
            other => Err(external(
                Error::unsupported("window() is allowed in SELECT and GROUP BY only")
                    .with_detail(format!("Found in {}.", other.display()))
                    .with_hint("Use tumble(t, ts, size) in FROM and filter on window_start."),
            )),
        }
    })
    .map(|transformed| transformed.data)
}

/// The one placeholder call in the expressions of `node`.
fn find(node: &LogicalPlan) -> DataFusionResult<Option<Expr>> {
    let mut calls = HashSet::new();
    node.apply_expressions(|expr| {
        expr.apply(|expr| {
            if is_window(expr) {
                calls.insert(expr.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if calls.len() > 1 {
        return Err(external(
            Error::unsupported("a SELECT can have one window only")
                .with_hint("Join two streaming views, one per window."),
        ));
    }
    Ok(calls.into_iter().next())
}

fn is_window(expr: &Expr) -> bool {
    session::is_call(expr) || matches!(expr, Expr::ScalarFunction(f) if f.func.inner().is::<Window>())
}

/// The input with its windows, and the columns of their bounds.
struct Assigned {
    plan: LogicalPlan,
    start: Column,
    end: Column,
}

fn assigned(input: Arc<LogicalPlan>, window: &Expr, relations: &dyn Relations) -> DataFusionResult<Assigned> {
    let Expr::ScalarFunction(function) = window else {
        unreachable!("only calls of the placeholder are collected")
    };
    let mut input = Arc::unwrap_or_clone(input);
    if session::is_call(window) {
        return Ok(with_bounds(session::assign(input, &function.args, relations)?));
    }
    let duration = |n: usize, what: &str| {
        function
            .args
            .get(n)
            .map(|arg| interval::of_expr(arg, what))
            .transpose()
            .map_err(external)
    };
    let size = duration(1, "size")?.unwrap_or_default();
    let slide = duration(2, "slide")?.unwrap_or(size);
    let offset = duration(3, "start")?.unwrap_or(0);
    interval::check(size, slide, false).map_err(external)?;
    let windows = Windows {
        size_us: size,
        slide_us: slide,
        offset_us: offset,
        cumulate: function
            .args
            .get(4)
            .is_some_and(|cumulate| *cumulate == lit(true)),
    };

    let time = match &function.args[0] {
        Expr::Column(column) => column.clone(),
        computed => {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let exprs = columns.chain([computed.clone().alias(COMPUTED_TIME)]).collect();
            input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?);
            Column::new_unqualified(COMPUTED_TIME)
        }
    };
    let plan = relations.window_assign(input, time, windows)?;
    Ok(with_bounds(plan))
}

/// The last two columns are the bounds.
fn with_bounds(plan: LogicalPlan) -> Assigned {
    let fields = plan.schema().fields().len();
    let bound = |n: usize| Column::from(plan.schema().qualified_field(n));
    let (start, end) = (bound(fields - 2), bound(fields - 1));
    Assigned { plan, start, end }
}

/// Replaces the call and the access to its fields within `expr`.
fn replace(expr: Expr, window: &Expr, start: &Expr, end: &Expr) -> DataFusionResult<Expr> {
    expr.transform_down(|expr| {
        if let Expr::ScalarFunction(function) = &expr
            && function.func.name() == "get_field"
            && let [base, Expr::Literal(ScalarValue::Utf8(Some(field)), _)] = function.args.as_slice()
            && base == window
        {
            let bound = if field == Window::START {
                start.clone()
            } else {
                end.clone()
            };
            return Ok(Transformed::new(bound, true, TreeNodeRecursion::Jump));
        }
        if expr == *window {
            let whole = named_struct(vec![
                lit(Window::START),
                start.clone(),
                lit(Window::END),
                end.clone(),
            ]);
            return Ok(Transformed::new(whole, true, TreeNodeRecursion::Jump));
        }
        Ok(Transformed::no(expr))
    })
    .map(|transformed| transformed.data)
}

fn under_projection(
    projection: Projection,
    window: &Expr,
    relations: &dyn Relations,
) -> DataFusionResult<LogicalPlan> {
    let Assigned { plan, start, end } = assigned(projection.input, window, relations)?;
    let (start, end) = (Expr::Column(start), Expr::Column(end));
    let names = NamePreserver::new_for_projection();
    let exprs = projection
        .expr
        .into_iter()
        .map(|expr| {
            let name = names.save(&expr);
            // The alias goes too, so that a bare column stays one.
            replace(expr.unalias(), window, &start, &end).map(|expr| name.restore(expr))
        })
        .collect::<DataFusionResult<Vec<_>>>()?;
    if is_identity(&exprs, plan.schema()) {
        return Ok(plan);
    }
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(plan),
    )?))
}

/// True when `exprs` are the columns of `schema` in order.
fn is_identity(exprs: &[Expr], schema: &DFSchema) -> bool {
    exprs.len() == schema.fields().len()
        && exprs
            .iter()
            .zip(schema.columns())
            .all(|(expr, column)| match expr {
                Expr::Column(found) => *found == column,
                _ => false,
            })
}

fn under_aggregate(
    aggregate: Aggregate,
    window: &Expr,
    relations: &dyn Relations,
) -> DataFusionResult<LogicalPlan> {
    let Aggregate {
        input,
        group_expr,
        aggr_expr,
        schema,
        ..
    } = aggregate;
    if group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
        return Err(external(Error::unsupported(
            "ROLLUP, CUBE and GROUPING SETS over window() are not supported",
        )));
    }
    // Sessions without keys of their own are those of the groups.
    let others = group_expr.iter().filter(|expr| !mentions(expr, window)).cloned();
    let keyed = session::with_keys(window, others.collect());
    let Assigned { plan, start, end } = assigned(input, &keyed, relations)?;
    let (start, end) = (Expr::Column(start), Expr::Column(end));
    let mut groups = vec![start.clone(), end.clone()];
    for expr in &group_expr {
        let expr = replace(expr.clone(), window, &start, &end)?;
        if !is_struct_of(&expr, &start, &end) && !groups.contains(&expr) {
            groups.push(expr);
        }
    }
    let names = NamePreserver::new_for_projection();
    let aggregates = aggr_expr
        .into_iter()
        .map(|expr| {
            let name = names.save(&expr);
            replace(expr, window, &start, &end).map(|expr| name.restore(expr))
        })
        .collect::<DataFusionResult<Vec<_>>>()?;
    let new = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(plan), groups.clone(), aggregates)?);
    // Above it, every field as it was before.
    let new_columns = new.schema().columns();
    let column_of = |expr: &Expr| {
        let position = groups
            .iter()
            .position(|group| group == expr)
            .expect("every group was put there");
        Expr::Column(new_columns[position].clone())
    };
    let mut exprs = Vec::with_capacity(schema.fields().len());
    for (i, (qualifier, field)) in schema.iter().enumerate() {
        let expr = match group_expr.get(i) {
            Some(group) => {
                let group = replace(group.clone(), window, &start, &end)?;
                if is_struct_of(&group, &start, &end) {
                    replace(window.clone(), window, &column_of(&start), &column_of(&end))?
                } else {
                    column_of(&group)
                }
            }
            None => Expr::Column(new_columns[groups.len() + i - group_expr.len()].clone()),
        };
        let is_same =
            matches!(&expr, Expr::Column(c) if c.relation.as_ref() == qualifier && c.name == *field.name());
        exprs.push(if is_same {
            expr
        } else {
            expr.alias_qualified(qualifier.cloned(), field.name())
        });
    }
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(new),
    )?))
}

fn mentions(expr: &Expr, call: &Expr) -> bool {
    expr.exists(|expr| Ok(expr == call)).unwrap_or(false)
}

fn is_struct_of(expr: &Expr, start: &Expr, end: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(f)
        if f.func.name() == "named_struct" && f.args.len() == 4 && f.args[1] == *start && f.args[3] == *end)
}
