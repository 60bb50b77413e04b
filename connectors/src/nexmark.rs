//! The Nexmark source: persons, auctions and bids of the benchmark, the same in every run.
//!
//! The three kinds of events share one numbering, and an event depends on its number alone. A position is an event number;
//! sources of different kinds with the same options fit together.

mod fields;
mod options;

use std::sync::Arc;

use ::nexmark::EventGenerator;
use ::nexmark::config::NexmarkConfig;
use ::nexmark::event::EventType;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, Options, arrow_schema};
use millpond_engine::source::{
    Limit, Place, Position, Slice, SliceReader, Source, SourceBatch, SourceContext, SourceError,
};
use serde_json::json;

use crate::connector::Connector;
use crate::error::{Error, Result};
use crate::numbered;
use crate::options::OptionReader;
use fields::{Event, Field};
use options::{NexmarkOptions, Table};

pub const CONNECTOR: Connector = Connector {
    name: "nexmark",
    doc: "Events of the Nexmark benchmark, an auction house: persons, auctions and bids. An event depends on its number alone.",
    options: NexmarkOptions::SPECS,
    changeable: &[],
    fault_tolerant: true,
    columns: |options| {
        read_options(options)
            .ok()
            .map(|options| fields::columns(options.table))
    },
    validate,
    open,
};

/// What an event counts as, about.
const EVENT_BYTES: u64 = 100;
const BATCH_ROWS: usize = 4096;
const START_KEY: &str = "start_us";
/// 2015-07-15 00:00:00 UTC, where the benchmark's own generator begins.
const FIXED_START_US: i64 = 1_436_918_400_000_000;

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    let options = read_options(options)?;
    if !options.real_time && options.events.is_none() {
        return Err(Error::MissingOption {
            key: "events",
            what: "connector \"nexmark\" with real_time = false".to_owned(),
            hint: "All events are there at once, so say how many: events = 100000".to_owned(),
        });
    }
    fields::of_columns(options.table, columns).map(|_| ())
}

fn read_options(options: &Options) -> Result<NexmarkOptions> {
    let mut reader = OptionReader::new("connector \"nexmark\"", options);
    let nexmark = NexmarkOptions::read(&mut reader)?;
    reader.finish()?;
    Ok(nexmark)
}

fn open(options: &Options, columns: &[Column], context: SourceContext) -> Result<Arc<dyn Source>> {
    validate(options, columns)?;
    let options = read_options(options)?;
    let start_us = if options.real_time {
        crate::rate::start_us(&context, START_KEY)?
    } else {
        FIXED_START_US
    };
    Ok(Arc::new(NexmarkSource {
        fields: fields::of_columns(options.table, columns)?,
        schema: arrow_schema(columns),
        start_us,
        options,
    }))
}

struct NexmarkSource {
    fields: Vec<Field>,
    schema: SchemaRef,
    start_us: i64,
    options: NexmarkOptions,
}

/// Events below it were read.
fn position(event: u64) -> Position {
    Position(json!({ "event": event }))
}

fn event_of(position: &Position) -> u64 {
    position.0["event"]
        .as_u64()
        .expect("a position made by this source")
}

impl NexmarkSource {
    /// How many events there are at `now_us`.
    fn due(&self, now_us: i64) -> u64 {
        let events = self.options.events.map_or(u64::MAX, |events| events.get());
        if !self.options.real_time {
            return events;
        }
        let elapsed_us = u128::try_from(i128::from(now_us) - i128::from(self.start_us)).unwrap_or(0);
        let due = elapsed_us * u128::from(self.options.events_per_second.get()) / 1_000_000;
        u64::try_from(due).unwrap_or(u64::MAX).min(events)
    }
}

impl Source for NexmarkSource {
    fn description(&self) -> String {
        format!("nexmark[{:?}]", self.options.table).to_lowercase()
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
        let from = event_of(from);
        let end = self.due(limit.now_us).min(until.map_or(u64::MAX, event_of));
        let end = end.min(from.saturating_add((limit.bytes / EVENT_BYTES).max(1)));
        Ok((end > from).then(|| position(end)))
    }

    fn latest(&self, now_us: i64) -> Result<Position, SourceError> {
        Ok(position(self.due(now_us)))
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        event_of(position) >= event_of(target)
    }

    fn slices(&self, from: &Position, to: &Position, workers: usize) -> Result<Vec<Slice>, SourceError> {
        let (from, to) = (event_of(from), event_of(to));
        Ok(numbered::slices(from, to, workers as u64 * 2, EVENT_BYTES))
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let events_read = numbered::numbers(slice);
        Ok(Box::new(NexmarkReader {
            fields: projection.iter().map(|column| self.fields[*column]).collect(),
            schema: numbered::projected(&self.schema, projection),
            events: events(self.options.table, events_read.start),
            start_us: self.start_us,
            events_per_second: self.options.events_per_second.get(),
            next: events_read.start,
            end: events_read.end,
            last: Vec::new(),
        }))
    }

    fn forget(&self, _: &Position) {}

    fn poll_interval_ms(&self) -> u64 {
        (1000 / self.options.events_per_second.get()).clamp(10, 100)
    }
}

/// Events of one kind in a cycle of numbers: the first of them and how many there are.
const CYCLE: u64 = 50;

fn place_in_cycle(table: Table) -> (u64, u64) {
    match table {
        Table::Person => (0, 1),
        Table::Auction => (1, 3),
        Table::Bid => (4, 46),
    }
}

/// The events of one kind whose number is `from` or greater.
fn events(table: Table, from: u64) -> EventGenerator {
    let (first, count) = place_in_cycle(table);
    let in_cycle = (from % CYCLE).saturating_sub(first).min(count);
    let config = NexmarkConfig {
        base_time: 0,
        ..NexmarkConfig::default()
    };
    let kind = match table {
        Table::Person => EventType::Person,
        Table::Auction => EventType::Auction,
        Table::Bid => EventType::Bid,
    };
    EventGenerator::new(config)
        .with_type_filter(kind)
        .with_offset(from / CYCLE * count + in_cycle)
}

struct NexmarkReader {
    schema: SchemaRef,
    fields: Vec<Field>,
    events: EventGenerator,
    start_us: i64,
    events_per_second: u64,
    next: u64,
    end: u64,
    /// The numbers of the events of the last batch.
    last: Vec<u64>,
}

impl SliceReader for NexmarkReader {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        if self.next >= self.end {
            return Ok(None);
        }
        let begin = self.next;
        let mut rows = Vec::new();
        self.last.clear();
        while rows.len() < BATCH_ROWS {
            let number = self.events.global_offset();
            if number >= self.end {
                self.next = self.end;
                break;
            }
            let Some(event) = self.events.next() else { break };
            // The generator's own times are counted in too few digits for long runs.
            let since_start = u128::from(number) * 1_000_000 / u128::from(self.events_per_second);
            rows.push(Event {
                time_us: self
                    .start_us
                    .saturating_add(i64::try_from(since_start).unwrap_or(i64::MAX)),
                event,
            });
            self.last.push(number);
            self.next = number + 1;
        }
        let columns = self.fields.iter().map(|field| field.array(&rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .expect("columns made after the schema");
        Ok(Some(SourceBatch {
            rows,
            bytes: (self.next - begin) * EVENT_BYTES,
            bad_rows: Vec::new(),
        }))
    }

    fn places(&mut self, rows: &[usize]) -> Result<Option<Vec<Place>>, SourceError> {
        let place = |row: &usize| Place {
            partition: None,
            offset: i64::try_from(self.last[*row]).unwrap_or(i64::MAX),
        };
        Ok(Some(rows.iter().map(place).collect()))
    }
}

#[cfg(test)]
mod tests;
