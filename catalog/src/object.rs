//! What a user can create, fully resolved: no names are left to look up except an object's own.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{Schema, SchemaRef};

use crate::{ObjectId, ObjectName, SqlType};

/// A catalog object. Its `create_sql` is canonical: planning it again under the same id gives the same object.
#[derive(Debug, Clone)]
pub struct Object {
    pub id: ObjectId,
    pub name: ObjectName,
    pub columns: Vec<Column>,
    pub kind: ObjectKind,
    /// Objects that this one reads, without repeats.
    pub reads: Vec<ObjectId>,
    pub create_sql: String,
}

/// A column of a relation or source.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    pub sql_type: SqlType,
    pub nullable: bool,
    /// SQL text of the `DEFAULT` expression.
    pub default: Option<String>,
}

#[derive(Debug, Clone)]
pub enum ObjectKind {
    Table(Table),
    Source(Source),
    View(StreamingView),
    PlainView(PlainView),
    Sink(Sink),
}

/// Rows inserted by SQL. `CREATE STREAM` makes one that is append-only.
#[derive(Debug, Clone)]
pub struct Table {
    pub append_only: bool,
    /// Made by `CREATE STREAM`, which only changes how it is listed.
    pub stream: bool,
    /// The primary key first, where there is one.
    pub keys: Vec<Key>,
    pub checks: Vec<Check>,
    pub watermark: Option<Watermark>,
    /// `WITH` options of the table, in the order written.
    pub options: Options,
}

/// Columns of which no two rows have the same values: a primary key or `UNIQUE`. NULL is like no other value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Of the constraint and of its index.
    pub name: String,
    /// Positions.
    pub columns: Vec<usize>,
    pub primary: bool,
    /// Without it, the key only tells readers what the writer promises.
    pub enforced: bool,
}

/// A condition that no row makes false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    /// SQL text.
    pub expression: String,
}

impl Table {
    /// Positions of the primary key columns; empty without one.
    pub fn primary_key(&self) -> &[usize] {
        let key = self.keys.iter().find(|key| key.primary);
        key.map_or(&[], |key| &key.columns)
    }
}

/// A connection that brings rows in. The connector turns `options` into its own typed struct.
#[derive(Debug, Clone)]
pub struct Source {
    /// Value of the `connector` option.
    pub connector: String,
    /// All other options, in the order written.
    pub options: Options,
    pub watermark: Option<Watermark>,
}

/// A query kept up to date.
#[derive(Debug, Clone)]
pub struct StreamingView {
    /// The SELECT, as written by the user.
    pub query: String,
    pub options: ViewOptions,
    /// Stopped by the user; survives a restart.
    pub paused: bool,
}

/// A query under a name: a reader reads what the query reads.
#[derive(Debug, Clone)]
pub struct PlainView {
    /// The SELECT, as written by the user.
    pub query: String,
}

/// A query whose changes leave the server. It has no rows of its own to read.
#[derive(Debug, Clone)]
pub struct Sink {
    /// Value of the `connector` option.
    pub connector: String,
    /// The options of the connector, in the order written.
    pub options: Options,
    /// The query; for `FROM v`, that which reads all of v.
    pub view: StreamingView,
}

/// Event time of a relation: W = max(column) - delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    /// Position of a `timestamp` or `timestamptz` column.
    pub column: usize,
    /// Microseconds, not negative.
    pub delay_us: i64,
    /// Rows further ahead of the processing time than this many microseconds do not move W; `None` = no guard.
    pub max_future_us: Option<i64>,
    /// An input that has given no row for this many microseconds holds back no other; `None` = it always does.
    pub idle_timeout_us: Option<i64>,
}

impl Watermark {
    /// One day: what `max_future` is when nothing is said.
    pub const DEFAULT_MAX_FUTURE_US: i64 = 86_400_000_000;
}

/// What a view hands over to its relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputMode {
    /// The current result; changes are retractions and insertions.
    #[default]
    Update,
    /// Only rows that are final.
    Append,
    /// The current result, with no state dropped by a watermark.
    Complete,
}

/// When an epoch may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trigger {
    /// As soon as the epoch before is committed and there is input.
    #[default]
    Default,
    /// On multiples of the interval since 1970-01-01 00:00 UTC.
    Every(Duration),
    /// One epoch takes in what is there at the start, then the query ends.
    Once,
    /// As many epochs as it needs take in what is there at the start, then the query ends.
    AvailableNow,
}

/// How the watermarks of several inputs combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatermarkPolicy {
    /// Each input has its own, and what reads several goes by the slowest.
    #[default]
    Min,
    /// All go by the fastest.
    Max,
}

/// How a stream that is joined with a table meets its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JoinMode {
    /// As a lookup where rows must not change, else by following the table.
    #[default]
    Default,
    /// Each row of the stream finds what the table holds when it comes.
    Lookup,
    /// The join follows the table.
    Retract,
}

/// `WITH` options and clauses of a streaming view, parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ViewOptions {
    pub output_mode: OutputMode,
    pub trigger: Trigger,
    /// `on_error = 'fail'`: a failing expression stops the query instead of setting its row aside.
    pub fail_on_error: bool,
    /// `query_name`: the name shown in `sys.queries` where it is not the view's own.
    pub query_name: Option<String>,
    /// Run one more epoch without input when the watermark moved.
    pub no_data_epochs: bool,
    /// Wait for more input than a little.
    pub gather: Option<Gather>,
    /// How the watermarks of several inputs combine.
    pub watermark_policy: WatermarkPolicy,
    /// How a stream meets a table.
    pub join_mode: JoinMode,
    /// How long windows take rows after they are closed.
    pub allowed_lateness: Duration,
    /// How long late rows are kept.
    pub late_rows: LateRetention,
    /// `LATE DATA TO`: the table that gets them, too.
    pub late_data_to: Option<ObjectId>,
}

/// `min_offsets_per_trigger` and `max_trigger_delay`: an epoch waits for so many offsets, or so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gather {
    /// Rows of relations, and what sources count.
    pub offsets: u64,
    pub delay: Duration,
}

impl Gather {
    pub const DEFAULT_DELAY: Duration = Duration::from_secs(15 * 60);
}

/// `late_rows_retention` and `late_rows_max_bytes`: how long, and how much, of a view's late rows is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateRetention {
    /// By the processing time of the epochs in which they came; `None` = for ever.
    pub time: Option<Duration>,
    /// `None` = whatever they take.
    pub bytes: Option<u64>,
}

impl Default for LateRetention {
    fn default() -> Self {
        Self {
            time: Some(Duration::from_secs(7 * 86_400)),
            bytes: Some(64 << 20),
        }
    }
}

/// A key and a value of a `WITH` list. Keys are normalised: lower case, words joined by `_`, except that `kafka.*` and
/// `properties.*` keep their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionEntry {
    pub key: String,
    pub value: String,
    /// Byte offset of the key in the statement's text, for error messages.
    pub position: Option<usize>,
}

pub type Options = Vec<OptionEntry>;

impl Object {
    /// The word for this kind of object in messages.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            ObjectKind::Table(table) if table.stream => "stream",
            ObjectKind::Table(_) => "table",
            ObjectKind::Source(_) => "source",
            ObjectKind::View(_) => "streaming view",
            ObjectKind::PlainView(_) => "view",
            ObjectKind::Sink(_) => "sink",
        }
    }

    /// The query of a streaming view or sink.
    pub fn query(&self) -> Option<&StreamingView> {
        match &self.kind {
            ObjectKind::View(view) => Some(view),
            ObjectKind::Sink(sink) => Some(&sink.view),
            ObjectKind::Table(_) | ObjectKind::Source(_) | ObjectKind::PlainView(_) => None,
        }
    }

    pub fn query_mut(&mut self) -> Option<&mut StreamingView> {
        match &mut self.kind {
            ObjectKind::View(view) => Some(view),
            ObjectKind::Sink(sink) => Some(&mut sink.view),
            ObjectKind::Table(_) | ObjectKind::Source(_) | ObjectKind::PlainView(_) => None,
        }
    }

    /// Schema of the rows, with SQL types in the fields' metadata.
    pub fn schema(&self) -> SchemaRef {
        arrow_schema(&self.columns)
    }

    /// The object has rows or a query of its own that the engine knows.
    pub fn is_stored(&self) -> bool {
        !matches!(self.kind, ObjectKind::PlainView(_))
    }

    pub fn watermark(&self) -> Option<&Watermark> {
        match &self.kind {
            ObjectKind::Table(table) => table.watermark.as_ref(),
            ObjectKind::Source(source) => source.watermark.as_ref(),
            ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => None,
        }
    }
}

/// The Arrow schema of `columns`.
pub fn arrow_schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(
        columns
            .iter()
            .map(|c| c.sql_type.field(&c.name, c.nullable))
            .collect::<Vec<_>>(),
    ))
}
