//! Aggregations with calls that have no incremental form: the rows of each group are kept, and a group that an epoch
//! touches is aggregated anew.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::Column;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use itertools::Itertools;

use crate::error::{Error, Result};
use crate::lower::Lowering;
use crate::lower::slot::{Recomputed, Slot, column};
use crate::lower::stream::Stream;
use crate::oneoff::slot;
use crate::operator::recompute::spec::Computation;

impl Lowering<'_> {
    /// The aggregation of a stream without pending window; that it suits the output mode was checked.
    pub(super) fn recompute_aggregate(&mut self, stream: Stream, aggregate: &Aggregate) -> Result<Stream> {
        let groups = grouping_set_to_exprlist(&aggregate.group_expr)?;
        let mut slot = Slot::new();
        let closing = self.closing_key(&stream, &mut slot, groups.iter().copied())?;
        let positions = groups
            .iter()
            .map(|expr| slot.column(&stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let keys: Vec<usize> = positions.iter().copied().unique().collect();
        let mut calls = Vec::with_capacity(aggregate.aggr_expr.len());
        for (i, expr) in aggregate.aggr_expr.iter().enumerate() {
            calls.push(rewritten(&stream, &mut slot, expr)?.alias(result(i)));
        }
        let results = calls.len();
        let plan = LogicalPlanBuilder::from(self::slot(&slot.schema())?)
            .aggregate(keys.iter().map(|key| column(*key)), calls)?
            .project(
                positions
                    .iter()
                    .enumerate()
                    .map(|(i, position)| column(*position).alias(format!("k{i}")))
                    .chain((0..results).map(|i| Expr::Column(Column::new_unqualified(result(i))))),
            )?
            .build()?;
        let fields = aggregate.schema.fields().iter().enumerate().map(|(i, field)| {
            let nullable = field.is_nullable() || i >= groups.len();
            field.as_ref().clone().with_nullable(nullable)
        });
        let output = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let times = groups
            .iter()
            .map(|expr| {
                let time = stream.time_of(expr)?;
                let time = time.filter(|time| closing.is_some() && time.is_window());
                Ok(time.map(|time| self.closed(time)))
            })
            .chain((0..results).map(|_| Ok(None)))
            .collect::<Result<Vec<_>>>()?;
        let key: Vec<usize> = (0..groups.len()).collect();
        let recomputed = Recomputed {
            keys,
            order: Vec::new(),
            computation: Computation::Plan {
                plan: Box::new(plan),
                of_nothing: groups.is_empty(),
            },
            output,
            description: aggregate.aggr_expr.iter().join("; "),
            key: Some(key.clone()),
        };
        let append_only = closing.is_some() && self.is_final_here();
        let node = self.recompute(stream, slot, recomputed, closing)?;
        let mut aggregated = Stream::of_node(node, &aggregate.schema, times, append_only);
        aggregated.key = Some(key);
        Ok(aggregated)
    }
}

/// The call over the slot.
fn rewritten(stream: &Stream, slot: &mut Slot, expr: &Expr) -> Result<Expr> {
    let Expr::AggregateFunction(AggregateFunction { func, mut params }) = expr.clone().unalias() else {
        return Err(Error::Bug(format!("{expr} is no aggregate")));
    };
    params.args = slot.exprs(stream, params.args)?;
    params.order_by = slot.sorts(stream, params.order_by)?;
    if let Some(filter) = &mut params.filter {
        **filter = slot.expr(stream, filter)?;
    }
    Ok(Expr::AggregateFunction(AggregateFunction { func, params }))
}

fn result(position: usize) -> String {
    format!("r{position}")
}
