//! The closed list of what Millpond accepts, after parsing and before any name is looked up.
//!
//! Queries and expressions are the parser library's own trees; everything that is ours has a type here. `Display` prints
//! the canonical spelling, which parses back to an equal statement. Nobody looks at SQL text after this.

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast;

use crate::text::SourceText;

mod copy;
mod definition;
mod display;
mod write;

pub use copy::{Copy, CopyHeader, CopyOptions, CopyRelation};
pub use definition::{Accepted, CommentTarget, CreateIndex, CreateTableAs, Definition};
pub use write::{
    AssignedValue, Assignment, ConflictAction, ConflictTarget, Delete, Insert, InsertSource, OnConflict,
    Target as WriteTarget, Truncate, Update,
};

/// One statement of the text that a client sent.
#[derive(Debug, Clone)]
pub struct ParsedStatement {
    pub statement: Statement,
    /// Bytes of the statement in the whole text, without the semicolon and surrounding blanks.
    pub text_range: Range<usize>,
    /// The whole text, which positions in errors refer to.
    pub text: Arc<SourceText>,
}

impl ParsedStatement {
    /// The statement as written.
    pub fn text(&self) -> &str {
        &self.text.as_str()[self.text_range.clone()]
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    CreateTable(CreateTable),
    CreateSource(CreateSource),
    CreateView(CreateView),
    CreatePlainView(CreatePlainView),
    CreateSink(CreateSink),
    Drop(Drop),
    Definition(Definition),
    CreateTableAs(CreateTableAs),
    Accepted(Accepted),
    AlterView(AlterView),
    AlterSource(AlterSource),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    Truncate(Truncate),
    Copy(Copy),
    /// SELECT, VALUES, TABLE, WITH.
    Query(Box<ast::Query>),
    Explain(Explain),
    Show(Show),
    Set(Set),
    Reset(Reset),
    Flush(Flush),
    Transaction(Transaction),
    Prepare(Prepare),
    Execute(Execute),
    Deallocate(Target),
    DeclareCursor(DeclareCursor),
    Fetch(Fetch),
    CloseCursor(Target),
    Subscribe(Subscribe),
    Discard(DiscardTarget),
    Listen(Listen),
}

/// `CREATE TABLE` and `CREATE STREAM`: rows inserted by SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: ast::ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub elements: RelationElements,
    /// Only for the session that makes it, and gone with it.
    pub temporary: bool,
    pub append_only: bool,
    /// Written as `CREATE STREAM`.
    pub stream: bool,
    pub options: Vec<WithOption>,
}

/// `CREATE SOURCE`, `CREATE EXTERNAL STREAM` and `CREATE TABLE .. WITH (connector = ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSource {
    pub name: ast::ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub elements: RelationElements,
    pub options: Vec<WithOption>,
}

/// What stands in the column list of a table or source, or behind it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RelationElements {
    pub columns: Vec<ColumnDefinition>,
    pub primary_key: Option<PrimaryKey>,
    pub unique: Vec<Unique>,
    pub checks: Vec<Check>,
    pub watermark: Option<WatermarkDefinition>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    pub name: ast::Ident,
    pub data_type: ast::DataType,
    pub not_null: bool,
    pub default: Option<ast::Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PrimaryKey {
    /// Of the constraint.
    pub name: Option<ast::Ident>,
    pub columns: Vec<ast::Ident>,
    /// False for `NOT ENFORCED`.
    pub enforced: bool,
}

/// `[CONSTRAINT name] UNIQUE (column, ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Unique {
    pub name: Option<ast::Ident>,
    pub columns: Vec<ast::Ident>,
}

/// `[CONSTRAINT name] CHECK (expr)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub name: Option<ast::Ident>,
    /// The column behind which it stands.
    pub column: Option<ast::Ident>,
    pub expr: ast::Expr,
}

/// `WATERMARK FOR column [AS expr]`.
#[derive(Debug, Clone, PartialEq)]
pub struct WatermarkDefinition {
    pub column: ast::Ident,
    /// `column` or `column - INTERVAL ..`; `None` stands for the column itself.
    pub expr: Option<ast::Expr>,
}

/// `CREATE STREAMING VIEW`, `CREATE MATERIALIZED VIEW`, `CREATE STREAMING TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    pub name: ast::ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    /// Names for the columns of the query.
    pub columns: Vec<ast::Ident>,
    pub options: Vec<WithOption>,
    pub query: Box<ast::Query>,
    /// Where the query stands in the text.
    pub query_range: Range<usize>,
    pub emit: Vec<EmitClause>,
}

/// `CREATE VIEW`: a name for a query.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatePlainView {
    pub name: ast::ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    /// Names for the columns of the query.
    pub columns: Vec<ast::Ident>,
    pub query: Box<ast::Query>,
    /// Where the query stands in the text.
    pub query_range: Range<usize>,
}

/// `CREATE SINK .. FROM v` and `CREATE SINK .. AS SELECT ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSink {
    pub name: ast::ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    /// Of the sink's query and of its connector, together.
    pub options: Vec<WithOption>,
    pub source: SinkSource,
    pub emit: Vec<EmitClause>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SinkSource {
    /// All rows of a relation, and the query that reads them.
    From(ast::ObjectName, Box<ast::Query>),
    /// A query, and where it stands in the text.
    Query(Box<ast::Query>, Range<usize>),
}

/// A clause after the query of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct EmitClause {
    pub kind: EmitKind,
    /// Byte offset in the text.
    pub position: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EmitKind {
    /// `EMIT ON WINDOW CLOSE`, `EMIT FINAL`, `EMIT AFTER WATERMARK`.
    OnWindowClose,
    /// `EMIT CHANGES`, `EMIT ON UPDATE`.
    Changes,
    /// `EMIT COMPLETE`.
    Complete,
    /// `EMIT EVERY interval`, `EMIT PERIODIC interval`, `TRIGGER EVERY interval`: the interval as text.
    Every(String),
    /// `ALLOW LATENESS interval`, `GRACE PERIOD interval`: the interval as text.
    AllowLateness(String),
    /// `LATE DATA TO name`.
    LateDataTo(ast::ObjectName),
}

/// A key and a value of a `WITH` list.
#[derive(Debug, Clone, PartialEq)]
pub struct WithOption {
    /// As written, without quotes.
    pub key: String,
    /// A string or number as text, a word in lower case as written otherwise.
    pub value: String,
    /// Byte offset of the key in the text.
    pub position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropKind {
    Table,
    Stream,
    Source,
    /// `STREAMING VIEW`, `MATERIALIZED VIEW` and their synonyms.
    View,
    /// `VIEW` alone, which names streaming views too.
    AnyView,
    Sink,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Drop {
    pub kind: DropKind,
    pub if_exists: bool,
    pub names: Vec<ast::ObjectName>,
    pub cascade: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `PAUSE`, `SUSPEND`, `STOP QUERY v`, `TERMINATE v`.
    Pause,
    Resume,
    /// `SET (key = value, ..)`.
    Set(Vec<WithOption>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterView {
    pub name: ast::ObjectName,
    pub if_exists: bool,
    pub action: AlterAction,
}

/// `ALTER SOURCE s SET (key = value, ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterSource {
    pub name: ast::ObjectName,
    pub if_exists: bool,
    pub options: Vec<WithOption>,
}

/// Which form of a statement EXPLAIN shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExplainStage {
    Statement,
    Plan,
    /// What runs: the dataflow of a view, the physical plan of a SELECT.
    #[default]
    Dataflow,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    pub analyze: bool,
    pub stage: ExplainStage,
    pub target: ExplainTarget,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExplainTarget {
    /// A query, INSERT or CREATE STREAMING VIEW.
    Statement(Box<Statement>),
    /// `EXPLAIN STREAMING VIEW v`.
    View(ast::ObjectName),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    Setting(String),
    AllSettings,
    Objects {
        kind: ShowObjects,
        like: Option<String>,
    },
    Columns(ast::ObjectName),
    Create {
        kind: Option<DropKind>,
        name: ast::ObjectName,
    },
    Queries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowObjects {
    Tables,
    Streams,
    Sources,
    Views,
    Sinks,
    Schemas,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    pub name: String,
    /// `None` for `DEFAULT`.
    pub value: Option<String>,
    /// `SET LOCAL`: until the end of the transaction.
    pub local: bool,
    /// Byte offset of the name in the text.
    pub position: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reset {
    All,
    Setting(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Flush {
    /// `FLUSH`, `WAIT`.
    All,
    /// `FLUSH v`, `WAIT v`.
    View(ast::ObjectName),
}

/// Transaction modes as settings: `isolation`, `read_only` and `deferrable` with their values.
pub type TransactionModes = Vec<(&'static str, String)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transaction {
    /// `BEGIN`, `START TRANSACTION`: the tag differs.
    Begin {
        start: bool,
        modes: TransactionModes,
    },
    /// `SET TRANSACTION`.
    Modes(TransactionModes),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION`.
    DefaultModes(TransactionModes),
    Commit,
    Rollback,
    Savepoint(String),
    Release(String),
    RollbackTo(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    pub name: String,
    pub types: Vec<ast::DataType>,
    pub statement: Box<ParsedStatementBody>,
}

/// A statement inside another, with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedStatementBody {
    pub statement: Statement,
    pub text_range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    pub name: String,
    pub arguments: Vec<ast::Expr>,
}

/// One of a kind by its name, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    All,
    Named(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeclareCursor {
    pub name: String,
    pub binary: bool,
    /// `SCROLL`: may go backward.
    pub scroll: bool,
    /// Survives its transaction.
    pub hold: bool,
    pub rows: CursorRows,
}

/// What a cursor goes over.
#[derive(Debug, Clone, PartialEq)]
pub enum CursorRows {
    Query(Box<ast::Query>),
    Subscribe(Subscribe),
}

/// `SUBSCRIBE`: the changes of a relation, as long as the client reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscribe {
    pub name: ast::ObjectName,
    /// Begin with the rows that are there.
    pub snapshot: bool,
    /// Tell of each cut that is complete.
    pub progress: bool,
    /// Begin at this cut.
    pub as_of: Option<u64>,
    /// End with this cut.
    pub up_to: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    pub cursor: String,
    pub direction: Direction,
    /// `WITH (timeout = ..)`, of a subscription: how long to wait for the rows, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `MOVE`: skips the rows instead of returning them.
    pub skip: bool,
}

/// Where a cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// So many rows on; `None` for ALL.
    Forward(Option<u64>),
    /// So many rows back; `None` for ALL.
    Backward(Option<u64>),
    /// To the row of this number, counted from the end where it is negative.
    Absolute(i64),
    /// To the row that is so many after this one.
    Relative(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscardTarget {
    All,
    Plans,
    Sequences,
    Temporary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Listen(String),
    Unlisten(Target),
    Notify { channel: String, payload: String },
}
