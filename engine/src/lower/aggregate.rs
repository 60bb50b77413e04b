//! GROUP BY and DISTINCT: a partial phase, an exchange by group, and a final phase.
//!
//! A window that is part of the group key is not expanded into rows: the partial phase groups by slices of time. That
//! takes group keys that name the window, and arguments that do not.

use std::sync::Arc;

use arrow::datatypes::{Field, Fields, Schema, SchemaRef};
use datafusion::common::Column;
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::logical_expr::{Expr, lit};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::scalar::ScalarValue;
use itertools::Itertools;
use millpond_catalog::OutputMode;

use crate::bound::{Bound, TimeKind};
use crate::dataflow::{Distribution, Edge, NodeId, NodeKind, Properties};
use crate::error::{Error, Result};
use crate::logical::WindowAssign;
use crate::lower::Lowering;
use crate::lower::aggregate_call::{Call, call, tells_of_window};
use crate::lower::aggregate_columns::{InputColumns, output_columns, partial_schema, state_bound};
use crate::lower::join_times;
use crate::lower::stream::{BoundId, Stream, Time, local, physical, window_schema};
use crate::operator::accumulator::negated;
use crate::operator::spec::{
    AccumulatorSpec, AggregateOutput, AggregateSpec, MapStep, OperatorSpec, WindowKey, WindowSource,
};

/// The group keys of an aggregation, sorted by what they read.
pub(super) struct Keys {
    /// One per group expression.
    pub origins: Vec<KeyOrigin>,
    pub window: Option<KeyWindow>,
    /// Expressions over the rows, for the keys that are not the window.
    own: Vec<Expr>,
}

pub(super) enum KeyOrigin {
    /// An expression over `window_start` and `window_end`.
    Window(Expr),
    /// Position in [`Keys::own`].
    Own(usize),
}

pub(super) struct KeyWindow {
    time: WindowTime,
    source: WindowSource,
    /// Of the time, where it makes windows final.
    bound: Option<BoundId>,
    /// Predicates over the window, to be applied to the result.
    pub filters: Vec<Expr>,
    /// Type of the bounds.
    pub field: Field,
}

pub(super) enum WindowTime {
    /// Position in [`Stream::real`].
    Real(usize),
    /// An expression over the rows.
    Expr(Expr),
}

impl Lowering<'_> {
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> Result<Stream> {
        if aggregate.aggr_expr.is_empty()
            && let Some(stream) =
                self.distinct_over_time(&aggregate.input, &aggregate.group_expr, &aggregate.schema)?
        {
            return Ok(stream);
        }
        self.aggregates_above += 1;
        let input = self.lower(&aggregate.input);
        self.aggregates_above -= 1;
        match aggregate.group_expr.as_slice() {
            [Expr::GroupingSet(sets)] => self.grouping_sets(input?, sets, aggregate),
            _ => self.aggregate_over(input?, aggregate),
        }
    }

    /// Aggregates the rows of a stream, which is that of the input.
    pub(super) fn aggregate_over(&mut self, mut stream: Stream, aggregate: &Aggregate) -> Result<Stream> {
        let calls = aggregate
            .aggr_expr
            .iter()
            .map(call)
            .collect::<Result<Option<Vec<_>>>>()?;
        let Some(calls) = calls else {
            if let Some(told) = { aggregate.aggr_expr.iter() }.find(|expr| tells_of_window(expr)) {
                return Err(Error::Unsupported {
                    message: format!(
                        "{told} is not for a group with an aggregate that is computed anew with each change"
                    ),
                    hint: Some(
                        "Leave out aggregates other than count, sum, avg, min, max and their like."
                            .to_owned(),
                    ),
                });
            }
            let stream = self.expand_windows(stream)?;
            let keys = self.keys(&stream, &aggregate.group_expr)?;
            self.check_append(&stream, &keys, aggregate)?;
            return self.recompute_aggregate(stream, aggregate);
        };
        if stream.window.is_some() && !can_slice(&stream, aggregate, &calls)? {
            stream = self.expand_windows(stream)?;
        }
        let keys = self.keys(&stream, &aggregate.group_expr)?;
        self.check_append(&stream, &keys, aggregate)?;
        self.build(stream, keys, calls, aggregate)
    }

    /// Sorts the group expressions; finds the window among them.
    fn keys(&self, stream: &Stream, group_exprs: &[Expr]) -> Result<Keys> {
        let mut keys = Keys {
            origins: Vec::new(),
            window: None,
            own: Vec::new(),
        };
        if let Some(pending) = &stream.window {
            keys.window = Some(KeyWindow {
                time: WindowTime::Real(pending.time),
                source: WindowSource::Rule(pending.rule),
                bound: pending
                    .bound
                    .filter(|_| self.options.output_mode != OutputMode::Complete),
                filters: pending.filters.clone(),
                field: stream.real.field(pending.time).clone(),
            });
        }
        let plain = { group_exprs.iter() }
            .map(|expr| match stream.window {
                None => plain_time(stream, expr),
                Some(_) => Ok(None),
            })
            .collect::<Result<Vec<_>>>()?;
        // The end of windows that cumulate says more than their start, which belongs to longer ones, too.
        let ends = { plain.iter() }.filter_map(|time| match time {
            Some((TimeKind::WindowEnd { size }, ..)) => Some(*size),
            _ => None,
        });
        let least = ends.min();
        for (expr, time) in group_exprs.iter().zip(plain) {
            let time = time.filter(|(kind, ..)| {
                let longer = |size: i64| least.is_some_and(|least| size > least);
                self.options.output_mode != OutputMode::Complete
                    && !matches!(kind, TimeKind::WindowStart { size } if longer(*size))
            });
            let bound = |name: &str| Expr::Column(Column::new_unqualified(name));
            keys.origins.push(match time {
                _ if stream.reads(expr)?.1 => KeyOrigin::Window(stream.over_window(expr)?),
                Some((TimeKind::WindowStart { size }, bound_id, field))
                    if keys.window.as_ref().is_none_or(|w| w.source.size() == size) =>
                {
                    // The start itself rather than one computed from the end.
                    let time = WindowTime::Expr(expr.clone().unalias());
                    keys.window = Some(assigned_before(time, bound_id, size, field));
                    KeyOrigin::Window(bound(WindowAssign::START))
                }
                Some((TimeKind::WindowEnd { size }, bound_id, field))
                    if keys.window.as_ref().is_none_or(|w| w.source.size() == size) =>
                {
                    if keys.window.is_none() {
                        let size_interval = ScalarValue::new_interval_mdn(0, 0, size * 1000);
                        let start = expr.clone().unalias() - lit(size_interval);
                        let time = WindowTime::Expr(start);
                        keys.window = Some(assigned_before(time, bound_id, size, field));
                    }
                    KeyOrigin::Window(bound(WindowAssign::END))
                }
                _ => {
                    keys.own.push(expr.clone());
                    KeyOrigin::Own(keys.own.len() - 1)
                }
            });
        }
        Ok(keys)
    }

    /// In append mode the last aggregation hands over groups that are final, so it needs a window that becomes final.
    fn check_append(&self, stream: &Stream, keys: &Keys, aggregate: &Aggregate) -> Result<()> {
        let is_last = self.aggregates_above == 0;
        if self.options.output_mode != OutputMode::Append || !is_last || keys.is_final() {
            return Ok(());
        }
        if aggregate.aggr_expr.is_empty() && !aggregate.group_expr.is_empty() && stream.append_only {
            // DISTINCT over rows that are only added: a value comes out when it is first seen, and stays.
            return Ok(());
        }
        let hint = Some("Use output_mode 'update' (EMIT CHANGES) to see results as they change.".to_owned());
        let message = match &keys.window {
            Some(window) => {
                let column = match &window.time {
                    WindowTime::Real(column) => stream.real.field(*column).name().clone(),
                    WindowTime::Expr(expr) => expr.to_string(),
                };
                format!(
                    "output_mode 'append' needs a watermark on column {column}, by which its windows become final: \
                     declare WATERMARK FOR {column} on the relation"
                )
            }
            None if aggregate.group_expr.is_empty() => {
                "output_mode 'append' needs groups that become final, but an \
                aggregate without GROUP BY never does: group by a window over a column with a watermark"
                    .to_owned()
            }
            None => format!(
                "output_mode 'append' needs groups that become final, but a group by {} never does: group by a window \
                 over a column with a watermark",
                aggregate.group_expr.iter().join(", ")
            ),
        };
        Err(Error::Unsupported { message, hint })
    }

    fn build(
        &mut self,
        stream: Stream,
        mut keys: Keys,
        calls: Vec<Call>,
        aggregate: &Aggregate,
    ) -> Result<Stream> {
        let append_only = stream.append_only;
        if keys.window.is_none() && calls.iter().any(Call::tells_of_window) {
            return Err(Error::Unsupported {
                message: "window_revision() and is_final() need a window among the group keys".to_owned(),
                hint: Some("Group by window_start of tumble, hop or cumulate.".to_owned()),
            });
        }
        let mut columns = InputColumns {
            exprs: Vec::new(),
            fields: Vec::new(),
        };
        let window = window_key(&keys, &stream, &mut columns)?;
        let own = keys
            .own
            .iter()
            .map(|expr| columns.add_expr(&stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let mut accumulators: Vec<AccumulatorSpec> = Vec::new();
        let mut readings = vec![AggregateOutput::Rows; calls.len()];
        // Counts come last: one may be read from a sum over the same values.
        for (i, call) in calls
            .iter()
            .enumerate()
            .sorted_by_key(|(_, call)| call.is_count())
        {
            readings[i] = call.accumulate(&stream, &mut columns, &mut accumulators)?;
        }
        let final_only =
            self.options.output_mode == OutputMode::Append && self.aggregates_above == 0 && keys.is_final();
        let closes = keys.window.as_ref().and_then(|window| window.bound);
        let bound = closes.map(|bound| self.forgotten_by(bound));
        if let Some(window) = &mut keys.window {
            window.bound = bound;
        }
        let revisable = final_only && bound != closes;
        self.revises |= revisable;
        if let (Some(bound), Some(WindowSource::Start { .. })) =
            (bound, window.as_ref().map(|window| window.assign))
        {
            self.drop_late_at_assignment(stream.node, bound);
        }
        let (node, input, positions) = self.aggregate_input(stream, columns)?;
        let window = window.map(|window| WindowKey {
            time: positions[window.time],
            by_clock: bound.is_some_and(|bound| self.bounds.get(bound).has_clock()),
            ..window
        });
        let own: Vec<usize> = own.into_iter().map(|column| positions[column]).collect();
        for accumulator in &mut accumulators {
            accumulator.argument = accumulator.argument.map(|column| positions[column]);
            accumulator.filter = accumulator.filter.map(|column| positions[column]);
        }
        let overlaps = |window: &WindowKey| window.watermark && window.assign.overlaps();
        let slides = final_only
            && !revisable
            && window.as_ref().is_some_and(overlaps)
            && accumulators.iter().all(negated::can_be);
        let (outputs, output) = output_columns(&keys, &readings, &accumulators, aggregate)?;
        let partial = partial_schema(&input, window.as_ref(), &own, &accumulators, append_only);
        let spec = Arc::new(AggregateSpec {
            input,
            window,
            keys: own,
            accumulators,
            outputs,
            append_only,
            final_only,
            revisable,
            slides,
            partial: Arc::clone(&partial),
            output: Arc::clone(&output),
            fail_on_error: self.options.fail_on_error,
        });
        let output_append_only =
            final_only && !revisable || (calls.is_empty() && append_only && !spec.keys.is_empty());
        let bounds: Vec<Bound> = { bound.iter() }
            .chain(closes.iter().filter(|_| spec.knows_closed()))
            .map(|bound| self.bounds.get(*bound).clone())
            .collect();
        let node = self.two_phases(node, &spec, bounds, output_append_only);
        self.restored_columns(node, &keys, aggregate, &output, output_append_only)
    }

    /// The node whose columns the aggregation reads, its schema, and where in it each of `columns` is.
    fn aggregate_input(
        &mut self,
        mut stream: Stream,
        columns: InputColumns,
    ) -> Result<(NodeId, SchemaRef, Vec<usize>)> {
        if stream.steps.is_empty() {
            let plain = columns
                .exprs
                .iter()
                .map(|expr| Some(expr.downcast_ref::<PhysicalColumn>()?.index()));
            if let Some(positions) = plain.collect::<Option<Vec<usize>>>() {
                return Ok((stream.node, stream.real, positions));
            }
        }
        let positions = (0..columns.exprs.len()).collect();
        stream.push_projection(columns.exprs, Arc::new(Schema::new(Fields::from(columns.fields))))?;
        // The logical columns are gone; what is left belongs to the aggregation.
        stream.columns.clear();
        stream.times.clear();
        stream.key = None;
        let stream = self.with_steps_as_node(stream)?;
        Ok((stream.node, stream.real, positions))
    }

    fn two_phases(
        &mut self,
        input: NodeId,
        spec: &Arc<AggregateSpec>,
        bounds: Vec<Bound>,
        append_only: bool,
    ) -> NodeId {
        let partial = self.add(
            NodeKind::Operator(OperatorSpec::PartialAggregate(Arc::clone(spec))),
            vec![local(input)],
            Arc::clone(&spec.partial),
            Properties {
                append_only: true,
                bounds: bounds.iter().take(1).cloned().collect(),
                ..Properties::default()
            },
        );
        let window_columns = spec
            .window
            .as_ref()
            .map_or(0, |window| 1 + usize::from(window.assign.overlaps()));
        // A row of a sliding window belongs to several windows, which must all be on its worker.
        let first = if spec
            .window
            .as_ref()
            .is_some_and(|window| window.assign.overlaps())
        {
            window_columns
        } else {
            0
        };
        let hashed: Vec<usize> = (first..window_columns + spec.keys.len()).collect();
        let distribution = if hashed.is_empty() {
            Distribution::Single
        } else {
            Distribution::Hash(hashed)
        };
        // Bounds that are only there to compute from may repeat one that is a key.
        let is_key = |i: &usize| match &spec.outputs[*i] {
            AggregateOutput::Rows | AggregateOutput::IsFinal | AggregateOutput::Aggregate { .. } => false,
            output => !spec.outputs[..*i].contains(output),
        };
        let properties = Properties {
            append_only,
            key: Some((0..spec.outputs.len()).filter(is_key).collect()),
            bounds,
            state_bound: Some(state_bound(spec)),
            ..Properties::default()
        };
        self.add(
            NodeKind::Operator(OperatorSpec::FinalAggregate(Arc::clone(spec))),
            vec![Edge {
                from: partial,
                distribution,
            }],
            Arc::clone(&spec.output),
            properties,
        )
    }

    /// The time of a key that is a bound of the window plus or minus a duration.
    fn computed_time(&mut self, key: &Expr, size: i64, bound: BoundId, time: &Field) -> Option<Time> {
        let (column, least) = join_times::shifted_time(key, &window_schema(time).ok()?)?;
        let kind = match column {
            0 => TimeKind::WindowStart { size },
            _ => TimeKind::WindowEnd { size },
        };
        let event = self.bounds.as_event(Time { kind, bound });
        let shifted = self.bounds.get(event).lagging(-least);
        Some(Time {
            kind: TimeKind::Event,
            bound: self.bounds.id(shifted),
        })
    }

    /// The columns of the logical node from those of the operator: keys computed from the window, in their places.
    fn restored_columns(
        &mut self,
        node: NodeId,
        keys: &Keys,
        aggregate: &Aggregate,
        output: &SchemaRef,
        append_only: bool,
    ) -> Result<Stream> {
        let groups = aggregate.group_expr.len();
        let window = keys.window.as_ref();
        let bound = window.and_then(|window| Some((window.source.longest(), window.bound?)));
        let times = keys.origins.iter().map(|origin| match (origin, bound) {
            (KeyOrigin::Window(Expr::Column(column)), Some((size, bound))) => {
                let is_start = column.name == WindowAssign::START;
                let kind = match is_start {
                    true => TimeKind::WindowStart { size },
                    false => TimeKind::WindowEnd { size },
                };
                Some(self.closed(Time { kind, bound }))
            }
            (KeyOrigin::Window(expr), Some((size, bound))) => {
                let time = self.computed_time(expr, size, bound, window.map(|window| &window.field)?)?;
                Some(self.closed(time))
            }
            (KeyOrigin::Own(_), _) | (_, None) => None,
        });
        let times: Vec<Option<Time>> = times
            .chain(std::iter::repeat_n(None, aggregate.aggr_expr.len()))
            .collect();
        let mut stream = Stream::of_node(node, &aggregate.schema, times, append_only);
        stream.key = Some((0..groups).collect());
        let Some(window) = keys
            .window
            .as_ref()
            .filter(|_| output.fields().len() > stream.schema.fields().len())
        else {
            return Ok(stream);
        };
        // The bounds come after the columns of the logical node.
        let first_bound = output.fields().len() - 2;
        let bounds = window_schema(&window.field)?;
        let fields = output.fields()[first_bound..].iter().cloned();
        debug_assert_eq!(fields.clone().count(), bounds.fields().len());
        let over_output = |expr: &Expr| -> Result<Arc<dyn PhysicalExpr>> {
            crate::lower::stream::shifted(physical(expr, &bounds)?, first_bound)
        };
        for predicate in &window.filters {
            stream.steps.push(MapStep::Filter(over_output(predicate)?));
        }
        let logical = Arc::clone(stream.schema.inner());
        let mut exprs: Vec<Arc<dyn PhysicalExpr>> = Vec::with_capacity(logical.fields().len());
        let mut position = 0;
        for (i, field) in logical.fields().iter().enumerate() {
            match keys.origins.get(i) {
                Some(KeyOrigin::Window(expr)) if !is_bound(expr) => exprs.push(over_output(expr)?),
                _ => {
                    exprs.push(Arc::new(PhysicalColumn::new(field.name(), position)));
                    position += 1;
                }
            }
        }
        stream.push_projection(exprs, logical)?;
        Ok(stream)
    }

    /// Late rows are dropped and counted where windows are assigned, since the aggregation sees a row once per window.
    pub(super) fn drop_late_at_assignment(&mut self, node: NodeId, bound: BoundId) {
        let mut node = node;
        loop {
            match &mut self.nodes[node.0].kind {
                NodeKind::Operator(OperatorSpec::WindowAssign(spec)) => {
                    spec.drop_late = true;
                    self.nodes[node.0].properties.bounds = vec![self.bounds.get(bound).clone()];
                    return;
                }
                NodeKind::Operator(OperatorSpec::Map(_)) => node = self.nodes[node.0].edges[0].from,
                _ => return,
            }
        }
    }
}

impl Keys {
    /// Groups become final as the watermark moves on.
    fn is_final(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.bound.is_some())
    }
}

/// The window as a group key, whose time becomes one of `columns`.
fn window_key(keys: &Keys, stream: &Stream, columns: &mut InputColumns) -> Result<Option<WindowKey>> {
    Ok(match &keys.window {
        None => None,
        Some(window) => {
            let time = match &window.time {
                WindowTime::Real(column) => {
                    let name = stream.real.field(*column).name();
                    columns.add(
                        Arc::new(PhysicalColumn::new(name, *column)),
                        stream.real.field(*column).clone(),
                    )
                }
                WindowTime::Expr(expr) => columns.add_expr(stream, expr)?,
            };
            Some(WindowKey {
                time,
                assign: window.source,
                watermark: window.bound.is_some(),
                by_clock: false,
            })
        }
    })
}

fn assigned_before(time: WindowTime, bound: BoundId, size: i64, field: Field) -> KeyWindow {
    KeyWindow {
        time,
        source: WindowSource::Start { size },
        bound: Some(bound),
        filters: Vec::new(),
        field,
    }
}

/// The window that a plain column bounds, with the column's field.
fn plain_time(stream: &Stream, expr: &Expr) -> Result<Option<(TimeKind, BoundId, Field)>> {
    let Some(column) = crate::lower::relation::plain_column(expr) else {
        return Ok(None);
    };
    let position = stream.schema.index_of_column(&column)?;
    let field = stream.schema.field(position);
    Ok(stream.times[position]
        .filter(Time::is_window)
        .map(|time| (time.kind, time.bound, field.as_ref().clone())))
}

/// Whether the pending window can be left to the aggregation: a group key names the window, no key mixes the window with
/// the row, and no argument reads the window.
fn can_slice(stream: &Stream, aggregate: &Aggregate, calls: &[Call]) -> Result<bool> {
    let mut names_window = false;
    for expr in &aggregate.group_expr {
        match stream.reads(expr)? {
            (true, true) => return Ok(false),
            (false, true) => {
                let over = stream.over_window(expr)?;
                let unique = { stream.window.as_ref() }.is_none_or(|window| window.rule.start_is_unique());
                names_window |= is_injective(&over) && (unique || names_end(&over));
            }
            (_, false) => {}
        }
    }
    for expr in calls.iter().flat_map(Call::exprs) {
        if stream.reads(expr)?.1 {
            return Ok(false);
        }
    }
    Ok(names_window)
}

/// Different windows give different values: a bound, or a struct with one.
fn is_injective(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(alias) => is_injective(&alias.expr),
        Expr::ScalarFunction(call) => {
            matches!(call.name(), "named_struct" | "struct" | "row") && call.args.iter().any(is_injective)
        }
        _ => false,
    }
}

/// Windows of one start are told apart by their ends.
fn names_end(expr: &Expr) -> bool {
    let columns = expr.column_refs();
    columns.iter().any(|column| column.name == WindowAssign::END)
}

fn is_bound(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}
