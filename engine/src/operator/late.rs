//! Late rows: what operators tell about the rows that they drop because of the watermark.

use arrow::array::{Array, AsArray};
use arrow::datatypes::TimestampMicrosecondType;
use millpond_storage::ChangeBatch;

use crate::expression::row_as_json;
use crate::operator::Output;

/// A row that an operator dropped, since what it belongs to is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateRow {
    /// Event time; of a window that was assigned before, its start.
    pub time_us: i64,
    /// The watermark when it came.
    pub watermark_us: i64,
    /// How many rows like this there were.
    pub count: i64,
    /// The input of the operator that it came in by.
    pub port: usize,
    /// The row as the operator sees it, as JSON.
    pub row: Vec<u8>,
}

impl Output {
    /// Sets the rows at `positions` aside, whose times are in column `time`.
    pub(crate) fn set_late_rows_aside(
        &mut self,
        changes: &ChangeBatch,
        positions: impl IntoIterator<Item = usize>,
        time: usize,
        watermark_us: i64,
    ) {
        let times = changes
            .rows()
            .column(time)
            .as_primitive::<TimestampMicrosecondType>();
        let rows = positions.into_iter().filter(|row| times.is_valid(*row));
        self.late_rows.extend(rows.map(|row| LateRow {
            time_us: times.value(row),
            watermark_us,
            count: i64::try_from(changes.weight(row).unsigned_abs()).unwrap_or(i64::MAX),
            port: 0,
            row: row_as_json(changes.rows(), row),
        }));
    }
}
