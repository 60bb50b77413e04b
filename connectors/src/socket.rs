//! The socket source: the lines that a TCP server sends, for trying things out.
//!
//! What was sent cannot be asked for again. So lines are written down in the source's notes, in blocks, before anyone is
//! told of them, and stay there until every query has read them. A crash loses only what had not arrived.

mod connection;
mod options;
mod reader;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, Options, SqlType, arrow_schema};
use millpond_engine::source::{
    Limit, Position, Slice, SliceReader, Source, SourceContext, SourceError, SourceNotes,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::connector::Connector;
use crate::error::{Error, Result};
use crate::format::{self, Format, RecordFormat};
use crate::options::OptionReader;
use connection::Connection;
use options::SocketOptions;
use reader::{Block, LinesReader};

pub const CONNECTOR: Connector = Connector {
    name: "socket",
    doc: "Lines of text that a TCP server sends, a row per line. What was sent while nobody was connected is lost: for trying things out.",
    options: SocketOptions::SPECS,
    changeable: &[],
    fault_tolerant: false,
    columns: default_columns,
    validate,
    open,
};

/// Bytes taken in at a time.
const BLOCK_BYTES: usize = 1 << 20;
const PREFIX: &str = "lines/";
const TIMESTAMP: &str = "timestamp";

fn default_columns(options: &Options) -> Option<Vec<Column>> {
    let mut columns = format::text::default_columns();
    let is_text = options
        .iter()
        .find(|option| option.key == "format")
        .is_none_or(|format| format.value.eq_ignore_ascii_case(format::text::FORMAT.name));
    let stamped = options.iter().any(|option| {
        option.key == "include_timestamp"
            && matches!(option.value.to_ascii_lowercase().as_str(), "true" | "on" | "1")
    });
    if stamped {
        columns.push(Column {
            name: TIMESTAMP.to_owned(),
            sql_type: SqlType::Timestamp,
            nullable: true,
            default: None,
        });
    }
    is_text.then_some(columns)
}

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    read_options(options, columns).map(|_| ())
}

/// The options, the format of the lines and the position of the column of arrival times.
fn read_options(
    options: &Options,
    columns: &[Column],
) -> Result<(SocketOptions, Arc<dyn RecordFormat>, Option<usize>)> {
    let mut reader = OptionReader::new("connector \"socket\"", options);
    let socket = SocketOptions::read(&mut reader)?;
    let format = format::open(&socket.format, &mut reader, columns)?;
    reader.finish()?;
    let format = match format {
        Format::Records(format) if !format.has_header() => format,
        Format::Records(_) | Format::Blocks(_) => {
            return Err(Error::NotSupported {
                what: "this format for lines that come one by one".to_owned(),
                hint: Some("Use format text, json, or csv without a header.".to_owned()),
            });
        }
    };
    let timestamp = socket
        .include_timestamp
        .then(|| {
            let is_time =
                |column: &Column| matches!(column.sql_type, SqlType::Timestamp | SqlType::TimestampTz);
            columns
                .iter()
                .position(|column| column.name == TIMESTAMP && is_time(column))
                .ok_or_else(|| Error::Columns {
                    message: "include_timestamp needs a column \"timestamp\" of type timestamp".to_owned(),
                    hint: Some("Declare it, or leave out the column list.".to_owned()),
                })
        })
        .transpose()?;
    // Whether the columns fit the format shows when a decoder is made.
    reader::check(&*format, columns, timestamp)?;
    Ok((socket, format, timestamp))
}

fn open(options: &Options, columns: &[Column], context: SourceContext) -> Result<Arc<dyn Source>> {
    let (options, format, timestamp) = read_options(options, columns)?;
    let mut blocks = BTreeMap::new();
    let mut next = match context.notes.get("next")? {
        Some(note) => String::from_utf8(note)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(damaged)?,
        None => 0,
    };
    for (key, value) in context.notes.scan(PREFIX)? {
        let first: u64 = key[PREFIX.len()..].parse().map_err(|_| damaged())?;
        let block = Block::decode(first, &value).ok_or_else(damaged)?;
        next = next.max(block.end());
        blocks.insert(first, block.size());
    }
    Ok(Arc::new(SocketSource {
        address: format!("{}:{}", options.host, options.port.get()),
        columns: columns.to_vec(),
        schema: arrow_schema(columns),
        format,
        timestamp,
        notes: context.notes,
        state: Mutex::new(State {
            connection: Connection::default(),
            blocks,
            next,
        }),
    }))
}

fn damaged() -> SourceError {
    SourceError::Failed {
        message: "the stored lines of a socket source are damaged".to_owned(),
        hint: Some("Drop the source and create it again.".to_owned()),
    }
}

struct SocketSource {
    address: String,
    columns: Vec<Column>,
    schema: SchemaRef,
    format: Arc<dyn RecordFormat>,
    timestamp: Option<usize>,
    notes: Arc<dyn SourceNotes>,
    state: Mutex<State>,
}

struct State {
    connection: Connection,
    /// First line, number of lines and bytes of each block that is kept.
    blocks: BTreeMap<u64, (u64, u64)>,
    /// The number of the next line.
    next: u64,
}

/// Lines below it were read.
fn position(line: u64) -> Position {
    Position(json!({ "line": line }))
}

fn line_of(position: &Position) -> u64 {
    position.0["line"]
        .as_u64()
        .expect("a position made by this source")
}

impl SocketSource {
    /// Writes down what has arrived.
    fn take_in(&self, state: &mut State, now_us: i64) -> Result<(), SourceError> {
        loop {
            let lines = state.connection.read_lines(&self.address, BLOCK_BYTES)?;
            if lines.is_empty() {
                return Ok(());
            }
            let block = Block::new(state.next, now_us, lines);
            let notes = vec![
                (key(block.first), block.encode()),
                ("next".to_owned(), block.end().to_string().into_bytes()),
            ];
            self.notes.put(notes)?;
            state.blocks.insert(block.first, block.size());
            state.next = block.end();
        }
    }
}

fn key(first: u64) -> String {
    format!("{PREFIX}{first:020}")
}

impl Source for SocketSource {
    fn description(&self) -> String {
        format!("socket[{}]", self.address)
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// What was forgotten is not there for anyone.
    fn start(&self) -> Position {
        let state = self.state.lock();
        position(
            state
                .blocks
                .first_key_value()
                .map_or(state.next, |(first, _)| *first),
        )
    }

    fn advance(
        &self,
        from: &Position,
        until: Option<&Position>,
        limit: Limit<'_>,
    ) -> Result<Option<Position>, SourceError> {
        let from = line_of(from);
        let mut state = self.state.lock();
        if from >= state.next {
            let taken = self.take_in(&mut state, limit.now_us);
            // What came before the connection broke is there all the same.
            if from >= state.next {
                taken?;
            }
        }
        let (mut to, mut bytes) = (from, 0);
        for (first, (lines, size)) in &state.blocks {
            let end = first + lines;
            if end <= from {
                continue;
            }
            if to > from && bytes + size > limit.bytes {
                break;
            }
            to = end;
            bytes += size;
        }
        let to = to.min(until.map_or(u64::MAX, line_of));
        Ok((to > from).then(|| position(to)))
    }

    fn latest(&self, now_us: i64) -> Result<Position, SourceError> {
        let mut state = self.state.lock();
        // A server that is away shows nothing.
        match self.take_in(&mut state, now_us) {
            Ok(()) | Err(SourceError::Unavailable(_)) => Ok(position(state.next)),
            Err(error) => Err(error),
        }
    }

    fn known(&self, _: i64) -> Result<Position, SourceError> {
        Ok(position(self.state.lock().next))
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        line_of(position) >= line_of(target)
    }

    fn slices(&self, from: &Position, to: &Position, _: usize) -> Result<Vec<Slice>, SourceError> {
        let (from, to) = (line_of(from), line_of(to));
        let state = self.state.lock();
        let mut slices = Vec::new();
        for (first, (lines, bytes)) in &state.blocks {
            let (start, end) = (from.max(*first), to.min(first + lines));
            if start < end {
                slices.push(Slice {
                    what: json!([first, start, end]),
                    bytes: *bytes,
                });
            }
        }
        Ok(slices)
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let bound = |index: usize| slice.what[index].as_u64().expect("a slice made by this source");
        let note = self.notes.get(&key(bound(0)))?.ok_or_else(damaged)?;
        let block = Block::decode(bound(0), &note).ok_or_else(damaged)?;
        Ok(Box::new(LinesReader::new(
            block.lines(bound(1)..bound(2)),
            &self.address,
            &*self.format,
            &self.columns,
            self.timestamp,
            projection,
        )?))
    }

    fn forget(&self, position: &Position) {
        let position = line_of(position);
        let mut state = self.state.lock();
        let read = state
            .blocks
            .iter()
            .filter(|(first, (lines, _))| **first + lines <= position);
        let read: Vec<u64> = read.map(|(first, _)| *first).collect();
        if read.is_empty() {
            return;
        }
        match self.notes.delete(read.iter().map(|first| key(*first)).collect()) {
            Ok(()) => state.blocks.retain(|first, _| !read.contains(first)),
            // It only keeps more than it has to.
            Err(error) => tracing::warn!(%error, "lines of a socket source could not be forgotten"),
        }
    }

    fn poll_interval_ms(&self) -> u64 {
        50
    }
}

#[cfg(test)]
mod tests;
