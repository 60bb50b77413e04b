//! `FROM t WATERMARK ts DELAY OF INTERVAL ..`: an event time and a delay of the query's own, whatever the relation declares.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use crate::error::{Error, ErrorKind};
use crate::relations::Relations;

use super::{check_time, external, interval, relation_of, time_column};

/// `FROM t WATERMARK ts DELAY OF ..`: the relation with another event time or delay for this query.
pub fn plan(
    arguments: Vec<FunctionArg>,
    context: &mut dyn RelationPlannerContext,
) -> DataFusionResult<LogicalPlan> {
    let usage = || {
        Error::new(
            ErrorKind::UndefinedFunction,
            "a watermark needs a relation, a column and a delay",
        )
        .with_hint("Write FROM t WATERMARK ts DELAY OF INTERVAL '10 minutes'.")
    };
    let exprs = arguments.into_iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
        _ => Err(external(usage())),
    });
    let exprs: Vec<ast::Expr> = exprs.collect::<DataFusionResult<_>>()?;
    let Ok([relation, time, delay]) = <[ast::Expr; 3]>::try_from(exprs) else {
        return Err(external(usage()));
    };
    let input = context.plan(relation_of(relation).map_err(external)?)?;
    let time = context.sql_to_expr(time_column(time), input.schema())?;
    check_time(&time, input.schema(), "a watermark").map_err(external)?;
    let delay = context.sql_to_expr(delay, &DFSchema::empty())?;
    let delay_us = interval::of_expr(&delay, "delay").map_err(external)?;
    if delay_us < 0 {
        return Err(external(Error::invalid(
            "the delay of a watermark must not be negative",
        )));
    }
    let (LogicalPlan::TableScan(scan), Expr::Column(column)) = (&input, &time) else {
        return Err(external(
            Error::unsupported("WATERMARK .. DELAY OF stands behind the name of a table, stream or source")
                .with_hint("Write it within the subquery or view."),
        ));
    };
    let position = input.schema().index_of_column(column)?;
    let source = Arc::new(DelayedSource {
        source: Arc::clone(&scan.source),
        column: position,
        delay_us,
    });
    LogicalPlanBuilder::scan(scan.table_name.clone(), source, None)?.build()
}

/// A relation with a watermark of the query's own, until the engine's source takes its place.
pub struct DelayedSource {
    pub source: Arc<dyn TableSource>,
    pub column: usize,
    pub delay_us: i64,
}

impl TableSource for DelayedSource {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }
}

/// Hands the watermarks of the query to whom they are for.
pub fn set_watermarks(plan: LogicalPlan, relations: &dyn Relations) -> DataFusionResult<LogicalPlan> {
    let set = |node: LogicalPlan| {
        let LogicalPlan::TableScan(mut scan) = node else {
            return Ok(Transformed::no(node));
        };
        let Some(delayed) = scan.source.downcast_ref::<DelayedSource>() else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        scan.source = relations.with_watermark(&delayed.source, delayed.column, delayed.delay_us);
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    };
    Ok(plan.transform_up_with_subqueries(set)?.data)
}
