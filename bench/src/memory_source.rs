//! Batches in memory as a source: what the engine does when reading costs nothing.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use millpond_engine::source::{Limit, Position, Slice, SliceReader, Source, SourceBatch, SourceError};
use serde_json::json;

use crate::nexmark;

/// Positions are numbers of batches.
pub struct MemorySource {
    pub batches: Arc<Vec<RecordBatch>>,
    /// What a row counts towards the size of an epoch: its length as JSON, so that epochs are those of files.
    pub row_bytes: u64,
}

/// `bids` bids in batches of 8192.
pub fn bids(bids: u64) -> Arc<Vec<RecordBatch>> {
    let starts = (0..bids).step_by(8192);
    Arc::new(
        starts
            .map(|start| nexmark::batch(start..bids.min(start + 8192)))
            .collect(),
    )
}

impl MemorySource {
    fn end(&self) -> u64 {
        self.batches.len() as u64
    }
}

fn number(position: &Position) -> u64 {
    position.0.as_u64().expect("a position made by this source")
}

impl Source for MemorySource {
    fn description(&self) -> String {
        "memory".to_owned()
    }

    fn schema(&self) -> SchemaRef {
        nexmark::schema()
    }

    fn start(&self) -> Position {
        Position(json!(0))
    }

    fn advance(
        &self,
        from: &Position,
        until: Option<&Position>,
        limit: Limit<'_>,
    ) -> Result<Option<Position>, SourceError> {
        let from = number(from);
        let end = self.end().min(until.map_or(u64::MAX, number));
        let end = end.min(from + (limit.bytes / (8192 * self.row_bytes)).max(1));
        Ok((end > from).then(|| Position(json!(end))))
    }

    fn latest(&self, _now_us: i64) -> Result<Position, SourceError> {
        Ok(Position(json!(self.end())))
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        number(position) >= number(target)
    }

    fn slices(&self, from: &Position, to: &Position, _workers: usize) -> Result<Vec<Slice>, SourceError> {
        let slice = |batch: u64| Slice {
            what: json!(batch),
            bytes: self.batches[batch as usize].num_rows() as u64 * self.row_bytes,
        };
        Ok((number(from)..number(to)).map(slice).collect())
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let batch = slice.what.as_u64().expect("a slice made by this source") as usize;
        let rows = self.batches[batch]
            .project(projection)
            .expect("a projection of this source's schema");
        Ok(Box::new(MemoryReader(Some(SourceBatch {
            rows,
            bytes: slice.bytes,
            bad_rows: Vec::new(),
        }))))
    }

    fn forget(&self, _position: &Position) {}

    fn poll_interval_ms(&self) -> u64 {
        1000
    }
}

struct MemoryReader(Option<SourceBatch>);

impl SliceReader for MemoryReader {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        Ok(self.0.take())
    }
}
