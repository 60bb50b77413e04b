//! Late rows: what operators tell about the rows that they drop because of the watermark.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::TimestampMicrosecondType;
use millpond_storage::ChangeBatch;

use crate::error::Result;
use crate::expression::row_as_json;
use crate::operator::Output;

/// A row that an operator dropped, since what it belongs to is final.
#[derive(Debug, Clone)]
pub struct LateRow {
    /// Event time; of a window that was assigned before, its start.
    pub time_us: i64,
    /// The watermark when it came.
    pub watermark_us: i64,
    /// How many rows like this there were.
    pub count: i64,
    /// The input of the operator that it came in by.
    pub port: usize,
    /// The row as the operator sees it is one of these.
    pub rows: Arc<RecordBatch>,
    pub row: usize,
}

impl LateRow {
    /// The row as the operator sees it.
    pub fn json(&self) -> Vec<u8> {
        row_as_json(&self.rows, self.row)
    }
}

impl Output {
    /// Sets the rows at `positions` aside, whose times are in column `time`.
    pub(crate) fn set_late_rows_aside(
        &mut self,
        changes: &ChangeBatch,
        positions: impl IntoIterator<Item = usize>,
        time: usize,
        watermark_us: i64,
    ) -> Result<()> {
        let times = changes
            .rows()
            .column(time)
            .as_primitive::<TimestampMicrosecondType>();
        let positions: Vec<usize> = { positions.into_iter() }
            .filter(|row| times.is_valid(*row))
            .collect();
        if positions.is_empty() {
            return Ok(());
        }
        let late = UInt32Array::from_iter_values(positions.iter().map(|row| *row as u32));
        let rows = Arc::new(take_record_batch(changes.rows(), &late)?);
        self.late_rows
            .extend({ positions.iter().enumerate() }.map(|(at, row)| LateRow {
                time_us: times.value(*row),
                watermark_us,
                count: i64::try_from(changes.weight(*row).unsigned_abs()).unwrap_or(i64::MAX),
                port: 0,
                rows: Arc::clone(&rows),
                row: at,
            }));
        Ok(())
    }
}
