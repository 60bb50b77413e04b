//! The operator interface: a value with state that turns changes into changes.
//!
//! No operator sees a channel, a lock, a task, a clock or a file, so any operator is tested by batches in and batches
//! out. The runtime owns time: within an epoch it calls [`Operator::begin`], then [`Operator::push`] any number of times,
//! [`Operator::seal`] once, and [`Operator::checkpoint`].
//!
//! **State has the shape of input.** A checkpoint delta is the consolidated input of the epoch, so state is restored by
//! routing the deltas through the same exchange as live input and handing each instance its share: a restart with
//! another number of workers needs nothing else. Deltas add up; a full checkpoint is one delta that stands for all.

pub mod spec;

pub(crate) mod accumulator;
pub(crate) mod aggregate;
mod constant;
mod dedup;
mod group_table;
mod join;
mod late;
pub(crate) mod map;
pub mod recompute;
pub(crate) mod session;
mod temporal;
mod union;
pub(crate) mod unnest;
pub(crate) mod window_assign;

pub use late::LateRow;
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::source::BadRow;

/// An incremental operator instance on one worker.
pub trait Operator: Send {
    /// The epoch starts; its constants are known.
    fn begin(&mut self, _context: &OperatorContext) -> Result<()> {
        Ok(())
    }

    /// Changes arrive on input `port`, whose schema is that of the node connected there.
    fn push(&mut self, port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()>;

    /// All input of the epoch was pushed.
    fn seal(&mut self, _context: &OperatorContext, _output: &mut Output) -> Result<()> {
        Ok(())
    }

    /// What changed since the last checkpoint, or the whole state when `full`; nothing for stateless operators. Called
    /// after `seal`.
    fn checkpoint(&mut self, _full: bool) -> Result<Vec<StateBatch>> {
        Ok(Vec::new())
    }

    /// Takes back what checkpoints returned, oldest first, this instance's share only. `context` is that of the last
    /// committed epoch.
    fn restore(&mut self, _context: &OperatorContext, _state: StateBatch) -> Result<()> {
        Ok(())
    }

    /// All state was handed back: drop what the last committed watermark had closed.
    fn restored(&mut self, _context: &OperatorContext) -> Result<()> {
        Ok(())
    }

    /// Counters of the epoch since `begin`, and sizes now.
    fn metrics(&self) -> OperatorMetrics {
        OperatorMetrics::default()
    }
}

/// State of one input port, in the port's own schema.
#[derive(Debug, Clone, PartialEq)]
pub struct StateBatch {
    pub port: usize,
    pub changes: ChangeBatch,
}

impl StateBatch {
    /// The checkpoint of an operator with one input; nothing where a delta says nothing.
    pub(crate) fn of_input(changes: Option<ChangeBatch>, full: bool) -> Vec<StateBatch> {
        changes
            .filter(|changes| full || !changes.is_empty())
            .map(|changes| StateBatch { port: 0, changes })
            .into_iter()
            .collect()
    }
}

/// What an operator hands on.
#[derive(Debug, Default)]
pub struct Output {
    pub changes: Vec<ChangeBatch>,
    /// Rows set aside because an expression failed on them.
    pub bad_rows: Vec<BadRow>,
    /// Rows that came too late.
    pub late_rows: Vec<LateRow>,
}

impl Output {
    /// Hands on `changes` unless it is empty.
    pub fn send(&mut self, changes: ChangeBatch) {
        if !changes.is_empty() {
            self.changes.push(changes);
        }
    }
}

/// Counters for progress reports, summed over the workers.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OperatorMetrics {
    /// Entries (groups, keys) in state now.
    pub rows_total: u64,
    /// Entries inserted or changed in this epoch.
    pub rows_updated: u64,
    /// Entries removed in this epoch.
    pub rows_removed: u64,
    /// Input rows that were late, in this epoch.
    pub rows_dropped_by_watermark: u64,
    /// Input rows whose event time is NULL and which are therefore in no window.
    pub null_event_time: u64,
    /// Input rows that were dropped as duplicates.
    #[serde(default)]
    pub duplicates: u64,
    /// When the clock alone will change the result: microseconds since 1970.
    #[serde(default)]
    pub due_us: Option<i64>,
    /// Bytes of state now, estimated.
    pub memory_bytes: u64,
}
