//! What the records of a query tell of its epochs: the rows of `sys.checkpoints`.

use std::collections::BTreeSet;

use millpond_storage::{Cut, Storage};
use serde_json::Value;

use super::record::BatchRecord;
use crate::error::Result;

/// An epoch whose records are kept.
#[derive(Debug, Clone)]
pub struct EpochRecord {
    pub epoch: u64,
    pub cut: Cut,
    /// The run that began it.
    pub run_id: String,
    pub processing_time_us: i64,
    /// It has happened; otherwise it was begun and runs again as it was.
    pub committed: bool,
    /// The result stands at the cut exactly.
    pub boundary: bool,
    /// Start and end offset of each input.
    pub offsets: Vec<(Value, Value)>,
    /// Watermark of each input during the epoch.
    pub watermarks: Vec<Option<i64>>,
}

/// Oldest first.
pub(crate) fn read(storage: &Storage, query: u64) -> Result<Vec<EpochRecord>> {
    let commits = storage.commits(query, 0)?;
    let committed: BTreeSet<u64> = commits.into_iter().map(|(epoch, _)| epoch).collect();
    let batches = storage.batches(query, 0)?.into_iter();
    batches
        .map(|(epoch, bytes)| {
            let record = BatchRecord::decode(&bytes)?;
            let offsets = record.ranges.iter();
            Ok(EpochRecord {
                epoch,
                cut: record.cut,
                committed: committed.contains(&epoch),
                boundary: record.reached,
                offsets: offsets
                    .map(|range| (range.from.offset(), range.to.offset()))
                    .collect(),
                run_id: record.run_id,
                processing_time_us: record.context.processing_time_us,
                watermarks: record.context.watermarks,
            })
        })
        .collect()
}
