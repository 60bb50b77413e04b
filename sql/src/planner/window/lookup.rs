//! `JOIN t FOR SYSTEM_TIME AS OF s.proctime`: each row of the left side meets what t holds when it comes.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, TableSource};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use crate::error::{Error, ErrorKind};
use crate::function::Marker;
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
    let plan = plan
        .transform_up_with_subqueries(|node| as_of_event_time(node, relations))?
        .data;
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

/// A join with the version of an event time: with the nearest row at or before it, by the event time that the relation
/// declares.
fn as_of_event_time(
    node: LogicalPlan,
    relations: &dyn Relations,
) -> DataFusionResult<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(mut join) = node else {
        return Ok(Transformed::no(node));
    };
    let Some(time) = looked_up(&join.right) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let left = position_of(&join.left, &time).filter(|left| !is_processing_time(&join.left, *left));
    let event_time = scanned(&join.right).and_then(|lookup| {
        let position = relations.event_time(&lookup.source)?;
        Some(lookup.source.schema().field(position).name().clone())
    });
    let named = |schema: &DFSchema, position: usize| {
        let (qualifier, field) = schema.qualified_field(position);
        Expr::Column(Column::new(qualifier.cloned(), field.name()))
    };
    let right = event_time.and_then(|name| {
        let mut fields = join.right.schema().fields().iter();
        fields.position(|field| *field.name() == name)
    });
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let at_or_before = named(join.left.schema(), left).gt_eq(named(join.right.schema(), right));
    let nearest = ScalarUDF::new_from_impl(Marker::asof_join()).call(vec![at_or_before]);
    join.filter = Some(match join.filter {
        Some(filter) => filter.and(nearest),
        None => nearest,
    });
    // It is read like any other.
    let plain = |node: LogicalPlan| {
        let LogicalPlan::TableScan(mut scan) = node else {
            return Ok(Transformed::no(node));
        };
        let Some(lookup) = scan.source.downcast_ref::<LookupSource>() else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        scan.source = Arc::clone(&lookup.source);
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    };
    join.right = Arc::new(join.right.as_ref().clone().transform_up(plain)?.data);
    Ok(Transformed::yes(LogicalPlan::Join(join)))
}

fn scanned(side: &LogicalPlan) -> Option<&LookupSource> {
    match side {
        LogicalPlan::SubqueryAlias(alias) => scanned(&alias.input),
        LogicalPlan::TableScan(scan) => scan.source.downcast_ref::<LookupSource>(),
        _ => None,
    }
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
    match position_of(left, time) {
        Some(position) if is_processing_time(left, position) => Ok(()),
        Some(_) => Err(external(
            Error::unsupported(format!(
                "FOR SYSTEM_TIME AS OF {time} is not supported: it is not the processing time"
            ))
            .with_detail(
                "A row meets what the table holds when it comes, unless the rows of the table are versions with an event time.",
            )
            .with_hint("Write FOR SYSTEM_TIME AS OF proctime(), or declare WATERMARK FOR the time of a version."),
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

/// Where the left side has the time that was written.
fn position_of(left: &LogicalPlan, time: &str) -> Option<usize> {
    let column = match time.rsplit_once('.') {
        Some((relation, name)) => Column::new(Some(relation), name),
        None => Column::new_unqualified(time),
    };
    left.schema().maybe_index_of_column(&column).or_else(|| {
        let fields = left.schema().fields().iter();
        fields
            .into_iter()
            .position(|field| column.relation.is_none() && *field.name() == column.name)
    })
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
