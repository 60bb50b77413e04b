//! Rows that a view has set aside: input that could not be decoded and rows on which an expression failed.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use millpond_storage::ChangeBatch;

use crate::epoch::EpochContext;
use crate::error::Result;
use crate::source::BadRow;

/// Columns of the relation that [`crate::engine::Engine::bad_rows`] returns: `epoch`, the epoch's processing `time`,
/// `origin` (the input's name, or the operator's), `position`, `bytes`, `error`.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("epoch", DataType::Int64, false),
        Field::new(
            "time",
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            false,
        ),
        Field::new("origin", DataType::Utf8, false),
        Field::new("position", DataType::Utf8, false),
        Field::new("bytes", DataType::Binary, false),
        Field::new("error", DataType::Utf8, false),
    ]))
}

/// The rows that an epoch adds.
pub(crate) fn changes(context: &EpochContext, rows: &[(String, BadRow)]) -> Result<Vec<ChangeBatch>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let epoch = i64::try_from(context.epoch.0).unwrap_or(i64::MAX);
    let times = TimestampMicrosecondArray::from_value(context.processing_time_us, rows.len());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_value(epoch, rows.len())),
        Arc::new(times.with_timezone("UTC")),
        Arc::new(StringArray::from_iter_values(
            rows.iter().map(|(origin, _)| origin),
        )),
        Arc::new(StringArray::from_iter_values(
            rows.iter().map(|(_, row)| &row.position),
        )),
        Arc::new(BinaryArray::from_iter_values(
            rows.iter().map(|(_, row)| &row.bytes),
        )),
        Arc::new(StringArray::from_iter_values(
            rows.iter().map(|(_, row)| &row.error),
        )),
    ];
    Ok(vec![ChangeBatch::insertions(RecordBatch::try_new(
        schema(),
        columns,
    )?)])
}
