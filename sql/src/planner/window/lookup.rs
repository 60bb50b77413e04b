//! `JOIN t FOR SYSTEM_TIME AS OF s.proctime`: each row of the left side meets what t holds when it comes.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use crate::error::{Error, ErrorKind};
use crate::relations::Relations;

use super::{external, is_clock, relation_of};

/// `lookup(t, 's.proctime')`.
pub fn plan(
    arguments: Vec<FunctionArg>,
    context: &mut dyn RelationPlannerContext,
) -> DataFusionResult<LogicalPlan> {
    let usage = || {
        external(
            Error::new(
                ErrorKind::UndefinedFunction,
                "a lookup needs a relation and a time",
            )
            .with_hint("Write FROM s JOIN t FOR SYSTEM_TIME AS OF proctime() ON s.k = t.k."),
        )
    };
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(relation)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Value(time))),
    ] = arguments.as_slice()
    else {
        return Err(usage());
    };
    let time = time.value.clone().into_string().ok_or_else(usage)?;
    let input = context.plan(relation_of(relation.clone()).map_err(external)?)?;
    let LogicalPlan::TableScan(scan) = &input else {
        return Err(external(
            Error::unsupported(
                "FOR SYSTEM_TIME AS OF stands behind the name of a table, stream or streaming view",
            )
            .with_hint("Make the subquery a streaming view."),
        ));
    };
    let source = Arc::new(LookupSource {
        source: Arc::clone(&scan.source),
        time,
    });
    LogicalPlanBuilder::scan(scan.table_name.clone(), source, None)?.build()
}

/// A relation that is looked up, until the engine's source takes its place.
struct LookupSource {
    source: Arc<dyn TableSource>,
    /// As it was written.
    time: String,
}

impl TableSource for LookupSource {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }
}

/// Checks that the times are processing times, and hands the lookups to whom they are for.
///
/// # Errors
/// A time that is an event time or no time of the left side; a lookup that is not the right side of a join.
pub fn set_lookups(plan: LogicalPlan, relations: &dyn Relations) -> DataFusionResult<LogicalPlan> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node
            && let Some(time) = looked_up(&join.right)
        {
            check_time(&join.left, &time)?;
        }
        found |= looked_up(node).is_some();
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !found {
        return Ok(plan);
    }
    let set = |node: LogicalPlan| {
        let LogicalPlan::TableScan(mut scan) = node else {
            return Ok(Transformed::no(node));
        };
        let Some(lookup) = scan.source.downcast_ref::<LookupSource>() else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        scan.source = relations.looked_up(&lookup.source);
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    };
    Ok(plan.transform_up_with_subqueries(set)?.data)
}

/// The time by which a side of a join is looked up, if it is.
fn looked_up(side: &LogicalPlan) -> Option<String> {
    match side {
        LogicalPlan::SubqueryAlias(alias) => looked_up(&alias.input),
        LogicalPlan::TableScan(scan) => {
            let lookup = scan.source.downcast_ref::<LookupSource>()?;
            Some(lookup.time.clone())
        }
        _ => None,
    }
}

fn check_time(left: &LogicalPlan, time: &str) -> DataFusionResult<()> {
    let functions = ["proctime()", "now()", "current_timestamp", "localtimestamp"];
    if functions.contains(&time) {
        return Ok(());
    }
    let column = match time.rsplit_once('.') {
        Some((relation, name)) => Column::new(Some(relation), name),
        None => Column::new_unqualified(time),
    };
    let position = left.schema().maybe_index_of_column(&column).or_else(|| {
        let fields = left.schema().fields().iter();
        fields
            .into_iter()
            .position(|field| column.relation.is_none() && *field.name() == column.name)
    });
    match position {
        Some(position) if is_processing_time(left, position) => Ok(()),
        Some(_) => Err(external(
            Error::unsupported(format!(
                "FOR SYSTEM_TIME AS OF {time} is not supported: it is not the processing time"
            ))
            .with_detail(
                "A row meets what the table holds when it comes; versions of an earlier time are not kept.",
            )
            .with_hint("Write FOR SYSTEM_TIME AS OF proctime()."),
        )),
        None => Err(external(
            Error::new(
                ErrorKind::UndefinedColumn,
                format!("column {time} does not exist on the left side of the join"),
            )
            .with_hint("Write FOR SYSTEM_TIME AS OF proctime()."),
        )),
    }
}

/// The column is `proctime()` and nothing else.
fn is_processing_time(plan: &LogicalPlan, column: usize) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => match projection.expr[column].clone().unalias() {
            Expr::Column(below) => {
                let below = projection.input.schema().maybe_index_of_column(&below);
                below.is_some_and(|below| is_processing_time(&projection.input, below))
            }
            expr => is_clock(&expr),
        },
        LogicalPlan::SubqueryAlias(alias) => is_processing_time(&alias.input, column),
        LogicalPlan::Filter(filter) => is_processing_time(&filter.input, column),
        LogicalPlan::Join(join) => {
            let width = join.left.schema().fields().len();
            match column < width {
                true => is_processing_time(&join.left, column),
                false => is_processing_time(&join.right, column - width),
            }
        }
        _ => false,
    }
}
