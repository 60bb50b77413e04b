//! A dataflow as the workers need it: what to build per node and how the nodes are connected.

use std::sync::Arc;

use crate::dataflow::{Dataflow, Edge, EventTime, NodeKind};
use crate::error::{Error, Result};
use crate::operator::Operator;

type Build = Arc<dyn Fn() -> Result<Box<dyn Operator>> + Send + Sync>;

/// Nodes in topological order; the last is the result.
pub(crate) struct Plan {
    pub(crate) inputs: Vec<PlanInput>,
    pub(crate) nodes: Vec<PlanNode>,
}

pub(crate) struct PlanInput {
    pub(crate) name: String,
    pub(crate) event_time: Option<EventTime>,
    /// Rows of it may be dropped as late.
    pub(crate) may_be_late: bool,
}

pub(crate) struct PlanNode {
    pub(crate) name: String,
    pub(crate) kind: PlanKind,
    pub(crate) edges: Vec<Edge>,
}

pub(crate) enum PlanKind {
    /// Index into [`Plan::inputs`].
    Input(usize),
    /// Ends every epoch without a row.
    Empty,
    /// Makes a fresh instance for one worker.
    Operator(Build),
}

impl Plan {
    pub(crate) fn new(dataflow: &Dataflow) -> Result<Plan> {
        let drops = dataflow
            .nodes
            .iter()
            .any(|node| !node.properties.bounds.is_empty());
        let inputs = dataflow
            .inputs
            .iter()
            .map(|input| PlanInput {
                name: input.name.clone(),
                event_time: input.event_time.clone(),
                may_be_late: drops && input.is_timed(),
            })
            .collect();
        let mut nodes = Vec::with_capacity(dataflow.nodes.len());
        for node in &dataflow.nodes {
            let kind = match &node.kind {
                NodeKind::Input(input) => PlanKind::Input(*input),
                NodeKind::Empty => PlanKind::Empty,
                NodeKind::Operator(_) if node.edges.is_empty() => {
                    return Err(Error::Bug(format!("operator {} has no input", node.name)));
                }
                NodeKind::Operator(spec) => {
                    let (spec, name) = (spec.clone(), node.name.clone());
                    PlanKind::Operator(Arc::new(move || spec.build(&name)))
                }
            };
            nodes.push(PlanNode {
                name: node.name.clone(),
                kind,
                edges: node.edges.clone(),
            });
        }
        Ok(Plan { inputs, nodes })
    }

    pub(crate) fn node_index(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }
}
