//! Rows that came too late for a view: what they belong to was final, and its state freed.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use millpond_storage::ChangeBatch;

use crate::epoch::EpochContext;
use crate::error::Result;
use crate::operator::LateRow;

/// Columns of the relation that [`crate::engine::Engine::late_rows`] returns: `epoch`, the epoch's processing `time`, the
/// `operator` that dropped the row, its `event_time`, the `watermark`, and the `row` as JSON.
pub fn schema() -> SchemaRef {
    let time = |name: &str| {
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        Field::new(name, utc, false)
    };
    Arc::new(Schema::new(vec![
        Field::new("epoch", DataType::Int64, false),
        time("time"),
        Field::new("operator", DataType::Utf8, false),
        time("event_time"),
        time("watermark"),
        Field::new("row", DataType::Utf8, false),
    ]))
}

/// The rows that an epoch adds.
pub(crate) fn changes(context: &EpochContext, rows: &[(String, LateRow)]) -> Result<Vec<ChangeBatch>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let times = |of: &dyn Fn(&LateRow) -> i64| -> ArrayRef {
        let times = TimestampMicrosecondArray::from_iter_values(rows.iter().map(|(_, row)| of(row)));
        Arc::new(times.with_timezone("UTC"))
    };
    let epoch = i64::try_from(context.epoch.0).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_value(epoch, rows.len())),
        times(&|_| context.processing_time_us),
        Arc::new(StringArray::from_iter_values(
            rows.iter().map(|(operator, _)| operator),
        )),
        times(&|row| row.time_us),
        times(&|row| row.watermark_us),
        Arc::new(StringArray::from_iter_values(
            { rows.iter() }.map(|(_, row)| String::from_utf8_lossy(&row.row)),
        )),
    ];
    let batch = RecordBatch::try_new(schema(), columns)?;
    let weights = rows.iter().map(|(_, row)| row.count).collect::<Vec<_>>();
    Ok(vec![ChangeBatch::new(batch, weights.into())])
}
