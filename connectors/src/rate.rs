//! The rate source: numbered rows at a fixed rate, for trying things out and for load.
//!
//! Value v belongs to one instant, `time_of(v)`, which only depends on the start time and the options. The start time is
//! kept in the source's notes, so a replay and a restart give the same rows and go on without a gap.

mod options;
mod schedule;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, Options, SqlType, arrow_schema};
use millpond_engine::source::{Limit, Position, Slice, SliceReader, Source, SourceContext, SourceError};
use serde_json::json;

use crate::connector::Connector;
use crate::error::{Error, Result};
use crate::numbered::{self, ROW_BYTES, TimedValues};
use crate::options::OptionReader;
use options::RateOptions;
use schedule::Schedule;

pub const CONNECTOR: Connector = Connector {
    name: "rate",
    doc: "Rows `(timestamp, value)`: value counts from 0 without gaps, timestamp is the instant at which the value is due.",
    options: RateOptions::SPECS,
    changeable: &[],
    fault_tolerant: true,
    columns: |_| Some(columns()),
    validate,
    open,
};

const START_KEY: &str = "start_us";

pub fn columns() -> Vec<Column> {
    let column = |name: &str, sql_type| Column {
        name: name.to_owned(),
        sql_type,
        nullable: true,
        default: None,
    };
    vec![
        column("timestamp", SqlType::Timestamp),
        column("value", SqlType::Int8),
    ]
}

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    read_options(options)?;
    check_columns(CONNECTOR.name, columns)
}

fn read_options(options: &Options) -> Result<RateOptions> {
    let mut reader = OptionReader::new("connector \"rate\"", options);
    let rate = RateOptions::read(&mut reader)?;
    reader.finish()?;
    Ok(rate)
}

/// The columns may be left out and put in another order, but not be others.
pub fn check_columns(connector: &str, columns: &[Column]) -> Result<()> {
    let fits = |column: &Column| match column.name.as_str() {
        "timestamp" => matches!(column.sql_type, SqlType::Timestamp | SqlType::TimestampTz),
        "value" => column.sql_type == SqlType::Int8,
        _ => false,
    };
    let message = match columns.iter().find(|column| !fits(column)) {
        None if !columns.is_empty() => return Ok(()),
        None => format!("connector \"{connector}\" has columns timestamp and value"),
        Some(column) => format!(
            "connector \"{connector}\" has no column \"{}\" of type {}",
            column.name, column.sql_type
        ),
    };
    let hint = "Its columns are timestamp timestamp and value bigint; the column list may be left out.";
    Err(Error::Columns {
        message,
        hint: Some(hint.to_owned()),
    })
}

fn open(options: &Options, columns: &[Column], context: SourceContext) -> Result<Arc<dyn Source>> {
    let options = read_options(options)?;
    check_columns(CONNECTOR.name, columns)?;
    let start_us = start_us(&context, START_KEY)?;
    let schedule = Schedule {
        start_us,
        rows_per_second: options.rows_per_second.get(),
        ramp_up_us: options.ramp_up_time.as_micros() as u64,
    };
    let partitions = options.num_partitions.map(|n| n.get() as usize);
    Ok(Arc::new(RateSource {
        schema: arrow_schema(columns),
        schedule,
        partitions,
    }))
}

/// The instant at which the source was created, noted under `key`.
pub fn start_us(context: &SourceContext, key: &str) -> Result<i64> {
    if let Some(note) = context.notes.get(key)? {
        return Ok(parse_start(&note)?);
    }
    let now = context.now_us.to_string().into_bytes();
    context.notes.put(vec![(key.to_owned(), now)])?;
    Ok(context.now_us)
}

fn parse_start(note: &[u8]) -> Result<i64, SourceError> {
    let start = std::str::from_utf8(note).ok().and_then(|text| text.parse().ok());
    start.ok_or_else(|| SourceError::Failed {
        message: "the stored start time of a rate source is damaged".to_owned(),
        hint: None,
    })
}

struct RateSource {
    schema: SchemaRef,
    schedule: Schedule,
    partitions: Option<usize>,
}

/// Values below it were read.
fn position(value: u64) -> Position {
    Position(json!({ "value": value }))
}

fn value_of(position: &Position) -> u64 {
    position.0["value"]
        .as_u64()
        .expect("a position made by this source")
}

impl Source for RateSource {
    fn description(&self) -> String {
        format!("rate[{} rows/s]", self.schedule.rows_per_second)
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
        limit: Limit<'_>,
    ) -> Result<Option<Position>, SourceError> {
        let from = value_of(from);
        let end = self
            .schedule
            .due(limit.now_us)
            .min(until.map_or(u64::MAX, value_of));
        let end = end.min(from.saturating_add((limit.bytes / ROW_BYTES).max(1)));
        Ok((end > from).then(|| position(end)))
    }

    fn latest(&self, now_us: i64) -> Result<Position, SourceError> {
        Ok(position(self.schedule.due(now_us)))
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        value_of(position) >= value_of(target)
    }

    fn slices(&self, from: &Position, to: &Position, workers: usize) -> Result<Vec<Slice>, SourceError> {
        let (from, to) = (value_of(from), value_of(to));
        let pieces = self.partitions.unwrap_or(workers).max(1) as u64;
        Ok(numbered::slices(from, to, pieces, ROW_BYTES))
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let schedule = self.schedule;
        Ok(Box::new(TimedValues {
            schema: numbered::projected(&self.schema, projection),
            time_of: move |value| schedule.time_of(value),
            values: numbered::numbers(slice),
            last: 0,
        }))
    }

    fn forget(&self, _position: &Position) {}

    fn poll_interval_ms(&self) -> u64 {
        // One row's time, but neither a busy loop nor a visible lag.
        (1000 / self.schedule.rows_per_second).clamp(10, 100)
    }
}

#[cfg(test)]
mod tests;
