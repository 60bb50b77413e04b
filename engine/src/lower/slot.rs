//! The input of an operator that computes results anew: the columns that its computation reads, no more.
//!
//! Expressions become columns before they reach the operator, so that a row on which one fails is set aside alone.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::Sort as SortExpr;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::expressions::{Column as PhysicalColumn, Literal};
use millpond_catalog::OutputMode;

use crate::bound::{Bound, TimeKind};
use crate::dataflow::{Distribution, Edge, NodeId, NodeKind, Properties};
use crate::error::{Error, Result};
use crate::lower::Lowering;
use crate::lower::aggregate_columns::InputColumns;
use crate::lower::relation::plain_column;
use crate::lower::stream::{BoundId, Stream};
use crate::oneoff::slot_column;
use crate::operator::recompute::Recompute;
use crate::operator::recompute::spec::{ClosingKey, Computation, OrderColumn, RecomputeSpec};
use crate::operator::spec::OperatorSpec;

/// Columns of a stream, in the order in which they were asked for.
pub(super) struct Slot {
    columns: InputColumns,
}

/// What an operator does with a slot.
pub(super) struct Recomputed {
    pub keys: Vec<usize>,
    pub order: Vec<OrderColumn>,
    pub computation: Computation,
    pub output: SchemaRef,
    pub description: String,
    /// Columns of the output that identify a row.
    pub key: Option<Vec<usize>>,
}

/// A key that closes groups, and what its time is bounded by.
#[derive(Clone, Copy)]
pub(super) struct Closing {
    key: ClosingKey,
    bound: BoundId,
}

impl Slot {
    pub fn new() -> Self {
        Self {
            columns: InputColumns {
                exprs: Vec::new(),
                fields: Vec::new(),
            },
        }
    }

    /// The position of the column that holds `expr`, a constant or not.
    pub fn column(&mut self, stream: &Stream, expr: &Expr) -> Result<usize> {
        self.columns.add_expr(stream, &expr.clone().unalias())
    }

    /// `expr` over the slot: a literal stays, anything else is a column.
    pub fn expr(&mut self, stream: &Stream, expr: &Expr) -> Result<Expr> {
        match expr.clone().unalias() {
            literal @ Expr::Literal(..) => Ok(literal),
            expr => Ok(column(self.column(stream, &expr)?)),
        }
    }

    pub fn exprs(&mut self, stream: &Stream, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.expr(stream, expr)).collect()
    }

    pub fn sorts(&mut self, stream: &Stream, sorts: Vec<SortExpr>) -> Result<Vec<SortExpr>> {
        let sorts = sorts.into_iter().map(|sort| {
            let expr = self.expr(stream, &sort.expr)?;
            Ok(SortExpr { expr, ..sort })
        });
        sorts.collect()
    }

    /// The columns of an ORDER BY; constants say nothing.
    pub fn order(&mut self, stream: &Stream, sorts: &[SortExpr]) -> Result<Vec<OrderColumn>> {
        let mut order: Vec<OrderColumn> = Vec::with_capacity(sorts.len());
        for sort in sorts {
            if matches!(sort.expr.clone().unalias(), Expr::Literal(..)) {
                continue;
            }
            let column = self.column(stream, &sort.expr)?;
            if order.iter().all(|other| other.column != column) {
                let options = arrow::compute::SortOptions {
                    descending: !sort.asc,
                    nulls_first: sort.nulls_first,
                };
                order.push(OrderColumn { column, options });
            }
        }
        Ok(order)
    }

    /// Columns so far, under the names of the query.
    pub fn schema(&mut self) -> Schema {
        if self.columns.exprs.is_empty() {
            // Nothing but the number of rows matters, which a column has to carry.
            let one = Arc::new(Literal::new(ScalarValue::Boolean(Some(true))));
            self.columns.add(one, Field::new("row", DataType::Boolean, false));
        }
        Schema::new(Fields::from(self.columns.fields.clone()))
    }
}

/// A column of the slot, for its plan.
pub(super) fn column(position: usize) -> Expr {
    Expr::Column(Column::new(Some("slot"), slot_column(position)))
}

impl Lowering<'_> {
    /// Adds the operator over the stream's rows, which have no pending window. `closing` is a column among the keys that
    /// tells when no more rows of its groups come.
    pub(super) fn recompute(
        &mut self,
        stream: Stream,
        mut slot: Slot,
        recomputed: Recomputed,
        closing: Option<Closing>,
    ) -> Result<NodeId> {
        let final_only = self.is_final_here();
        if closing.is_some() {
            self.check_not_revised(&recomputed.description)?;
        }
        let append_only = stream.append_only;
        let bounds: Vec<Bound> = closing
            .iter()
            .map(|closing| self.bounds.get(closing.bound).clone())
            .collect();
        let by_clock = bounds.iter().any(Bound::has_clock);
        if let Some(closing) = closing {
            self.drop_late_at_assignment(stream.node, closing.bound);
        }
        let closing = closing.map(|closing| closing.key);
        let schema = Arc::new(slot.schema());
        let input = self.slot_input(stream, slot, &schema)?;
        let mut keys = recomputed.keys;
        if let Some(closing) = closing {
            keys.retain(|key| *key != closing.column);
            keys.insert(0, closing.column);
        }
        let spec = Arc::new(RecomputeSpec {
            input: schema,
            keys,
            order: recomputed.order,
            closing,
            by_clock,
            computation: recomputed.computation,
            append_only,
            final_only,
            output: recomputed.output,
            fail_on_error: self.options.fail_on_error,
            description: recomputed.description,
        });
        // Fails for types that cannot be compared and plans that cannot run, now rather than when the view runs.
        Recompute::new(Arc::clone(&spec), "")?;
        let properties = Properties {
            append_only: final_only,
            key: recomputed.key,
            bounds,
            state_bound: Some(spec.state_bound()),
            ..Properties::default()
        };
        let distribution = match spec.keys.is_empty() {
            true => Distribution::Single,
            false => Distribution::Hash(spec.keys.clone()),
        };
        let edge = Edge {
            from: input,
            distribution,
        };
        let output = Arc::clone(&spec.output);
        let kind = NodeKind::Operator(OperatorSpec::Recompute(spec));
        Ok(self.add(kind, vec![edge], output, properties))
    }

    /// The node whose columns are those of the slot.
    fn slot_input(&mut self, mut stream: Stream, slot: Slot, schema: &SchemaRef) -> Result<NodeId> {
        let exprs = slot.columns.exprs;
        let is_identity = stream.steps.is_empty()
            && stream.real == *schema
            && exprs.iter().enumerate().all(|(i, expr)| {
                expr.downcast_ref::<PhysicalColumn>()
                    .is_some_and(|column| column.index() == i)
            });
        if is_identity {
            return Ok(stream.node);
        }
        stream.push_projection(exprs, Arc::clone(schema))?;
        // The logical columns are gone; what is left belongs to the operator.
        stream.columns.clear();
        stream.times.clear();
        stream.key = None;
        Ok(self.with_steps_as_node(stream)?.node)
    }

    /// The closing key among group expressions, if one bounds a window that a watermark makes final.
    pub(super) fn closing_key<'a>(
        &mut self,
        stream: &Stream,
        slot: &mut Slot,
        groups: impl IntoIterator<Item = &'a Expr>,
    ) -> Result<Option<Closing>> {
        if self.options.output_mode == OutputMode::Complete {
            return Ok(None);
        }
        for expr in groups {
            let Some(found) = plain_column(expr) else { continue };
            let Some(time) = stream.times[stream.schema.index_of_column(&found)?] else {
                continue;
            };
            let to_end = match time.kind {
                TimeKind::WindowStart { size } => size,
                TimeKind::WindowEnd { .. } => 0,
                TimeKind::Event => continue,
            };
            let column = slot.column(stream, expr)?;
            let key = ClosingKey { column, to_end };
            return Ok(Some(Closing {
                key,
                bound: self.forgotten_by(time.bound),
            }));
        }
        Ok(None)
    }

    /// The bound by which windows are forgotten that this one closes.
    pub(super) fn forgotten_by(&mut self, bound: BoundId) -> BoundId {
        let closes = self.bounds.get(bound);
        // Nothing comes late by the clock.
        if closes.has_clock() {
            return bound;
        }
        let kept = closes.lagging(self.options.allowed_lateness_us);
        self.bounds.id(kept)
    }

    /// Where windows come out once and may be revised later, only aggregations can do so.
    pub(super) fn check_not_revised(&self, what: &str) -> Result<()> {
        let is_append = self.options.output_mode == OutputMode::Append;
        if !is_append || self.options.allowed_lateness_us == 0 {
            return Ok(());
        }
        Err(Error::Unsupported {
            message: format!(
                "allowed_lateness in output_mode 'append' is for aggregates by tumble, hop and cumulate, not for {what}"
            ),
            hint: Some(
                "Use output_mode 'update' (EMIT CHANGES), or a watermark with a longer delay.".to_owned(),
            ),
        })
    }

    /// In append mode the last operator that changes its rows hands them over when their window is final.
    pub(super) fn check_append_groups(&self, what: &str, closing: Option<Closing>) -> Result<()> {
        if !self.is_final_here() || closing.is_some() {
            return Ok(());
        }
        Err(Error::Unsupported {
            message: format!(
                "output_mode 'append' needs rows that become final, but {what} can change with every new row unless it is \
                 computed per window of a column with a watermark"
            ),
            hint: Some("Use output_mode 'update' (EMIT CHANGES) to see results as they change.".to_owned()),
        })
    }

    /// The operator about to be added hands its rows over when they are final.
    pub(super) fn is_final_here(&self) -> bool {
        self.options.output_mode == OutputMode::Append && self.aggregates_above == 0
    }

    /// Lowers `input`, whose aggregations need not be final: an operator above it waits until they are.
    pub(super) fn lower_below(&mut self, input: &LogicalPlan) -> Result<Stream> {
        self.aggregates_above += 1;
        let stream = self.lower(input);
        self.aggregates_above -= 1;
        let stream = stream?;
        self.expand_windows(stream)
    }
}
