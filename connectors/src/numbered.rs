//! What sources of numbered rows have in common: ranges of numbers as slices, and rows of a time and a number.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, SchemaRef};
use millpond_engine::source::{Place, Slice, SliceReader, SourceBatch, SourceError};
use serde_json::json;

/// A row counts as this many bytes of input: a timestamp and a number.
pub const ROW_BYTES: u64 = 16;
const BATCH_ROWS: u64 = 8192;

/// Splits the numbers `from..to` into about `pieces` slices, a number counting as `row_bytes` bytes of input.
pub fn slices(from: u64, to: u64, pieces: u64, row_bytes: u64) -> Vec<Slice> {
    let step = to.saturating_sub(from).div_ceil(pieces.max(1)).max(1);
    let mut slices = Vec::new();
    let mut start = from;
    while start < to {
        let end = (start + step).min(to);
        slices.push(Slice {
            what: json!([start, end]),
            bytes: (end - start) * row_bytes,
        });
        start = end;
    }
    slices
}

/// The numbers of a slice that [`slices`] made.
pub fn numbers(slice: &Slice) -> Range<u64> {
    let bound = |index: usize| slice.what[index].as_u64().expect("a slice made by this source");
    bound(0)..bound(1)
}

/// The columns of `schema` at these positions.
pub fn projected(schema: &SchemaRef, projection: &[usize]) -> SchemaRef {
    let schema = schema.project(projection);
    Arc::new(schema.expect("a projection of this source's schema"))
}

/// Rows `(timestamp, value)`, with the time in microseconds that `time_of` gives for each value.
pub struct TimedValues<F> {
    pub schema: SchemaRef,
    pub time_of: F,
    /// Those still to be read.
    pub values: Range<u64>,
    /// The first of the last batch.
    pub last: u64,
}

impl<F: Fn(u64) -> i64 + Send> SliceReader for TimedValues<F> {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        if self.values.is_empty() {
            return Ok(None);
        }
        let end = self.values.end.min(self.values.start + BATCH_ROWS);
        let values = self.values.start..end;
        self.values.start = end;
        self.last = values.start;
        let rows = (values.end - values.start) as usize;
        let columns = self
            .schema
            .fields()
            .iter()
            .map(|field| self.column(field.data_type(), values.clone()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns.collect(), &options)
            .expect("columns made after the schema");
        Ok(Some(SourceBatch {
            bytes: rows.num_rows() as u64 * ROW_BYTES,
            rows,
            bad_rows: Vec::new(),
        }))
    }

    fn places(&mut self, rows: &[usize]) -> Result<Option<Vec<Place>>, SourceError> {
        let place = |row: &usize| Place {
            partition: None,
            offset: i64::try_from(self.last + *row as u64).unwrap_or(i64::MAX),
        };
        Ok(Some(rows.iter().map(place).collect()))
    }
}

impl<F: Fn(u64) -> i64> TimedValues<F> {
    fn column(&self, data_type: &DataType, values: Range<u64>) -> ArrayRef {
        match data_type {
            DataType::Timestamp(_, zone) => {
                let times = TimestampMicrosecondArray::from_iter_values(values.map(&self.time_of));
                Arc::new(times.with_timezone_opt(zone.clone()))
            }
            _ => Arc::new(Int64Array::from_iter_values(values.map(|value| value as i64))),
        }
    }
}
