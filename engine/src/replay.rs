//! A replayable source in memory, for tests: rows are added by the test, positions count rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parking_lot::Mutex;
use serde_json::json;

use crate::source::{BadRow, Limit, Position, Slice, SliceReader, Source, SourceBatch, SourceError};

/// Bytes that one row counts as.
pub(crate) const ROW_BYTES: u64 = 10;

/// A row of the one schema: key, value, event time in microseconds. A value of `i64::MIN` cannot be decoded.
pub(crate) type Row = (&'static str, i64, i64);

#[derive(Default)]
pub(crate) struct ReplaySource {
    rows: Mutex<Vec<Row>>,
    /// Rows per epoch, 0 for no cap.
    pub(crate) cap: AtomicU64,
    /// What to answer instead of rows.
    pub(crate) trouble: Mutex<Option<SourceError>>,
    pub(crate) forgotten: AtomicU64,
}

impl ReplaySource {
    pub(crate) fn with(rows: &[Row]) -> Arc<Self> {
        let source = Self::default();
        source.add(rows);
        Arc::new(source)
    }

    pub(crate) fn add(&self, rows: &[Row]) {
        self.rows.lock().extend_from_slice(rows);
    }

    fn check(&self) -> Result<(), SourceError> {
        match &*self.trouble.lock() {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(()),
        }
    }
}

pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Microsecond, None), true),
    ]))
}

pub(crate) fn batch(rows: &[Row]) -> RecordBatch {
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(
        rows.iter().map(|row| row.2),
    ));
    RecordBatch::try_new(schema(), vec![keys, values, times]).unwrap()
}

pub(crate) fn position(row: u64) -> Position {
    Position(json!({ "row": row }))
}

fn row_of(position: &Position) -> u64 {
    position.0["row"].as_u64().unwrap()
}

impl Source for ReplaySource {
    fn description(&self) -> String {
        "replay[memory]".to_owned()
    }

    fn schema(&self) -> SchemaRef {
        schema()
    }

    fn start(&self) -> Position {
        position(0)
    }

    fn advance(
        &self,
        from: &Position,
        until: Option<&Position>,
        limit: Limit<'_>,
    ) -> Result<Option<Position>, SourceError> {
        self.check()?;
        let from = row_of(from);
        let mut to = self.rows.lock().len() as u64;
        if let Some(until) = until {
            to = to.min(row_of(until));
        }
        let cap = self.cap.load(Ordering::SeqCst);
        if cap > 0 {
            to = to.min(from + cap);
        }
        to = to.min(from + (limit.bytes / ROW_BYTES).max(1));
        Ok((to > from).then(|| position(to)))
    }

    fn latest(&self, _now_us: i64) -> Result<Position, SourceError> {
        self.check()?;
        Ok(position(self.rows.lock().len() as u64))
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        row_of(position) >= row_of(target)
    }

    fn slices(&self, from: &Position, to: &Position, workers: usize) -> Result<Vec<Slice>, SourceError> {
        self.check()?;
        let (from, to) = (row_of(from), row_of(to));
        let step = (to - from).div_ceil(workers as u64 * 2).max(1);
        let starts = (from..to).step_by(usize::try_from(step).unwrap());
        Ok(starts
            .map(|start| {
                let end = to.min(start + step);
                Slice {
                    what: json!({ "start": start, "end": end }),
                    bytes: (end - start) * ROW_BYTES,
                }
            })
            .collect())
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        self.check()?;
        let start = slice.what["start"].as_u64().unwrap() as usize;
        let end = slice.what["end"].as_u64().unwrap() as usize;
        let rows = self.rows.lock()[start..end].to_vec();
        Ok(Box::new(Reader {
            rows,
            next: 0,
            start,
            projection: projection.to_vec(),
        }))
    }

    fn forget(&self, position: &Position) {
        self.forgotten.store(row_of(position), Ordering::SeqCst);
    }

    fn poll_interval_ms(&self) -> u64 {
        50
    }
}

struct Reader {
    rows: Vec<Row>,
    next: usize,
    start: usize,
    projection: Vec<usize>,
}

impl SliceReader for Reader {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        if self.next == self.rows.len() {
            return Ok(None);
        }
        // Small batches, so that an epoch has many.
        let end = self.rows.len().min(self.next + 3);
        let piece = &self.rows[self.next..end];
        let good: Vec<Row> = piece.iter().copied().filter(|row| row.1 != i64::MIN).collect();
        let bad_rows = piece
            .iter()
            .enumerate()
            .filter(|(_, row)| row.1 == i64::MIN)
            .map(|(i, row)| BadRow {
                position: format!("row {}", self.start + self.next + i),
                bytes: row.0.as_bytes().to_vec(),
                error: "value out of range".to_owned(),
            })
            .collect();
        self.next = end;
        let whole = batch(&good);
        let columns = self
            .projection
            .iter()
            .map(|column| Arc::clone(whole.column(*column)))
            .collect();
        let schema = Arc::new(schema().project(&self.projection).unwrap());
        let options = RecordBatchOptions::new().with_row_count(Some(good.len()));
        let rows = RecordBatch::try_new_with_options(schema, columns, &options).unwrap();
        Ok(Some(SourceBatch {
            rows,
            bytes: piece.len() as u64 * ROW_BYTES,
            bad_rows,
        }))
    }
}
