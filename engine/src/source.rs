//! The source port: what the engine asks of anything that brings rows in.
//!
//! A source is replayable: the rows between two positions are the same whenever they are read. The engine fixes the
//! range of an epoch and logs it before anything is read, so a crash re-reads exactly the same rows. A source has no
//! thread and reads no clock: the engine asks it and says what time it is.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use millpond_catalog::Options;
use serde::{Deserialize, Serialize};

/// How far a source has been read, over all its splits. A JSON text that only the connector reads; it is shown to users
/// as `startOffset` and `endOffset` and stored in batch records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub serde_json::Value);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How much one epoch may take in at most. A source's own caps (files, rows per trigger) apply on top.
#[derive(Debug, Clone, Copy)]
pub struct Limit<'a> {
    /// Bytes of encoded input; of a format that lets columns be read alone, those of `columns`, unpacked.
    pub bytes: u64,
    /// Ascending positions in [`Source::schema`] of what is going to be read.
    pub columns: &'a [usize],
    /// Microseconds since 1970-01-01 UTC: the time by the engine's clock.
    pub now_us: i64,
}

/// A piece of a range that one worker reads on its own. Private to the connector beyond its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Connector-specific, e.g. `{"file": 3, "start": 0, "end": 4096}`.
    pub what: serde_json::Value,
    /// Estimated encoded bytes, for spreading slices over workers.
    pub bytes: u64,
}

/// A replayable input.
pub trait Source: Send + Sync {
    /// Connector and target in one line, for progress reports: `file[/data/in]`.
    fn description(&self) -> String;

    /// All declared columns, in order.
    fn schema(&self) -> SchemaRef;

    /// Where a query that has never run begins.
    fn start(&self) -> Position;

    /// The end of the next epoch for a reader at `from`: the furthest position that exists now, within `limit`, the
    /// source's own caps and, if given, not past `until`. `None` when nothing is there.
    ///
    /// What the answer names is durable or reproducible: the range can be read again after a crash.
    fn advance(
        &self,
        from: &Position,
        until: Option<&Position>,
        limit: Limit<'_>,
    ) -> Result<Option<Position>, SourceError>;

    /// The furthest position that exists now, without caps: what FLUSH waits for.
    fn latest(&self, now_us: i64) -> Result<Position, SourceError>;

    /// The furthest position that is known without asking the outside world: what progress reports compare with.
    fn known(&self, now_us: i64) -> Result<Position, SourceError> {
        self.latest(now_us)
    }

    /// `to`, for a reader that reads from `from` once and now: what is not there any more is left out.
    fn present(&self, from: &Position, to: Position) -> Result<Position, SourceError> {
        let _ = from;
        Ok(to)
    }

    /// True when `position` is at or past `target`.
    fn reached(&self, position: &Position, target: &Position) -> bool;

    /// Splits the range into pieces for about `workers` readers, in source order. Together they hold every row of the
    /// range once.
    fn slices(&self, from: &Position, to: &Position, workers: usize) -> Result<Vec<Slice>, SourceError>;

    /// Opens a piece. Only the columns in `projection` (ascending positions in [`Source::schema`]) are decoded and
    /// returned.
    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError>;

    /// Nothing before `position` will be asked for again.
    fn forget(&self, position: &Position);

    /// Takes from `options` how fast it is read, from now on. What it reads does not change.
    fn repace(&self, options: &Options) -> Result<(), SourceError> {
        let _ = options;
        Err(SourceError::Failed {
            message: format!("{} keeps its options", self.description()),
            hint: None,
        })
    }

    /// Milliseconds after which it is worth asking [`Source::advance`] again when it had nothing.
    fn poll_interval_ms(&self) -> u64;
}

/// Reads one slice in batches of bounded size.
pub trait SliceReader: Send {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError>;

    /// Where these rows of the last batch stand, if the source can tell.
    fn places(&mut self, rows: &[usize]) -> Result<Option<Vec<Place>>, SourceError> {
        let _ = rows;
        Ok(None)
    }

    /// These rows of the last batch with all columns of the source, if that takes no reading of the slice once more.
    fn whole(&mut self, rows: &[usize]) -> Result<Option<WholeRows>, SourceError> {
        let _ = rows;
        Ok(None)
    }
}

/// Where a row stands in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The part of the source that it is in: a file, a partition of a topic.
    pub partition: Option<Arc<str>>,
    /// How much of that comes before the row, in the source's own measure.
    pub offset: i64,
}

/// Rows with all columns of a source.
#[derive(Debug, Clone)]
pub struct WholeRows {
    pub rows: RecordBatch,
    /// Which of the wanted rows they are, ascending. One of which a column cannot be decoded is missing.
    pub of: Vec<usize>,
}

/// Decoded rows, and input that could not be decoded.
#[derive(Debug, Clone)]
pub struct SourceBatch {
    /// The projected columns; one row per good input row.
    pub rows: RecordBatch,
    /// Encoded bytes that were read for this batch.
    pub bytes: u64,
    pub bad_rows: Vec<BadRow>,
}

/// A row set aside, with what is needed to find, mend and replay it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRow {
    /// Where it stood: `/data/in/a.json:17`, or the operator for a failing expression.
    pub position: String,
    /// The bytes as they came, or the input row as JSON for a failing expression.
    pub bytes: Vec<u8>,
    pub error: String,
}

/// Durable notes of one source (a list of files seen, the start time of a generator), kept by the engine on its behalf.
///
/// A write is durable no later than the next batch record.
pub trait SourceNotes: Send + Sync {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError>;
    /// Pairs in key order whose key begins with `prefix`.
    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, SourceError>;
    fn put(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), SourceError>;
    fn delete(&self, keys: Vec<String>) -> Result<(), SourceError>;
}

/// What a connector gets to open a source with.
#[derive(Clone)]
pub struct SourceContext {
    pub notes: Arc<dyn SourceNotes>,
    /// Microseconds since 1970-01-01 UTC, when the source was opened.
    pub now_us: i64,
}

/// Why a source could not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SourceError {
    /// The outside world is not there now (missing folder, refused connection); asking again later may work.
    #[error("{0}")]
    Unavailable(String),
    /// A range can never be read as logged: a file is gone or was cut, `on_bad_row = 'fail'` met a bad row.
    #[error("{message}")]
    Failed { message: String, hint: Option<String> },
}
