//! Intervals are ordered, grouped and compared by their length: `1 month`, `30 days` and `720:00:00` are one key, of which
//! one is shown. The library compares field by field.
//!
//! Orders and partitions go by the length of the interval. A group does, too, and the aggregation picks one of the equal
//! intervals to show. `min` and `max` are the first of the intervals in order.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunction, Alias, Case, InList, Sort as SortExpr};
use datafusion::logical_expr::logical_plan::{Aggregate, Distinct, Projection};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{AggregateUDF, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use crate::function::IntervalKey;

use super::provider::Provider;
use super::typed::change_node;

struct Functions {
    min: Arc<AggregateUDF>,
    first_value: Arc<AggregateUDF>,
}

/// Makes everything that compares intervals go by their length.
pub fn by_length(plan: LogicalPlan, provider: &Provider<'_>) -> Result<LogicalPlan> {
    let functions = Functions {
        min: provider.aggregate("min")?,
        first_value: provider.aggregate("first_value")?,
    };
    plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let node = expressions(node, &schema, &functions)?;
        Ok(match node {
            LogicalPlan::Sort(mut sort) => {
                let changed = order_by_length(&mut sort.expr, &schema);
                Transformed::new_transformed(LogicalPlan::Sort(sort), changed)
            }
            LogicalPlan::Aggregate(aggregate) if groups_intervals(&aggregate.group_expr, &schema) => {
                Transformed::yes(grouped(aggregate, &schema, &functions)?)
            }
            LogicalPlan::Distinct(Distinct::All(input)) if has_intervals(input.schema()) => {
                let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
                let groups = Aggregate::try_new(input, columns, Vec::new())?;
                Transformed::yes(grouped(groups, &schema, &functions)?)
            }
            node => Transformed::yes(node),
        })
    })
    .map(|transformed| transformed.data)
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn has_intervals(schema: &DFSchema) -> bool {
    schema
        .fields()
        .iter()
        .any(|field| matches!(field.data_type(), DataType::Interval(_)))
}

fn groups_intervals(keys: &[Expr], schema: &DFSchema) -> bool {
    keys.iter().any(|key| is_interval(key, schema))
        && !keys.iter().any(|key| matches!(key, Expr::GroupingSet(_)))
}

fn order_by_length(order: &mut [SortExpr], schema: &DFSchema) -> bool {
    let mut changed = false;
    for key in order {
        if is_interval(&key.expr, schema) {
            key.expr = IntervalKey::of(key.expr.clone());
            changed = true;
        }
    }
    changed
}

/// Groups by length, and a projection that gives the columns their names back.
fn grouped(aggregate: Aggregate, schema: &DFSchema, functions: &Functions) -> Result<LogicalPlan> {
    let names: Vec<_> = aggregate
        .schema
        .iter()
        .map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()))
        .collect();
    let keys = aggregate.group_expr.len();
    let (mut groups, mut calls, mut shown) = (Vec::new(), aggregate.aggr_expr.clone(), Vec::new());
    for (position, key) in aggregate.group_expr.into_iter().enumerate() {
        if is_interval(&key, schema) {
            let plain = key.clone().unalias();
            groups.push(IntervalKey::of(plain.clone()).alias(format!("__length_{position}")));
            shown.push(Some(calls.len()));
            let any = AggregateFunction::new_udf(
                Arc::clone(&functions.min),
                vec![plain],
                false,
                None,
                Vec::new(),
                None,
            );
            calls.push(Expr::AggregateFunction(any).alias(format!("__interval_{position}")));
        } else {
            groups.push(key);
            shown.push(None);
        }
    }
    let below = Arc::new(LogicalPlan::Aggregate(Aggregate::try_new(
        aggregate.input,
        groups,
        calls,
    )?));
    let columns = below.schema().columns();
    let exprs = names.into_iter().enumerate().map(|(i, (qualifier, name))| {
        let position = shown.get(i).copied().flatten().map_or(i, |call| keys + call);
        Expr::Alias(Alias::new(
            Expr::Column(columns[position].clone()),
            qualifier,
            name,
        ))
    });
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs.collect(),
        below,
    )?))
}

fn expressions(node: LogicalPlan, schema: &DFSchema, functions: &Functions) -> Result<LogicalPlan> {
    let changed = change_node(node, &mut |expr| Ok(expression(expr, schema, functions)))?;
    Ok(changed.data)
}

fn compares(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(
        op,
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

fn compare(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(
        Box::new(IntervalKey::of(left)),
        op,
        Box::new(IntervalKey::of(right)),
    ))
}

fn expression(expr: Expr, schema: &DFSchema, functions: &Functions) -> Transformed<Expr> {
    let interval = |expr: &Expr| is_interval(expr, schema);
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(op) => {
            if interval(&left) && interval(&right) {
                return Transformed::yes(compare(*left, op, *right));
            }
            Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::Between(mut between) if interval(&between.expr) => {
            for part in [&mut between.expr, &mut between.low, &mut between.high] {
                **part = IntervalKey::of(part.as_ref().clone());
            }
            Transformed::yes(Expr::Between(between))
        }
        Expr::InList(InList { expr, list, negated }) if interval(&expr) => {
            Transformed::yes(Expr::InList(InList {
                expr: Box::new(IntervalKey::of(*expr)),
                list: list.into_iter().map(IntervalKey::of).collect(),
                negated,
            }))
        }
        Expr::Case(Case {
            expr: Some(operand),
            when_then_expr,
            else_expr,
        }) if interval(&operand) => {
            let branches = when_then_expr.into_iter().map(|(when, then)| {
                (
                    Box::new(compare(operand.as_ref().clone(), Operator::Eq, *when)),
                    then,
                )
            });
            Transformed::yes(Expr::Case(Case::new(None, branches.collect(), else_expr)))
        }
        Expr::ScalarFunction(call) if call.args.first().is_some_and(interval) => match call.func.name() {
            "nullif" | "greatest" | "least" => Transformed::yes(chosen(call.func.name(), call.args)),
            _ => Transformed::no(Expr::ScalarFunction(call)),
        },
        Expr::AggregateFunction(call) => aggregate(call, schema, functions),
        Expr::WindowFunction(mut window) => {
            let mut changed = order_by_length(&mut window.params.order_by, schema);
            for key in &mut window.params.partition_by {
                if interval(key) {
                    *key = IntervalKey::of(key.clone());
                    changed = true;
                }
            }
            Transformed::new(Expr::WindowFunction(window), changed, TreeNodeRecursion::Continue)
        }
        other => Transformed::no(other),
    }
}

/// `nullif`, `greatest` and `least` in terms of comparisons. NULLs are passed over by the latter two.
fn chosen(name: &str, arguments: Vec<Expr>) -> Expr {
    let null = || Expr::Literal(ScalarValue::IntervalMonthDayNano(None), None);
    let case = |branches: Vec<(Expr, Expr)>, otherwise: Expr| {
        let branches = branches
            .into_iter()
            .map(|(when, then)| (Box::new(when), Box::new(then)));
        Expr::Case(Case::new(None, branches.collect(), Some(Box::new(otherwise))))
    };
    let operator = match name {
        "nullif" => Operator::Eq,
        "greatest" => Operator::GtEq,
        _ => Operator::LtEq,
    };
    let pick = |left: Expr, right: Expr| {
        let first = compare(left.clone(), operator, right.clone());
        if name == "nullif" {
            return case(vec![(first, null())], left);
        }
        case(vec![(first.or(right.clone().is_null()), left)], right)
    };
    arguments.into_iter().reduce(pick).unwrap_or_else(null)
}

fn aggregate(mut call: AggregateFunction, schema: &DFSchema, functions: &Functions) -> Transformed<Expr> {
    let mut changed = order_by_length(&mut call.params.order_by, schema);
    let of_interval = call
        .params
        .args
        .first()
        .is_some_and(|argument| is_interval(argument, schema));
    match call.func.name() {
        "count" if of_interval && call.params.distinct && call.params.args.len() == 1 => {
            call.params.args = vec![IntervalKey::of(call.params.args[0].clone())];
            changed = true;
        }
        name @ ("min" | "max") if of_interval => {
            let length = IntervalKey::of(call.params.args[0].clone());
            call.params.order_by = vec![length.sort(name == "min", false)];
            call.params.distinct = false;
            call.func = Arc::clone(&functions.first_value);
            changed = true;
        }
        _ => {}
    }
    Transformed::new(
        Expr::AggregateFunction(call),
        changed,
        TreeNodeRecursion::Continue,
    )
}
