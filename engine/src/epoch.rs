//! What is constant during an epoch.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bound::Watermark;

/// Number of a micro-batch of one query, from 0 without gaps: Spark's `batchId`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The constants of one epoch, fixed in its batch record before anything is read. Running an epoch again with an equal
/// context over the same ranges gives the same changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochContext {
    pub epoch: Epoch,
    /// Microseconds since 1970-01-01 UTC: what `now()` means in this epoch.
    pub processing_time_us: i64,
    /// One per dataflow input: no row with an event time below it is still to come. `None` before the first event time
    /// was seen, or for an input without a watermark.
    pub watermarks: Vec<Option<i64>>,
    /// Those of the epoch before; empty for the first one.
    #[serde(default)]
    pub watermarks_before: Vec<Option<i64>>,
}

impl EpochContext {
    /// What instance `worker` of `workers` sees of the epoch, where its inputs have these watermarks.
    pub(crate) fn of_operator(
        &self,
        watermarks: [Watermark; 2],
        worker: usize,
        workers: usize,
    ) -> OperatorContext {
        OperatorContext {
            epoch: self.epoch,
            processing_time_us: self.processing_time_us,
            watermarks,
            worker,
            workers,
        }
    }
}

/// The view that one operator instance has of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatorContext {
    pub epoch: Epoch,
    pub processing_time_us: i64,
    /// Of the time that the operator goes by: of each input of a join, else the first.
    pub watermarks: [Watermark; 2],
    /// Which of `workers` instances this is.
    pub worker: usize,
    pub workers: usize,
}

impl OperatorContext {
    /// No row below it comes in after this epoch.
    pub fn closes(&self) -> Option<i64> {
        self.watermarks[0].closes
    }

    /// A row below it is late.
    pub fn late(&self) -> Option<i64> {
        self.watermarks[0].late
    }
}
