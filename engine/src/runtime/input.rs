//! Reading the input of an epoch: pieces that any worker may take, one batch at a time, measured on the way in.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use millpond_storage::{ChangeBatch, Cut, LogEntry};
use parking_lot::Mutex;

use crate::dataflow::EventTime;
use crate::error::Result;
use crate::query::lateness::Lateness;
use crate::source::{BadRow, Slice, SliceReader, Source};

/// Rows that enter a dataflow in one piece at most.
const BATCH_ROWS: usize = 16_384;

/// The range of one input in one epoch, cut into pieces. Workers take from the front.
pub(crate) struct InputQueue {
    /// Set for slices.
    pub(super) source: Option<Arc<dyn Source>>,
    /// Columns to read, ascending.
    pub(super) projection: Vec<usize>,
    pieces: Mutex<VecDeque<Piece>>,
}

enum Piece {
    Slice(Slice),
    Entry(LogEntry),
    /// Read already and too large for one worker: the others help. With all columns, and the cut that they stand at.
    Changes(ChangeBatch, Cut),
}

impl InputQueue {
    pub(crate) fn of_source(source: Arc<dyn Source>, projection: Vec<usize>, slices: Vec<Slice>) -> Self {
        let pieces = Mutex::new(slices.into_iter().map(Piece::Slice).collect());
        Self {
            source: Some(source),
            projection,
            pieces,
        }
    }

    pub(crate) fn of_relation(projection: Vec<usize>, entries: Vec<LogEntry>) -> Self {
        let pieces = Mutex::new(entries.into_iter().map(Piece::Entry).collect());
        Self {
            source: None,
            projection,
            pieces,
        }
    }

    fn take(&self) -> Option<Piece> {
        self.pieces.lock().pop_front()
    }

    fn is_empty(&self) -> bool {
        self.pieces.lock().is_empty()
    }

    /// Puts pieces back in front of the others.
    fn put_back(&self, pieces: Vec<ChangeBatch>, cut: Cut) {
        let mut queue = self.pieces.lock();
        for piece in pieces.into_iter().rev() {
            queue.push_front(Piece::Changes(piece, cut));
        }
    }
}

/// What one worker reads of one input during an epoch.
#[derive(Default)]
pub(crate) struct InputReader {
    pub(super) slice: Option<Box<dyn SliceReader>>,
    entry: Option<(EntryReader, Cut)>,
}

type EntryReader = Box<dyn Iterator<Item = millpond_storage::Result<ChangeBatch>> + Send>;

/// One piece of input.
pub(crate) struct InputBatch {
    pub(crate) changes: ChangeBatch,
    pub(super) bytes: u64,
    pub(super) bad_rows: Vec<BadRow>,
    /// Of a relation: the same with all columns, and the cut that they stand at in its log.
    pub(super) logged: Option<(ChangeBatch, Cut)>,
}

impl InputReader {
    /// The next batch; `None` when nothing is left for this worker.
    pub(crate) fn next(&mut self, queue: &InputQueue) -> Result<Option<InputBatch>> {
        loop {
            if let Some(reader) = &mut self.slice {
                if let Some(batch) = reader.next()? {
                    let changes = ChangeBatch::insertions(batch.rows);
                    return Ok(Some(InputBatch {
                        changes,
                        bytes: batch.bytes,
                        bad_rows: batch.bad_rows,
                        logged: None,
                    }));
                }
                self.slice = None;
            }
            if let Some((changes, cut)) = self.next_of_entry(queue)? {
                return logged(changes, cut, queue, 0).map(Some);
            }
            match queue.take() {
                None => return Ok(None),
                Some(Piece::Slice(slice)) => {
                    let source = queue.source.as_ref().expect("slices come from a source");
                    self.slice = Some(source.open(&slice, &queue.projection)?);
                }
                Some(Piece::Entry(entry)) => {
                    self.entry = Some((entry.batches()?, entry.cut));
                    if let Some((changes, cut)) = self.next_of_entry(queue)? {
                        return logged(changes, cut, queue, entry.bytes).map(Some);
                    }
                }
                Some(Piece::Changes(changes, cut)) => return logged(changes, cut, queue, 0).map(Some),
            }
        }
    }
}

impl InputReader {
    /// The next piece of the entry under way. What one batch has more goes back for whoever is free, and one batch more
    /// if nobody else has anything to do.
    fn next_of_entry(&mut self, queue: &InputQueue) -> Result<Option<(ChangeBatch, Cut)>> {
        let Some((entry, cut)) = &mut self.entry else {
            return Ok(None);
        };
        let cut = *cut;
        let mut pieces = Vec::new();
        let wanted = if queue.is_empty() { 2 } else { 1 };
        while pieces.len() < wanted {
            let Some(changes) = entry.next().transpose()? else {
                self.entry = None;
                break;
            };
            cut_small(&changes, &mut pieces);
        }
        let rest = if pieces.len() > 1 {
            pieces.split_off(1)
        } else {
            Vec::new()
        };
        queue.put_back(rest, cut);
        Ok(pieces.pop().map(|piece| (piece, cut)))
    }
}

fn logged(changes: ChangeBatch, cut: Cut, queue: &InputQueue, bytes: u64) -> Result<InputBatch> {
    Ok(InputBatch {
        changes: project(changes.clone(), &queue.projection)?,
        bytes,
        bad_rows: Vec::new(),
        logged: Some((changes, cut)),
    })
}

fn project(changes: ChangeBatch, projection: &[usize]) -> Result<ChangeBatch> {
    if projection.len() == changes.rows().num_columns() {
        return Ok(changes);
    }
    let rows = changes.rows().project(projection)?;
    Ok(changes.with_rows(rows))
}

fn cut_small(changes: &ChangeBatch, pieces: &mut Vec<ChangeBatch>) {
    let rows = changes.num_rows();
    let mut start = 0;
    while start < rows {
        let length = BATCH_ROWS.min(rows - start);
        pieces.push(changes.slice(start, length));
        start += length;
    }
}

/// What was read of one input, summed over the workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct InputMetrics {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) bad_rows: u64,
    /// The greatest event time that is not too far ahead of the processing time: what the watermark follows.
    pub(crate) guarded_max: Option<i64>,
    /// Rows whose event time is too far ahead.
    pub(crate) future_rows: u64,
    pub(crate) null_event_time: u64,
    pub(crate) max: Option<i64>,
    pub(crate) min: Option<i64>,
    pub(crate) sum: i128,
    pub(crate) count: u64,
    /// By how much rows are behind the newest one of the epochs before.
    pub(crate) lateness: Lateness,
    /// Rows that operators dropped as late, as far as they can be told to this input.
    pub(crate) late_rows: u64,
}

impl InputMetrics {
    pub(crate) fn add(&mut self, other: &InputMetrics) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.bad_rows += other.bad_rows;
        self.guarded_max = self.guarded_max.max(other.guarded_max);
        self.future_rows += other.future_rows;
        self.null_event_time += other.null_event_time;
        self.max = self.max.max(other.max);
        self.min = least(self.min, other.min);
        self.sum += other.sum;
        self.count += other.count;
        self.lateness.merge(&other.lateness);
        self.late_rows += other.late_rows;
    }

    /// Takes account of a batch that is about to enter the dataflow. `newest`: the greatest event time of the epochs before.
    pub(super) fn measure(
        &mut self,
        batch: &InputBatch,
        event_time: Option<&EventTime>,
        processing_time_us: i64,
        newest: Option<i64>,
    ) -> Result<()> {
        self.bytes += batch.bytes;
        self.bad_rows += batch.bad_rows.len() as u64;
        self.rows += match batch.changes.weights() {
            None => batch.changes.num_rows() as u64,
            Some(weights) => weights.values().iter().map(|weight| weight.unsigned_abs()).sum(),
        };
        match event_time {
            Some(event_time) if !batch.changes.is_empty() => {
                self.measure_times(&batch.changes, event_time, processing_time_us, newest)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn measure_times(
        &mut self,
        changes: &ChangeBatch,
        event_time: &EventTime,
        now_us: i64,
        newest: Option<i64>,
    ) -> Result<()> {
        let newest = newest.unwrap_or(i64::MIN);
        let column = changes.rows().column(event_time.column);
        let micros = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
        let times = micros.as_primitive::<TimestampMicrosecondType>();
        let guard = event_time
            .max_future_us
            .map_or(i64::MAX, |ahead| now_us.saturating_add(ahead));
        if let (None, 0, Some(min), Some(max)) =
            (changes.weights(), times.null_count(), min(times), max(times))
            && max <= guard
        {
            self.guarded_max = self.guarded_max.max(Some(max));
            self.max = self.max.max(Some(max));
            self.min = least(self.min, Some(min));
            self.sum += sum(times.values());
            self.count += times.len() as u64;
            if min >= newest {
                self.lateness.add(0, times.len() as u64);
            } else {
                let behind = times
                    .values()
                    .iter()
                    .map(|time| newest.saturating_sub(*time).max(0));
                behind.for_each(|us| self.lateness.add(us, 1));
            }
            return Ok(());
        }
        for (row, time) in times.values().iter().enumerate() {
            // A row taken away was counted when it came.
            let weight = changes.weight(row);
            if weight <= 0 {
                continue;
            }
            if times.is_null(row) {
                self.null_event_time += weight.unsigned_abs();
                continue;
            }
            if *time > guard {
                self.future_rows += weight.unsigned_abs();
            } else {
                self.guarded_max = self.guarded_max.max(Some(*time));
            }
            self.max = self.max.max(Some(*time));
            self.min = least(self.min, Some(*time));
            self.sum += i128::from(*time) * i128::from(weight);
            self.count += weight.unsigned_abs();
            let behind = newest.saturating_sub(*time).max(0);
            self.lateness.add(behind, weight.unsigned_abs());
        }
        Ok(())
    }
}

/// Without overflow, in loops over plain words: high and low halves apart. Fewer than 2^31 values.
fn sum(values: &[i64]) -> i128 {
    let high: i64 = values.iter().map(|value| value >> 32).sum();
    let low: i64 = values.iter().map(|value| value & 0xffff_ffff).sum();
    (i128::from(high) << 32) + i128::from(low)
}

/// The lesser of what is there.
fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
