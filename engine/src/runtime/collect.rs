//! What one worker has to say about an epoch, gathered node by node and sent to the driver in one piece.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use millpond_storage::ChangeBatch;

use super::Instance;
use super::input::{InputMetrics, InputQueue};
use super::old_rows::OldRows;
use crate::bound::Watermark;
use crate::epoch::{EpochContext, OperatorContext};
use crate::error::Error;
use crate::operator::{LateRow, OperatorMetrics, StateBatch};
use crate::source::BadRow;

/// An epoch under way, shared by all workers.
pub(super) struct EpochRun {
    pub(super) context: EpochContext,
    /// Of each node.
    pub(super) watermarks: Vec<[Watermark; 2]>,
    pub(super) inputs: Vec<InputQueue>,
    /// The greatest event time of each input in the epochs before.
    pub(super) newest: Vec<Option<i64>>,
    /// Nodes asked for their whole state.
    pub(super) full: Vec<bool>,
    pub(super) reply: Sender<Report>,
}

impl EpochRun {
    pub(super) fn operator_context(&self, node: usize, worker: usize, workers: usize) -> OperatorContext {
        self.context.of_operator(self.watermarks[node], worker, workers)
    }
}

/// What the driver hears.
pub(super) enum Report {
    Installed,
    Done(Box<Part>),
    Failed(Error),
    /// By the driver's own wish.
    Abandoned,
}

/// One worker's share of an epoch's result.
#[derive(Default)]
pub(super) struct Part {
    pub(super) changes: Vec<ChangeBatch>,
    /// By node.
    pub(super) state: Vec<(usize, Vec<StateBatch>)>,
    /// With the name of the input or operator.
    pub(super) bad_rows: Vec<(String, BadRow)>,
    /// With the name of the operator.
    pub(super) late_rows: Vec<(String, LateRow)>,
    pub(super) inputs: Vec<InputMetrics>,
    /// By input.
    pub(super) old_rows: Vec<OldRows>,
    /// By node.
    pub(super) operators: Vec<(usize, OperatorReport)>,
}

/// Counters of an operator and where its time went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OperatorReport {
    pub(crate) metrics: OperatorMetrics,
    /// Microseconds of all workers together: taking changes in, sealing the epoch, making the checkpoint.
    pub(crate) push_us: u64,
    pub(crate) seal_us: u64,
    pub(crate) checkpoint_us: u64,
}

impl OperatorReport {
    pub(crate) fn add(&mut self, other: &OperatorReport) {
        self.metrics.rows_total += other.metrics.rows_total;
        self.metrics.rows_updated += other.metrics.rows_updated;
        self.metrics.rows_removed += other.metrics.rows_removed;
        self.metrics.rows_dropped_by_watermark += other.metrics.rows_dropped_by_watermark;
        self.metrics.null_event_time += other.metrics.null_event_time;
        self.metrics.duplicates += other.metrics.duplicates;
        self.metrics.due_us = match (self.metrics.due_us, other.metrics.due_us) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.metrics.memory_bytes += other.metrics.memory_bytes;
        self.push_us += other.push_us;
        self.seal_us += other.seal_us;
        self.checkpoint_us += other.checkpoint_us;
    }
}

/// Gathers the epoch's result on one worker of one dataflow.
pub(super) struct Collector {
    instance: Arc<Instance>,
    /// The epoch under way, taken up by whatever hears of it first: this worker's command or a change from another one.
    run: Option<Arc<EpochRun>>,
    /// Nodes that have not sealed the epoch yet.
    open: usize,
    part: Part,
    failed: bool,
}

impl Collector {
    pub(super) fn new(instance: Arc<Instance>) -> Self {
        Self {
            instance,
            run: None,
            open: 0,
            part: Part::default(),
            failed: false,
        }
    }

    /// The epoch under way. Only called when there is one.
    pub(super) fn run(&mut self) -> Arc<EpochRun> {
        if let Some(run) = &self.run {
            return Arc::clone(run);
        }
        let run = self
            .instance
            .run
            .lock()
            .clone()
            .expect("changes flow only while an epoch runs");
        let operators = self
            .instance
            .plan
            .nodes
            .iter()
            .filter(|node| !node.edges.is_empty())
            .count();
        // The result counts as one more.
        self.open = operators + 1;
        self.part = Part {
            inputs: vec![InputMetrics::default(); self.instance.plan.inputs.len()],
            old_rows: vec![OldRows::default(); self.instance.plan.inputs.len()],
            ..Part::default()
        };
        self.run = Some(Arc::clone(&run));
        run
    }

    pub(super) fn part(&mut self) -> &mut Part {
        &mut self.part
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Ends the epoch for this worker; the driver takes the dataflow down.
    pub(super) fn fail(&mut self, error: Error) {
        if !self.failed {
            self.failed = true;
            let run = self.run();
            // The driver may have given the epoch up already.
            let _ = run.reply.send(Report::Failed(error));
        }
    }

    /// A node has handed over all it had; the last one sends the report.
    pub(super) fn sealed(&mut self) {
        self.open -= 1;
        if self.open == 0 && !self.failed {
            let run = self.run.take().expect("a node sealed it");
            let part = Box::new(std::mem::take(&mut self.part));
            let _ = run.reply.send(Report::Done(part));
        }
    }
}
