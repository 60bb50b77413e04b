//! Deduplication of rows that are only added: the first row of a key goes on, at once and for good.
//!
//! What becomes of it depends on the spelling. `dedup(t, k, within)` is the first row to come. `DISTINCT` over columns with
//! an event time, and in append mode `DISTINCT ON` with one among its keys and no order, forget a key when its time is
//! below the watermark.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchemaRef, ScalarValue};
use datafusion::logical_expr::logical_plan::DistinctOn;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use millpond_catalog::OutputMode;

use crate::dataflow::{Distribution, Edge, NodeKind, Notice, Properties};
use crate::error::Result;
use crate::lower::Lowering;
use crate::lower::join_times::duration;
use crate::lower::relation::plain_column;
use crate::lower::stream::{self, Stream};
use crate::operator::spec::{DedupSpec, OperatorSpec};

/// The call that stands among the keys of a DISTINCT ON which `dedup(..)` was: how long duplicates may come after the
/// first row, if that was said.
pub const DEDUP_WITHIN: &str = "dedup_within";

impl Lowering<'_> {
    /// `DISTINCT`, or `GROUP BY` without an aggregate, over an event time; `None` where it is a group like any other.
    pub(super) fn distinct_over_time(
        &mut self,
        input: &LogicalPlan,
        keys: &[Expr],
        schema: &DFSchemaRef,
    ) -> Result<Option<Stream>> {
        let is_time = |key: &Expr| {
            let data_type = key.get_type(input.schema());
            matches!(key, Expr::Column(_)) && matches!(data_type, Ok(DataType::Timestamp(..)))
        };
        if !keys.iter().any(is_time) || self.options.output_mode == OutputMode::Complete {
            return Ok(None);
        }
        let (nodes, inputs) = (self.nodes.len(), self.inputs.len());
        let stream = self.lower_below(input)?;
        let time = event_time_among(&stream, keys)?;
        if let (Some(time), true) = (time, stream.append_only) {
            let first = self.first_of_keys(stream, keys, Some((time, 0)))?;
            return self.project(first, keys, schema).map(Some);
        }
        self.nodes.truncate(nodes);
        self.inputs.truncate(inputs);
        Ok(None)
    }

    /// A DISTINCT ON that hands a row on when it first comes; `None` for one that follows the order of its rows.
    pub(super) fn dedup(&mut self, distinct: &DistinctOn) -> Result<Option<Stream>> {
        let within = distinct.on_expr.iter().find_map(within);
        let is_dedup = within.is_some();
        let unordered = distinct.sort_expr.as_ref().is_none_or(Vec::is_empty);
        if !(is_dedup || unordered && self.is_final_here()) {
            return Ok(None);
        }
        let (nodes, inputs) = (self.nodes.len(), self.inputs.len());
        let stream = self.lower_below(&distinct.input)?;
        let keys: Vec<Expr> = { distinct.on_expr.iter() }
            .filter(|expr| self::within(expr).is_none() && !matches!(expr, Expr::Literal(..)))
            .cloned()
            .collect();
        let follows = self.options.output_mode != OutputMode::Complete;
        let time = match within {
            Some(within) => stream::event_time(&stream.times)
                .map(|time| (time, within.unwrap_or_else(|| self.delay_of(&stream, time)))),
            None => event_time_among(&stream, &keys)?.map(|time| (time, 0)),
        };
        let time = time.filter(|_| follows);
        if !stream.append_only || (!is_dedup && time.is_none()) {
            self.nodes.truncate(nodes);
            self.inputs.truncate(inputs);
            return Ok(None);
        }
        let first = self.first_of_keys(stream, &keys, time)?;
        self.project(first, &distinct.select_expr, &distinct.schema)
            .map(Some)
    }

    /// The greatest delay of the watermarks that bound a time.
    fn delay_of(&self, stream: &Stream, time: usize) -> i64 {
        let bound = stream.times[time].map(|time| self.bounds.get(time.bound));
        let inputs = bound.into_iter().flat_map(|bound| bound.inputs());
        let delays = inputs.filter_map(|input| Some(self.inputs[input].event_time.as_ref()?.delay_us));
        delays.max().unwrap_or(0)
    }

    /// The operator over the keys. `time`: an event time and how long after the first row duplicates come.
    fn first_of_keys(&mut self, stream: Stream, keys: &[Expr], time: Option<(usize, i64)>) -> Result<Stream> {
        let logical = Arc::clone(&stream.schema);
        let side = self.with_keys(stream, keys)?;
        let times = side.stream.times.clone();
        let bound = time
            .and_then(|(time, _)| times[time])
            .map(|time| self.bounds.as_event(time));
        let spec = DedupSpec {
            input: Arc::clone(&side.stream.real),
            keys: side.keys.clone(),
            time: time.map(|(time, _)| time),
            within_us: time.map_or(0, |(_, within)| within),
        };
        let kept = match bound {
            Some(bound) => {
                let input = |input: usize| self.inputs[input].name.clone();
                let forgotten = self.bounds.get(bound).lagging(spec.within_us);
                format!(
                    "the first row of each key, while its time is >= {}",
                    forgotten.describe(&input)
                )
            }
            None => "the first row of each key, for ever".to_owned(),
        };
        let notice = bound.is_none().then(|| Notice {
            message: "every key is remembered for ever: no watermark says when its duplicates stop coming"
                .to_owned(),
            hint: "Declare a WATERMARK on a time of the stream.".to_owned(),
        });
        let properties = Properties {
            append_only: true,
            bounds: bound
                .iter()
                .map(|bound| self.bounds.get(*bound).clone())
                .collect(),
            state_bound: Some(kept),
            notice,
            ..Properties::default()
        };
        let edge = Edge {
            from: side.stream.node,
            distribution: match side.keys.is_empty() {
                true => Distribution::Single,
                false => Distribution::Hash(side.keys),
            },
        };
        let schema = Arc::clone(&side.stream.schema);
        let kind = NodeKind::Operator(OperatorSpec::Dedup(spec));
        let node = self.add(kind, vec![edge], Arc::clone(schema.inner()), properties);
        let stream = Stream::of_node(node, &schema, times, true);
        let columns: Vec<Expr> = logical.columns().into_iter().map(Expr::Column).collect();
        self.project(stream, &columns, &logical)
    }
}

/// The first of the keys that is an event time, by its position in the stream.
fn event_time_among(stream: &Stream, keys: &[Expr]) -> Result<Option<usize>> {
    for key in keys {
        if let Some(column) = plain_column(key) {
            let position = stream.schema.index_of_column(&column)?;
            if stream.times[position].is_some_and(|time| !time.is_window()) {
                return Ok(Some(position));
            }
        }
    }
    Ok(None)
}

/// What the call says, if the expression is one: `Some(None)` where no time is given.
fn within(expr: &Expr) -> Option<Option<i64>> {
    match expr.clone().unalias() {
        Expr::ScalarFunction(call) if call.name() == DEDUP_WITHIN => Some(match call.args.first() {
            Some(Expr::Literal(value, _)) if *value != ScalarValue::Null => {
                duration(value).map(|(_, most)| most)
            }
            Some(_) | None => None,
        }),
        _ => None,
    }
}
