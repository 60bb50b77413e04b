//! A dataflow: the graph of incremental operators of one query, as plain data.
//!
//! Nodes stand in topological order and the last one is the query's result. Nothing here runs; `runtime` builds one
//! instance of every operator per worker from it.

use std::fmt;

use arrow::datatypes::{Schema, SchemaRef};
use itertools::Itertools;
use millpond_catalog::{ObjectId, SqlType};

use crate::operator::spec::OperatorSpec;
use crate::window::Micros;

/// Index into [`Dataflow::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

#[derive(Debug, Clone)]
pub struct Dataflow {
    pub inputs: Vec<Input>,
    pub nodes: Vec<Node>,
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
    /// What bounds the operator's state, in words for EXPLAIN; `None` for stateless nodes.
    pub state_bound: Option<String>,
}

impl Dataflow {
    pub fn root(&self) -> &Node {
        self.nodes.last().expect("a dataflow has at least one node")
    }

    /// Schema of the result.
    pub fn schema(&self) -> SchemaRef {
        self.root().schema.clone()
    }

    /// The watermark of each node's input, given one per dataflow input: the least over the inputs below it that have an
    /// event time, `None` while one of them has not seen any.
    pub fn node_watermarks(&self, inputs: &[Option<i64>]) -> Vec<Option<i64>> {
        // `Some(None)`: an input with an event time that has seen no row holds everything above it back.
        let mut below: Vec<Option<Option<i64>>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = match &node.kind {
                NodeKind::Input(input) => self.inputs[*input].event_time.as_ref().map(|_| inputs[*input]),
                NodeKind::Empty => None,
                NodeKind::Operator(_) => node
                    .edges
                    .iter()
                    .filter_map(|edge| below[edge.from.0])
                    .reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))),
            };
            below.push(own);
        }
        below.into_iter().map(Option::flatten).collect()
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
