//! From a logical plan to the dataflow that keeps its result up to date, or a user error naming the part that cannot be
//! kept up to date.
//!
//! A plan is lowered from its scans upwards. What is built so far is a [`Stream`]: a node, filters and
//! projections that wait to become one `Map`, and a window assignment that waits to become part of an aggregation.

mod aggregate;
mod aggregate_call;
mod aggregate_columns;
mod clock;
mod complete;
mod constant;
mod current_watermark;
mod dedup;
mod empty;
mod first_rows;
mod grouping_sets;
mod join;
mod join_times;
mod optimize;
mod recompute_aggregate;
mod relation;
mod session;
mod slot;
mod step;
mod stream;
mod temporal;
mod unsupported;
mod window;
mod zone_shift;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::logical_expr::logical_plan::{Aggregate, Distinct};
use datafusion::logical_expr::{Expr, LogicalPlan};
use millpond_catalog::{JoinMode, OutputMode};

pub use optimize::optimize;

use crate::bound::ResultTimes;
use crate::dataflow::{Dataflow, Edge, Input, Node, NodeId, NodeKind, Notice, Properties};
use crate::error::{Error, Result};
use crate::logical::{SessionAssign, WindowAssign};
use crate::lower::stream::{Bounds, Stream};
use crate::operator::recompute::spec::Computation;
use crate::operator::spec::OperatorSpec;

/// What decides how a view's plan is lowered, beside the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct LowerOptions {
    pub output_mode: OutputMode,
    /// A failing expression stops the query instead of setting its row aside.
    pub fail_on_error: bool,
    pub join_mode: JoinMode,
    /// Windows are kept, and take rows, for so long after the watermark has closed them.
    pub allowed_lateness_us: i64,
}

/// Lowers an analysed plan, which need not be optimised.
pub fn lower(plan: &LogicalPlan, options: &LowerOptions) -> Result<Dataflow> {
    let plan = optimize(plan.clone())?;
    complete::check(&plan, options)?;
    let mut lowering = Lowering {
        options,
        inputs: Vec::new(),
        nodes: Vec::new(),
        bounds: Bounds::default(),
        aggregates_above: 0,
        revises: false,
        remarks: complete::remark(&plan, options).into_iter().collect(),
    };
    let stream = lowering.lower(&plan)?;
    lowering.check_output(&stream, &plan)?;
    let stream = lowering.as_node(stream)?;
    debug_assert_eq!(
        stream.node.0 + 1,
        lowering.nodes.len(),
        "the result is the last node"
    );
    let times = stream.times.iter().enumerate().filter_map(|(column, time)| {
        let time = (*time)?;
        let bound = lowering.bounds.get(time.bound);
        (!bound.has_clock()).then(|| (column, time.kind, bound.clone()))
    });
    let times = ResultTimes::new(&times.collect::<Vec<_>>());
    Ok(Dataflow {
        inputs: lowering.inputs,
        nodes: lowering.nodes,
        times,
        remarks: lowering.remarks,
    })
}

/// A dataflow under construction.
struct Lowering<'a> {
    options: &'a LowerOptions,
    inputs: Vec<Input>,
    nodes: Vec<Node>,
    /// What the times in it are bounded by.
    bounds: Bounds,
    /// Aggregations between the result and the part being lowered.
    aggregates_above: usize,
    /// Windows that have come out can be revised.
    revises: bool,
    remarks: Vec<Notice>,
}

impl Lowering<'_> {
    fn lower(&mut self, plan: &LogicalPlan) -> Result<Stream> {
        if empty::has_no_rows(plan) {
            return Ok(self.empty(plan.schema()));
        }
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Projection(projection) => {
                let input = self.lower(&projection.input)?;
                self.project(input, &projection.expr, &projection.schema)
            }
            LogicalPlan::Filter(filter) => match self.ranked(filter)? {
                Some(stream) => Ok(stream),
                None => {
                    let input = self.lower(&filter.input)?;
                    self.filter(input, &filter.predicate)
                }
            },
            LogicalPlan::SubqueryAlias(alias) => Ok(self.lower(&alias.input)?.renamed(&alias.schema)),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Subquery(subquery) => self.lower(&subquery.subquery),
            LogicalPlan::Values(values) => self.values(values),
            // One without a row was lowered above.
            LogicalPlan::EmptyRelation(empty) => self.one_row(&empty.schema),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let keys = input.schema().columns().into_iter().map(Expr::Column).collect();
                self.aggregate(&Aggregate::try_new(Arc::clone(input), keys, Vec::new())?)
            }
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.distinct_on(distinct),
            LogicalPlan::Window(window) => self.window(window),
            LogicalPlan::Sort(sort) => self.sort(sort),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Extension(_) => {
                if let Some(assign) = WindowAssign::of(plan) {
                    let first = self.inputs.len();
                    let input = self.lower(&assign.input)?;
                    self.assign_windows(input, assign, first)
                } else if let Some(assign) = SessionAssign::of(plan) {
                    let input = self.lower(&assign.input)?;
                    self.assign_sessions(input, assign)
                } else {
                    Err(unsupported::node(plan))
                }
            }
            other => Err(unsupported::node(other)),
        }
    }

    /// Adds an operator; `name` is made unique.
    fn add(
        &mut self,
        kind: NodeKind,
        edges: Vec<Edge>,
        schema: arrow::datatypes::SchemaRef,
        properties: Properties,
    ) -> NodeId {
        let stem = match &kind {
            NodeKind::Input(_) => "input",
            NodeKind::Empty => "empty",
            NodeKind::Operator(spec) => match spec {
                OperatorSpec::Map(_) => "map",
                OperatorSpec::WindowAssign(_) => "window",
                OperatorSpec::SessionAssign(_) => "session",
                OperatorSpec::Unnest(_) => "unnest",
                OperatorSpec::Union(_) => "union",
                OperatorSpec::PartialAggregate(_) => "partial",
                OperatorSpec::FinalAggregate(_) => "aggregate",
                OperatorSpec::Join(_) => "join",
                OperatorSpec::Dedup(_) => "dedup",
                OperatorSpec::Temporal(_) => "temporal",
                OperatorSpec::Constant(_) => "constant",
                OperatorSpec::Recompute(spec) => match spec.computation {
                    Computation::Plan { .. } => "recompute",
                    Computation::First(_) => "first",
                },
            },
        };
        let before = self
            .nodes
            .iter()
            .filter(|node| node.name.trim_end_matches(|c: char| c.is_ascii_digit()) == stem);
        let name = format!("{stem}{}", before.count());
        self.nodes.push(Node {
            name,
            kind,
            edges,
            schema,
            properties,
        });
        NodeId(self.nodes.len() - 1)
    }

    /// In append mode nothing that was handed over may change.
    fn check_output(&self, stream: &Stream, plan: &LogicalPlan) -> Result<()> {
        if self.options.output_mode != OutputMode::Append || stream.append_only || self.revises {
            return Ok(());
        }
        if let Some(input) = self.inputs.iter().find(|input| !input.append_only) {
            return Err(Error::Unsupported {
                message: format!(
                    "output_mode 'append' needs input that is only ever added to, but rows of {} can change",
                    input.name
                ),
                hint: Some(
                    "Use output_mode 'update' (EMIT CHANGES), or read from a stream or a source.".to_owned(),
                ),
            });
        }
        let takes_back = |node: &&Node| {
            let from_append_only = node
                .edges
                .iter()
                .all(|edge| self.nodes[edge.from.0].properties.append_only);
            from_append_only && !node.properties.append_only
        };
        if let Some(NodeKind::Operator(spec @ OperatorSpec::Join(_))) =
            self.nodes.iter().find(takes_back).map(|node| &node.kind)
        {
            return Err(Error::Unsupported {
                message: format!(
                    "output_mode 'append' cannot have this outer join or NOT EXISTS: nothing says when a row without a \
                     partner will not get one any more ({spec})"
                ),
                hint: Some(
                    "Bound the time between partners, as in r.ts BETWEEN l.ts AND l.ts + INTERVAL '1 hour', with a \
                     watermark on both times; or use output_mode 'update' (EMIT CHANGES)."
                        .to_owned(),
                ),
            });
        }
        if self
            .nodes
            .iter()
            .any(|node| matches!(node.kind, NodeKind::Operator(OperatorSpec::Temporal(_))))
        {
            return Err(Error::Unsupported {
                message: "output_mode 'append' cannot have a condition by which rows go when time passes"
                    .to_owned(),
                hint: Some("Use output_mode 'update' (EMIT CHANGES).".to_owned()),
            });
        }
        Err(Error::Bug(format!(
            "a result that changes in append mode:\n{}",
            plan.display_indent()
        )))
    }
}
