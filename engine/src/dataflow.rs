//! A dataflow: the graph of incremental operators of one query, as plain data.
//!
//! Nodes stand in topological order and the last one is the query's result. Nothing here runs; `runtime` builds one
//! instance of every operator per worker from it.

use std::fmt;

use arrow::datatypes::{Schema, SchemaRef};
use itertools::Itertools;
use millpond_catalog::{ObjectId, SqlType};

use crate::bound::{Bound, ResultTimes, Watermark};
use crate::epoch::EpochContext;
use crate::operator::spec::OperatorSpec;
use crate::window::Micros;

/// Index into [`Dataflow::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

#[derive(Debug, Clone)]
pub struct Dataflow {
    pub inputs: Vec<Input>,
    pub nodes: Vec<Node>,
    /// What is known of the times in the result.
    pub times: ResultTimes,
    /// What the author of the query should know, beside what its nodes say.
    pub remarks: Vec<Notice>,
}

/// A relation or source that the query reads. One that stands twice in a query is two inputs.
#[derive(Debug, Clone)]
pub struct Input {
    pub object: ObjectId,
    /// Name for display.
    pub name: String,
    /// Columns read, as ascending positions in the object's schema.
    pub projection: Vec<usize>,
    /// Schema of the projected columns.
    pub schema: SchemaRef,
    /// Event time of this input, if it has a watermark. Its column is always part of the projection.
    pub event_time: Option<EventTime>,
    /// A view whose times have a watermark: the input follows it.
    pub follows: bool,
    /// No retractions ever come.
    pub append_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTime {
    /// Position within the input's projected schema.
    pub column: usize,
    pub delay_us: i64,
    /// Event times further ahead of the processing time do not move the watermark; `None` = no guard.
    pub max_future_us: Option<i64>,
    /// Silent for so long, the input holds back no other; `None` = it always does.
    pub idle_timeout_us: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct Node {
    /// Stable within the query: names the operator's state on disk.
    pub name: String,
    pub kind: NodeKind,
    pub edges: Vec<Edge>,
    pub schema: SchemaRef,
    pub properties: Properties,
}

#[derive(Debug, Clone)]
pub enum NodeKind {
    /// Index into [`Dataflow::inputs`].
    Input(usize),
    /// No rows, ever: what is left of a part of the query that a condition rules out.
    Empty,
    Operator(OperatorSpec),
}

/// Where a port's changes come from and which worker gets each row.
#[derive(Debug, Clone)]
pub struct Edge {
    pub from: NodeId,
    pub distribution: Distribution,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distribution {
    /// Stays on the worker that made it.
    Local,
    /// By hash of these columns: rows with equal values meet on one worker.
    Hash(Vec<usize>),
    /// All rows on worker 0.
    Single,
}

/// What is known about a node's output.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    /// No retractions ever come out.
    pub append_only: bool,
    /// Columns whose values together identify a row, if known.
    pub key: Option<Vec<usize>>,
    /// Column with an event time that the node's watermark bounds, if any.
    pub event_time: Option<usize>,
    /// What the operator goes by: the bound of the time by which it drops late rows and frees state, one per input for a
    /// join. Empty where no watermark changes what it does.
    pub bounds: Vec<Bound>,
    /// What bounds the operator's state, in words for EXPLAIN; `None` for stateless nodes.
    pub state_bound: Option<String>,
    /// What the author of the query should know about it.
    pub notice: Option<Notice>,
}

/// A remark on a query that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub message: String,
    pub hint: String,
}

impl Dataflow {
    pub fn root(&self) -> &Node {
        self.nodes.last().expect("a dataflow has at least one node")
    }

    /// Schema of the result.
    pub fn schema(&self) -> SchemaRef {
        self.root().schema.clone()
    }

    /// What each node goes by in an epoch.
    pub fn node_watermarks(&self, context: &EpochContext) -> Vec<[Watermark; 2]> {
        let (inputs, before) = (&context.watermarks, &context.watermarks_before);
        let none = vec![None; inputs.len()];
        let before = if before.is_empty() { &none } else { before };
        let of_node = |node: &Node| {
            let bound = |port: usize| node.properties.bounds.get(port);
            let now_us = context.processing_time_us;
            [0, 1].map(|port| {
                bound(port).map_or(Watermark::default(), |bound| {
                    bound.watermark(inputs, before, now_us)
                })
            })
        };
        self.nodes.iter().map(of_node).collect()
    }

    /// What the author of the query should know.
    pub fn notices(&self) -> impl Iterator<Item = &Notice> {
        let of_nodes = self
            .nodes
            .iter()
            .filter_map(|node| node.properties.notice.as_ref());
        of_nodes.chain(&self.remarks)
    }

    /// The watermark of the query: the least of its inputs', `None` while one of them has not seen an event time.
    pub fn watermark(&self, inputs: &[Option<i64>]) -> Option<i64> {
        let timed = self
            .inputs
            .iter()
            .zip(inputs)
            .filter(|(input, _)| input.is_timed());
        let least = timed.map(|(_, watermark)| *watermark);
        least.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten()
    }
}

/// The tree that `EXPLAIN (DATAFLOW)` prints, result first: each node with its columns and what is known about them, and
/// below it the nodes that it reads, with how their rows reach it.
impl fmt::Display for Dataflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_node(f, NodeId(self.nodes.len() - 1), 0)
    }
}

impl Dataflow {
    fn fmt_node(&self, f: &mut fmt::Formatter<'_>, id: NodeId, depth: usize) -> fmt::Result {
        let node = &self.nodes[id.0];
        let indent = "  ".repeat(depth);
        write!(f, "{indent}{}: ", node.name)?;
        match &node.kind {
            NodeKind::Input(input) => writeln!(f, "{}", self.inputs[*input])?,
            NodeKind::Empty => writeln!(f, "Empty")?,
            NodeKind::Operator(spec) => writeln!(f, "{spec}")?,
        }
        writeln!(f, "{indent}  columns: {}", Columns(&node.schema))?;
        let names = |columns: &[usize]| {
            columns
                .iter()
                .map(|column| node.schema.field(*column).name())
                .join(", ")
        };
        let properties = &node.properties;
        if let Some(key) = properties.key.as_ref().filter(|key| !key.is_empty()) {
            writeln!(f, "{indent}  key: {}", names(key))?;
        }
        if let Some(column) = properties.event_time {
            writeln!(f, "{indent}  event time: {}", names(&[column]))?;
        }
        writeln!(
            f,
            "{indent}  changes: {}",
            if properties.append_only {
                "insertions only"
            } else {
                "any"
            }
        )?;
        if let Some(bound) = &properties.state_bound {
            writeln!(f, "{indent}  state: {bound}")?;
        }
        for edge in &node.edges {
            let from = &self.nodes[edge.from.0];
            match &edge.distribution {
                Distribution::Local => {}
                Distribution::Single => writeln!(f, "{indent}  <- all rows to one worker")?,
                Distribution::Hash(columns) => {
                    let columns = columns
                        .iter()
                        .map(|column| from.schema.field(*column).name())
                        .join(", ");
                    writeln!(f, "{indent}  <- to workers by hash of {columns}")?;
                }
            }
            self.fmt_node(f, edge.from, depth + 1)?;
        }
        Ok(())
    }
}

impl Input {
    /// It has a watermark.
    pub fn is_timed(&self) -> bool {
        self.event_time.is_some() || self.follows
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Read {}", self.name)?;
        if let Some(time) = &self.event_time {
            write!(
                f,
                ", watermark {} - {}",
                self.schema.field(time.column).name(),
                Micros(time.delay_us)
            )?;
        }
        if self.follows {
            f.write_str(", watermark of the view")?;
        }
        Ok(())
    }
}

/// Names and SQL types.
struct Columns<'a>(&'a Schema);

impl fmt::Display for Columns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |field: &arrow::datatypes::FieldRef| format!("{} {}", field.name(), SqlType::of(field));
        write!(f, "{}", self.0.fields().iter().map(column).join(", "))
    }
}
