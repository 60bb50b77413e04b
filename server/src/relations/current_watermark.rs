//! `current_watermark([time])` in a one-off query: the watermark of a view that is read, by which its own readers go, as it is
//! now. NULL over what has none.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, TableScan, lit};
use datafusion::scalar::ScalarValue;
use millpond_engine::engine::Engine;
use millpond_engine::logical::RelationSource;
use millpond_sql::function::CurrentWatermark;

/// Puts the watermarks in the places of the calls.
pub fn fill(plan: LogicalPlan, engine: &Engine) -> Result<LogicalPlan> {
    let filled = plan.transform_up_with_subqueries(|node| {
        let inputs: Vec<LogicalPlan> = node.inputs().into_iter().cloned().collect();
        node.map_expressions(|expr| {
            expr.transform_up(|expr| match &expr {
                Expr::ScalarFunction(call) if call.name() == CurrentWatermark::NAME => {
                    let us = match call.args.first() {
                        Some(Expr::Column(time)) => of_column(&inputs, time, engine),
                        Some(_) => None,
                        None => of_only_time(&inputs, engine)?,
                    };
                    let data_type = match (call.args.first(), inputs.first()) {
                        (Some(time), Some(input)) => time.get_type(input.schema())?,
                        _ => call.func.return_type(&[])?,
                    };
                    let zone = match data_type {
                        DataType::Timestamp(_, zone) => zone,
                        _ => None,
                    };
                    Ok(Transformed::yes(lit(ScalarValue::TimestampMicrosecond(us, zone))))
                }
                _ => Ok(Transformed::no(expr)),
            })
        })
    })?;
    Ok(filled.data)
}

/// The watermark of a column that comes from a view as it is.
fn of_column(inputs: &[LogicalPlan], column: &Column, engine: &Engine) -> Option<i64> {
    inputs.iter().find_map(|input| {
        let position = input.schema().maybe_index_of_column(column)?;
        match input {
            LogicalPlan::TableScan(scan) => of_scanned(scan, position, engine),
            LogicalPlan::Projection(projection) => match projection.expr[position].clone().unalias() {
                Expr::Column(below) => of_column(&[projection.input.as_ref().clone()], &below, engine),
                _ => None,
            },
            LogicalPlan::SubqueryAlias(alias) => {
                let (qualifier, field) = alias.input.schema().qualified_field(position);
                let below = Column::new(qualifier.cloned(), field.name());
                of_column(&[alias.input.as_ref().clone()], &below, engine)
            }
            LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::Join(_) => {
                let below: Vec<LogicalPlan> = input.inputs().into_iter().cloned().collect();
                of_column(&below, column, engine)
            }
            _ => None,
        }
    })
}

fn of_scanned(scan: &TableScan, position: usize, engine: &Engine) -> Option<i64> {
    let relation = scan.source.downcast_ref::<RelationSource>()?;
    let position = scan
        .projection
        .as_ref()
        .map_or(position, |columns| columns[position]);
    let time = relation.times.iter().find(|time| time.column == position)?;
    Some(engine.watermark(relation.object)?.saturating_sub(time.lag_us))
}

/// That of the only time with a watermark that is read.
fn of_only_time(inputs: &[LogicalPlan], engine: &Engine) -> Result<Option<i64>> {
    let mut found = Vec::new();
    for input in inputs {
        input.apply(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Some(relation) = scan.source.downcast_ref::<RelationSource>()
                && let [time] = relation.times.as_slice()
            {
                let watermark = engine.watermark(relation.object);
                found.push(watermark.map(|watermark| watermark.saturating_sub(time.lag_us)));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(match found.as_slice() {
        [watermark] => *watermark,
        _ => None,
    })
}
