//! The rate-micro-batch source: the same number of rows in every epoch, told by the epoch's number alone.
//!
//! There is always a next batch, so a query takes one per trigger. Nothing depends on a clock: any run gives the same rows.

mod options;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, Options, arrow_schema};
use millpond_engine::source::{Limit, Position, Slice, SliceReader, Source, SourceContext, SourceError};
use serde_json::json;

use crate::connector::Connector;
use crate::error::Result;
use crate::numbered::{self, ROW_BYTES, TimedValues};
use crate::options::OptionReader;
use crate::rate;
use options::BatchOptions;

pub const CONNECTOR: Connector = Connector {
    name: "rate-micro-batch",
    doc: "Rows `(timestamp, value)`, `rows_per_batch` of them in every epoch; value counts from 0, and the rows of a batch have one timestamp.",
    options: BatchOptions::SPECS,
    changeable: &[],
    fault_tolerant: true,
    columns: |_| Some(rate::columns()),
    validate,
    open,
};

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    read_options(options)?;
    rate::check_columns(CONNECTOR.name, columns)
}

fn read_options(options: &Options) -> Result<BatchOptions> {
    let mut reader = OptionReader::new("connector \"rate-micro-batch\"", options);
    let batch = BatchOptions::read(&mut reader)?;
    reader.finish()?;
    Ok(batch)
}

fn open(options: &Options, columns: &[Column], _: SourceContext) -> Result<Arc<dyn Source>> {
    let options = read_options(options)?;
    rate::check_columns(CONNECTOR.name, columns)?;
    Ok(Arc::new(BatchSource {
        schema: arrow_schema(columns),
        options,
        handed_out: AtomicU64::new(0),
    }))
}

struct BatchSource {
    schema: SchemaRef,
    options: BatchOptions,
    /// Batches that a query has begun since the start of the server.
    handed_out: AtomicU64,
}

/// Batches before it were read.
fn position(batch: u64) -> Position {
    Position(json!({ "batch": batch }))
}

fn batch_of(position: &Position) -> u64 {
    position.0["batch"]
        .as_u64()
        .expect("a position made by this source")
}

impl BatchSource {
    fn time_us(&self, batch: u64) -> i64 {
        let advance_ms = self.options.advance_millis_per_batch.get();
        let millis = i128::from(self.options.start_timestamp.0) + i128::from(batch) * i128::from(advance_ms);
        i64::try_from(millis * 1000).unwrap_or(i64::MAX)
    }
}

impl Source for BatchSource {
    fn description(&self) -> String {
        format!("rate-micro-batch[{} rows per batch]", self.options.rows_per_batch)
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn start(&self) -> Position {
        position(0)
    }

    fn advance(
        &self,
        from: &Position,
        until: Option<&Position>,
        _: Limit,
    ) -> Result<Option<Position>, SourceError> {
        let next = batch_of(from).saturating_add(1);
        if until.is_some_and(|until| batch_of(until) < next) {
            return Ok(None);
        }
        self.handed_out.fetch_max(next, Ordering::Relaxed);
        Ok(Some(position(next)))
    }

    /// What was begun: the source itself has no end that anyone could wait for.
    fn latest(&self, _: i64) -> Result<Position, SourceError> {
        Ok(position(self.handed_out.load(Ordering::Relaxed)))
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        batch_of(position) >= batch_of(target)
    }

    fn slices(&self, from: &Position, to: &Position, workers: usize) -> Result<Vec<Slice>, SourceError> {
        let rows = self.options.rows_per_batch.get();
        let (from, to) = (
            batch_of(from).saturating_mul(rows),
            batch_of(to).saturating_mul(rows),
        );
        let pieces = self
            .options
            .num_partitions
            .map_or(workers as u64, |n| n.get())
            .max(1);
        Ok(numbered::slices(from, to, pieces, ROW_BYTES))
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let values = numbered::numbers(slice);
        let rows = self.options.rows_per_batch.get();
        let first = values.start / rows;
        // Of each batch of the slice.
        let times: Vec<i64> = (first..=values.end / rows)
            .map(|batch| self.time_us(batch))
            .collect();
        Ok(Box::new(TimedValues {
            schema: numbered::projected(&self.schema, projection),
            time_of: move |value| times[(value / rows - first) as usize],
            values,
            last: 0,
        }))
    }

    fn forget(&self, _: &Position) {}

    fn poll_interval_ms(&self) -> u64 {
        100
    }
}

#[cfg(test)]
mod tests;
