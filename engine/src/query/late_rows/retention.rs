//! How long late rows are kept: a time, and a size. What is past either goes, the oldest first, with an epoch that runs
//! anyway; and an eighth more than that is let stand, so that the kept rows are looked through once in a while only.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, AsArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::TimestampMicrosecondType;
use millpond_catalog::LateRetention;
use millpond_storage::{ChangeBatch, Snapshot};

use crate::error::{Error, Result};

/// What a row takes beside what it holds.
const ROW_BYTES: u64 = 100;

/// What is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    bytes: u64,
    /// Processing time of the oldest rows.
    oldest_us: Option<i64>,
}

impl Kept {
    pub(crate) fn of(snapshot: &Arc<Snapshot>) -> Result<Kept> {
        let mut kept = Kept::default();
        for changes in snapshot.scan_changes() {
            kept.add(&changes?)?;
        }
        Ok(kept)
    }

    /// Takes account of rows that come or go.
    pub(crate) fn add(&mut self, changes: &ChangeBatch) -> Result<()> {
        let rows = Rows::of(changes)?;
        for row in 0..changes.num_rows() {
            let weight = changes.weight(row);
            let bytes = rows.bytes(row).saturating_mul(weight.unsigned_abs());
            if weight > 0 {
                self.bytes = self.bytes.saturating_add(bytes);
                let time = rows.times[row];
                self.oldest_us = Some(self.oldest_us.map_or(time, |oldest| oldest.min(time)));
            } else {
                self.bytes = self.bytes.saturating_sub(bytes);
            }
        }
        Ok(())
    }

    /// The rows that go in an epoch at `now_us`, as retractions; what is left is kept.
    pub(crate) fn expire(
        &mut self,
        snapshot: &Arc<Snapshot>,
        retention: LateRetention,
        now_us: i64,
    ) -> Result<Vec<ChangeBatch>> {
        let before = |time: Duration| {
            let us = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
            now_us.saturating_sub(us)
        };
        let too_old = retention.time.is_some_and(|time| {
            let patience = before(time.saturating_add(time / 8));
            self.oldest_us.is_some_and(|oldest| oldest < patience)
        });
        let too_much = { retention.bytes }.is_some_and(|max| self.bytes > max.saturating_add(max / 8));
        if !too_old && !too_much {
            return Ok(Vec::new());
        }
        let stored = snapshot
            .scan_changes()
            .collect::<Result<Vec<_>, _>>()
            .map_err(Error::from)?;
        let mut order = Vec::new();
        for (batch, changes) in stored.iter().enumerate() {
            let rows = Rows::of(changes)?;
            let places = (0..changes.num_rows()).map(|row| (rows.times[row], batch, row, rows.bytes(row)));
            order.extend(places);
        }
        order.sort_unstable_by_key(|(time, batch, row, _)| (*time, *batch, *row));
        let total: u64 = { order.iter() }
            .map(|(_, batch, row, bytes)| bytes * stored[*batch].weight(*row).unsigned_abs())
            .sum();
        let (mut left, mut gone) = (total, vec![Vec::new(); stored.len()]);
        let mut kept = Kept::default();
        for (time, batch, row, bytes) in order {
            let old = retention.time.is_some_and(|keep| time < before(keep));
            if old || retention.bytes.is_some_and(|max| left > max) {
                left -= bytes * stored[batch].weight(row).unsigned_abs();
                gone[batch].push(u32::try_from(row).unwrap_or(u32::MAX));
            } else {
                kept.oldest_us.get_or_insert(time);
            }
        }
        kept.bytes = left;
        *self = kept;
        let retractions =
            stored
                .iter()
                .zip(gone)
                .filter(|(_, rows)| !rows.is_empty())
                .map(|(changes, rows)| {
                    let weights = rows.iter().map(|row| -changes.weight(*row as usize));
                    let weights: Int64Array = weights.collect();
                    let rows: RecordBatch = take_record_batch(changes.rows(), &UInt32Array::from(rows))?;
                    Ok(ChangeBatch::new(rows, weights))
                });
        retractions.collect()
    }
}

/// What matters here of stored late rows.
struct Rows<'a> {
    times: &'a [i64],
    seen: &'a arrow::array::StringArray,
}

impl<'a> Rows<'a> {
    fn of(changes: &'a ChangeBatch) -> Result<Rows<'a>> {
        let column = |name: &str| {
            let column = changes.rows().column_by_name(name);
            column.ok_or_else(|| Error::Bug(format!("late rows have no column {name}")))
        };
        Ok(Rows {
            times: column("time")?
                .as_primitive::<TimestampMicrosecondType>()
                .values(),
            seen: column("row")?.as_string::<i32>(),
        })
    }

    /// The row of the source is about as large as what the operator saw of it.
    fn bytes(&self, row: usize) -> u64 {
        debug_assert!(self.seen.is_valid(row));
        ROW_BYTES + 2 * self.seen.value(row).len() as u64
    }
}
