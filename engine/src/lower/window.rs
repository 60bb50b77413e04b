//! Window functions (OVER): rows are kept per partition, and a partition that an epoch touches is computed anew.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::Window;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use itertools::Itertools;

use crate::error::{Error, Result};
use crate::lower::Lowering;
use crate::lower::relation::plain_column;
use crate::lower::slot::{Closing, Recomputed, Slot, column};
use crate::lower::stream::{Stream, Time};
use crate::oneoff::slot;
use crate::operator::recompute::spec::Computation;

impl Lowering<'_> {
    pub(super) fn window(&mut self, window: &Window) -> Result<Stream> {
        let levels = levels(window);
        let input = &levels.last().expect("at least the window itself").input;
        let stream = self.lower_below(input)?;
        // The lowest level comes first, as its columns do.
        let calls: Vec<&Expr> = levels.iter().rev().flat_map(|level| &level.window_expr).collect();
        let calls = calls.into_iter().map(call).collect::<Result<Vec<_>>>()?;
        let partition = partition(&calls);
        let mut slot = Slot::new();
        let sources = sources(&stream, &mut slot, &levels)?;
        let closing = self.closing_key(&stream, &mut slot, &partition)?;
        self.check_append_groups("a window function (OVER)", closing)?;
        let keys = partition
            .iter()
            .map(|expr| slot.column(&stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let plan = plan(&stream, &mut slot, &levels, &sources)?;
        let times = self.times_after(&stream, &window.schema, closing, &partition)?;
        let description = calls.iter().map(describe).join("; ");
        let output = schema_after(window);
        let recomputed = Recomputed {
            keys,
            order: Vec::new(),
            computation: Computation::Plan {
                plan: Box::new(plan),
                of_nothing: false,
            },
            output,
            description,
            key: None,
        };
        let append_only = closing.is_some() && self.is_final_here();
        let node = self.recompute(stream, slot, recomputed, closing)?;
        Ok(Stream::of_node(node, &window.schema, times, append_only))
    }
}

/// The window nodes that one operator can serve, the highest first: those below that share a part of the partition key,
/// and whose results are not read by those above.
fn levels(window: &Window) -> Vec<&Window> {
    let mut levels = vec![window];
    let mut shared = shared_partition(window);
    let mut lowest = window;
    while let LogicalPlan::Window(below) = through_columns(&lowest.input) {
        let kept: Vec<Expr> = shared
            .iter()
            .filter(|expr| shared_partition(below).contains(expr))
            .cloned()
            .collect();
        let inputs = below.input.schema();
        let reads_result = levels.iter().flat_map(|level| &level.window_expr).any(|expr| {
            expr.column_refs()
                .into_iter()
                .any(|column| !inputs.has_column(column))
        });
        if reads_result || (kept.is_empty() && !shared.is_empty()) {
            break;
        }
        if shared.is_empty() && !shared_partition(below).is_empty() {
            break;
        }
        shared = kept;
        levels.push(below);
        lowest = below;
    }
    levels
}

/// The plan below projections that only leave out columns.
fn through_columns(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Projection(projection)
            if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) =>
        {
            through_columns(&projection.input)
        }
        plan => plan,
    }
}

fn shared_partition(window: &Window) -> Vec<Expr> {
    let calls = window.window_expr.iter().filter_map(|expr| call(expr).ok());
    partition(&calls.collect::<Vec<_>>())
}

/// What all calls are partitioned by.
fn partition(calls: &[WindowFunction]) -> Vec<Expr> {
    let Some((first, others)) = calls.split_first() else {
        return Vec::new();
    };
    let in_all = |expr: &&Expr| {
        !matches!(expr, Expr::Literal(..))
            && others.iter().all(|call| call.params.partition_by.contains(expr))
    };
    first
        .params
        .partition_by
        .iter()
        .filter(in_all)
        .cloned()
        .unique()
        .collect()
}

pub(super) fn call(expr: &Expr) -> Result<WindowFunction> {
    match expr.clone().unalias() {
        Expr::WindowFunction(call) => Ok(*call),
        other => Err(Error::Bug(format!("{other} is no window function"))),
    }
}

fn describe(call: &WindowFunction) -> String {
    Expr::from(call.clone()).to_string()
}

/// Puts all columns of the logical node into the slot; where each is.
pub(super) fn pass_columns(stream: &Stream, slot: &mut Slot) -> Result<Vec<usize>> {
    let columns = stream.schema.columns().into_iter();
    columns
        .map(|column| slot.column(stream, &Expr::Column(column)))
        .collect()
}

/// The columns of the node; those of its calls may be NULL while their computation fails.
pub(super) fn schema_after(window: &Window) -> Arc<Schema> {
    let inherited = window.input.schema().fields().len();
    let fields = window.schema.fields().iter().enumerate().map(|(i, field)| {
        let nullable = field.is_nullable() || i >= inherited;
        field.as_ref().clone().with_nullable(nullable)
    });
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// Where a column of the result comes from.
enum Source {
    Slot(usize),
    /// A call, counted from the lowest level.
    Call(usize),
}

/// The source of each column of the highest level; those of the rows go into the slot.
fn sources(stream: &Stream, slot: &mut Slot, levels: &[&Window]) -> Result<Vec<Source>> {
    let results = levels.iter().rev().flat_map(|level| {
        let inherited = level.input.schema().fields().len();
        level.schema.columns().into_iter().skip(inherited)
    });
    let results: Vec<Column> = results.collect();
    let columns = levels[0].schema.columns().into_iter();
    columns
        .map(
            |column| match results.iter().position(|result| *result == column) {
                Some(call) => Ok(Source::Call(call)),
                None => Ok(Source::Slot(slot.column(stream, &Expr::Column(column))?)),
            },
        )
        .collect()
}

/// The calls over the slot, one node per level, and the columns in the order of the logical node.
fn plan(stream: &Stream, slot: &mut Slot, levels: &[&Window], sources: &[Source]) -> Result<LogicalPlan> {
    let mut rewritten: Vec<Vec<Expr>> = Vec::new();
    let mut results = 0;
    for level in levels.iter().rev() {
        let mut calls = Vec::new();
        for expr in &level.window_expr {
            let mut call = call(expr)?;
            let params = &mut call.params;
            params.args = slot.exprs(stream, std::mem::take(&mut params.args))?;
            params.partition_by = slot.exprs(stream, std::mem::take(&mut params.partition_by))?;
            params.order_by = slot.sorts(stream, std::mem::take(&mut params.order_by))?;
            if let Some(filter) = &mut params.filter {
                **filter = slot.expr(stream, filter)?;
            }
            calls.push(Expr::from(call).alias(result(results)));
            results += 1;
        }
        rewritten.push(calls);
    }
    let mut plan = LogicalPlanBuilder::from(self::slot(&slot.schema())?);
    for calls in rewritten {
        plan = plan.window(calls)?;
    }
    let columns = sources.iter().enumerate().map(|(i, source)| {
        let column = match source {
            Source::Slot(position) => column(*position),
            Source::Call(call) => Expr::Column(Column::new_unqualified(result(*call))),
        };
        column.alias(format!("o{i}"))
    });
    Ok(plan.project(columns)?.build()?)
}

fn result(position: usize) -> String {
    format!("r{position}")
}

impl Lowering<'_> {
    /// Rows of a window that is final do not change any more; nothing else is known of times after a node with `schema`.
    pub(super) fn times_after(
        &mut self,
        stream: &Stream,
        schema: &DFSchema,
        closing: Option<Closing>,
        partition: &[Expr],
    ) -> Result<Vec<Option<Time>>> {
        let mut times = vec![None; schema.fields().len()];
        for column in partition
            .iter()
            .filter_map(plain_column)
            .filter(|_| closing.is_some())
        {
            if let Some(position) = schema.maybe_index_of_column(&column) {
                let time = stream.times[stream.schema.index_of_column(&column)?];
                times[position] = time.filter(Time::is_window).map(|time| self.closed(time));
            }
        }
        Ok(times)
    }

    /// The time of a group's result: where it comes out when it is final, the watermark releases it.
    pub(super) fn closed(&mut self, time: Time) -> Time {
        if self.is_final_here() {
            self.bounds.released(time)
        } else {
            time
        }
    }
}
