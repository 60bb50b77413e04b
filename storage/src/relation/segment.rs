//! Segments: the pieces of a snapshot. Their rows never change; which of them still count is a bitmap beside them.
//!
//! Taking a row away sets a bit in a copy of the bitmap, so older snapshots keep theirs. A weight other than one stands
//! beside its row and never changes either: a row whose weight changes is taken away and added anew. A negative weight is
//! a row that was taken away before it came; it is part of the sum but not of the table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{filter, filter_record_batch, take, take_record_batch};
use arrow::error::ArrowError;

use parking_lot::Mutex;

use super::order::{KeyRange, Order};
use crate::change::ChangeBatch;
use crate::ipc;
use crate::payload::FilePayload;

#[derive(Debug)]
pub(crate) enum Segment {
    Memory {
        rows: RecordBatch,
        /// `None` = all one.
        weights: Option<Int64Array>,
        /// Bytes that the rows take.
        bytes: usize,
        /// By columns.
        orders: Mutex<HashMap<Vec<usize>, Arc<Order>>>,
    },
    /// An entry of an append-only log, read from its file when scanned. All weights are positive.
    File { payload: FilePayload, rows: usize },
}

impl Segment {
    pub(crate) fn memory(changes: ChangeBatch) -> Self {
        let bytes = batch_bytes(changes.rows());
        let (rows, weights) = changes.into_parts();
        Segment::Memory {
            rows,
            weights,
            bytes,
            orders: Mutex::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Segment::Memory { rows, .. } => rows.num_rows(),
            Segment::File { rows, .. } => *rows,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Segment::Memory { bytes, .. } => *bytes,
            Segment::File { .. } => 0,
        }
    }
}

/// Bytes of a batch's own rows, also when it is a slice of larger buffers.
pub(crate) fn batch_bytes(rows: &RecordBatch) -> usize {
    rows.columns()
        .iter()
        .map(|c| {
            c.to_data()
                .get_slice_memory_size()
                .unwrap_or_else(|_| c.get_array_memory_size())
        })
        .sum()
}

/// A segment of fewer rows is looked through.
const ORDERED_ROWS_MIN: usize = 1024;

/// Rows of a segment that no longer count.
#[derive(Debug, Clone)]
pub(crate) struct Bitmap(Vec<u64>);

impl Bitmap {
    fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    pub(crate) fn contains(&self, row: usize) -> bool {
        self.0[row / 64] & (1 << (row % 64)) != 0
    }

    fn insert(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }
}

/// A segment as one snapshot sees it.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Small number by which the index names the segment; unique among the views of one builder.
    pub id: u32,
    pub segment: Arc<Segment>,
    deleted: Option<Arc<Bitmap>>,
    /// Rows that still count, weights aside.
    pub live: usize,
}

impl View {
    pub(crate) fn new(id: u32, segment: Segment) -> Self {
        let live = segment.len();
        Self {
            id,
            segment: Arc::new(segment),
            deleted: None,
            live,
        }
    }

    pub(crate) fn is_live(&self, row: usize) -> bool {
        self.deleted.as_ref().is_none_or(|deleted| !deleted.contains(row))
    }

    pub(crate) fn delete(&mut self, row: usize) {
        assert!(self.is_live(row), "a row is taken away once");
        let deleted = self
            .deleted
            .get_or_insert_with(|| Arc::new(Bitmap::new(self.segment.len())));
        Arc::make_mut(deleted).insert(row);
        self.live -= 1;
    }

    /// The rows of a segment in memory, deleted ones included.
    pub(crate) fn rows(&self) -> Option<&RecordBatch> {
        match &*self.segment {
            Segment::Memory { rows, .. } => Some(rows),
            Segment::File { .. } => None,
        }
    }

    pub(crate) fn weight(&self, row: usize) -> i64 {
        match &*self.segment {
            Segment::Memory {
                weights: Some(weights),
                ..
            } => weights.value(row),
            _ => 1,
        }
    }

    /// The rows that count, with weights; `None` for a segment in a file.
    pub(crate) fn changes(&self) -> Result<Option<ChangeBatch>, ArrowError> {
        let Segment::Memory { rows, weights, .. } = &*self.segment else {
            return Ok(None);
        };
        let (mut rows, mut weights) = (rows.clone(), weights.clone());
        if self.deleted.is_some() {
            let live = (0..rows.num_rows())
                .map(|row| Some(self.is_live(row)))
                .collect::<BooleanArray>();
            if let Some(kept) = &weights {
                let kept = filter(kept, &live)?;
                weights = Some(
                    kept.as_any()
                        .downcast_ref::<Int64Array>()
                        .expect("weights stay Int64")
                        .clone(),
                );
            }
            rows = filter_record_batch(&rows, &live)?;
        }
        Ok(Some(match weights {
            Some(weights) => ChangeBatch::new(rows, weights),
            None => ChangeBatch::insertions(rows),
        }))
    }

    /// As [`View::changes`], without most of the rows outside of the range.
    pub(crate) fn changes_in(&self, range: &KeyRange) -> Result<Option<ChangeBatch>, ArrowError> {
        let Segment::Memory {
            rows,
            weights,
            orders,
            ..
        } = &*self.segment
        else {
            return Ok(None);
        };
        if rows.num_rows() < ORDERED_ROWS_MIN {
            return self.changes();
        }
        let known = orders.lock().get(&range.columns).cloned();
        let order = match known {
            Some(order) => order,
            None => {
                // Made outside of the lock; whoever comes meanwhile makes an equal one.
                let order = Arc::new(Order::new(rows, &range.columns)?);
                orders.lock().insert(range.columns.clone(), order.clone());
                order
            }
        };
        let mut found: Vec<u32> = order.find(range)?.to_vec();
        found.retain(|row| self.is_live(*row as usize));
        // Rows come in their order whichever way they are found.
        found.sort_unstable();
        let found = UInt32Array::from(found);
        let rows = take_record_batch(rows, &found)?;
        Ok(Some(match weights {
            Some(weights) => ChangeBatch::new(rows, take(weights, &found, None)?.as_primitive().clone()),
            None => ChangeBatch::insertions(rows),
        }))
    }

    /// Part of a view without deletions, as a view of its own.
    pub(crate) fn slice(&self, id: u32, offset: usize, length: usize) -> Option<View> {
        assert!(self.deleted.is_none(), "append-only relations have no deletions");
        let Segment::Memory { rows, weights, .. } = &*self.segment else {
            return None;
        };
        let rows = rows.slice(offset, length);
        let changes = match weights {
            Some(weights) => ChangeBatch::new(rows, weights.slice(offset, length)),
            None => ChangeBatch::insertions(rows),
        };
        Some(View::new(id, Segment::memory(changes)))
    }
}

/// Hands out each row as often as its weight says, negative ones not at all.
pub(crate) struct Repeat {
    changes: ChangeBatch,
    row: usize,
    /// How often `row` was handed out already.
    times: i64,
}

impl Repeat {
    pub(crate) fn new(changes: ChangeBatch) -> Self {
        Self {
            changes,
            row: 0,
            times: 0,
        }
    }

    /// The next batch; one of at most `limit` rows when any weight is not one. `None` at the end.
    pub(crate) fn next(&mut self, limit: usize) -> Option<Result<RecordBatch, ArrowError>> {
        let rows = self.changes.num_rows();
        let plain = self
            .changes
            .weights()
            .is_none_or(|weights| weights.values().iter().all(|w| *w == 1));
        if plain && self.row == 0 && rows > 0 {
            self.row = rows;
            return Some(Ok(self.changes.rows().clone()));
        }
        let mut picks: Vec<u32> = Vec::new();
        while self.row < rows && picks.len() < limit {
            let left = self.changes.weight(self.row) - self.times;
            let now = left.clamp(0, (limit - picks.len()) as i64);
            let row = u32::try_from(self.row).expect("a segment has less than 4 G rows");
            picks.extend(std::iter::repeat_n(row, now as usize));
            if now >= left {
                (self.row, self.times) = (self.row + 1, 0);
            } else {
                self.times += now;
            }
        }
        if picks.is_empty() {
            return None;
        }
        Some(match self.changes.rows().num_columns() {
            0 => ipc::batch(self.changes.schema(), vec![], picks.len()),
            _ => take_record_batch(self.changes.rows(), &UInt32Array::from(picks)),
        })
    }
}
