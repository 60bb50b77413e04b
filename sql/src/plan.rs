//! A plan: a statement with every name resolved, ready to be carried out.
//!
//! Nothing is left to look up: objects are named by their ids, queries are logical plans over table sources, options
//! are typed. What the catalog forbids was refused while planning. `Display` prints what EXPLAIN (PLAN) shows.

use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::{Column, Index, Key, Object, ObjectId, ObjectKind, ObjectName, SqlType};

use crate::statement::{
    CopyOptions, DiscardTarget, ExplainStage, Fetch, Listen, ParsedStatement, Statement, Target, Transaction,
};

mod display;

/// A planned statement and what to tell the client about it.
#[derive(Debug, Clone)]
pub struct Plan {
    pub kind: PlanKind,
    /// Sent as NoticeResponse before the result.
    pub notices: Vec<Notice>,
    /// Types of `$1`, `$2`, ...; what [`Plan::bind`] wants values for.
    pub parameters: Vec<SqlType>,
}

/// A remark for the client that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub message: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone)]
pub enum PlanKind {
    /// A table, stream or source.
    CreateRelation(CreateRelation),
    CreateView(CreateView),
    Drop(Drop),
    Change(CatalogChange),
    CreateTableAs(Box<CreateTableAs>),
    AlterView(AlterView),
    AlterSource(Box<AlterSource>),
    Write(Box<Write>),
    /// All rows of these tables go.
    Truncate(Vec<ObjectId>),
    CopyFrom(Box<CopyFrom>),
    CopyTo(Box<CopyTo>),
    Select(Select),
    Explain(Explain),
    /// An answer known already: SHOW.
    Rows(Rows),
    Set(Set),
    /// `RESET ALL`.
    ResetAll,
    Flush(Option<ObjectId>),
    Transaction(Transaction),
    Prepare(Box<Prepare>),
    Execute(Execute),
    Deallocate(Target),
    DeclareCursor(DeclareCursor),
    Fetch(Fetch),
    CloseCursor(Target),
    Subscribe(Subscribe),
    Discard(DiscardTarget),
    Listen(Listen),
    /// Nothing to do, for example `CREATE .. IF NOT EXISTS` of what exists. The tag is that of the statement.
    Nothing {
        tag: &'static str,
    },
}

/// An object that lacks only its id.
#[derive(Debug, Clone)]
pub struct ObjectDraft {
    pub name: ObjectName,
    pub columns: Vec<Column>,
    pub kind: ObjectKind,
    pub reads: Vec<ObjectId>,
    /// Canonical: planning it again gives an equal draft.
    pub create_sql: String,
}

impl ObjectDraft {
    pub fn with_id(self, id: ObjectId) -> Object {
        let Self {
            name,
            columns,
            kind,
            reads,
            create_sql,
        } = self;
        Object {
            id,
            name,
            columns,
            kind,
            reads,
            create_sql,
        }
    }
}

#[derive(Debug, Clone)]
pub struct CreateRelation {
    pub object: ObjectDraft,
    /// `OR REPLACE`: drop this one first.
    pub replaces: Option<ObjectId>,
}

#[derive(Debug, Clone)]
pub struct CreateView {
    pub object: ObjectDraft,
    /// Analyzed, and optimized by the rules that hold for continuous queries. Its fields are the view's columns in order.
    pub query: LogicalPlan,
    pub replaces: Option<ObjectId>,
}

/// A change of the catalog that makes no relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChange {
    CreateSchema(String),
    DropSchemas {
        names: Vec<String>,
        /// In the order to drop them.
        objects: Vec<ObjectId>,
    },
    CreateIndex(IndexDraft),
    DropIndexes(Vec<ObjectId>),
    Comment {
        /// An object, index or schema.
        id: ObjectId,
        /// From 1; 0 is the object itself.
        column: u32,
        /// `None` takes it away.
        text: Option<String>,
    },
    Rename {
        id: ObjectId,
        /// The text of the object under its new name.
        create_sql: String,
        tag: &'static str,
    },
}

impl CatalogChange {
    pub fn tag(&self) -> &'static str {
        match self {
            CatalogChange::CreateSchema(_) => "CREATE SCHEMA",
            CatalogChange::DropSchemas { .. } => "DROP SCHEMA",
            CatalogChange::CreateIndex(_) => "CREATE INDEX",
            CatalogChange::DropIndexes(_) => "DROP INDEX",
            CatalogChange::Comment { .. } => "COMMENT",
            CatalogChange::Rename { tag, .. } => tag,
        }
    }
}

/// An index that lacks only its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDraft {
    pub name: ObjectName,
    pub table: ObjectId,
    pub columns: Vec<(String, Option<usize>)>,
    pub create_sql: String,
}

impl IndexDraft {
    pub fn with_id(self, id: ObjectId) -> Index {
        let Self {
            name,
            table,
            columns,
            create_sql,
        } = self;
        Index {
            id,
            name,
            table,
            columns,
            create_sql,
        }
    }
}

/// A table that is made and filled by a query.
#[derive(Debug, Clone)]
pub struct CreateTableAs {
    /// `CREATE TABLE` with the columns of the query.
    pub create: ParsedStatement,
    /// `INSERT INTO .. query`; `None` leaves the table empty.
    pub insert: Option<ParsedStatement>,
}

/// Ids in the order to drop them: readers before what they read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drop {
    pub objects: Vec<ObjectId>,
    /// For the command tag: `DROP TABLE`.
    pub tag: &'static str,
}

#[derive(Debug, Clone)]
pub struct AlterView {
    pub view: ObjectId,
    pub action: AlterViewAction,
}

/// Other options of a source.
#[derive(Debug, Clone)]
pub struct AlterSource {
    pub source: ObjectId,
    /// As it would be created with them.
    pub object: ObjectDraft,
    /// Those that were given, normalised.
    pub changed: Vec<String>,
}

#[derive(Debug, Clone)]
pub enum AlterViewAction {
    Pause,
    Resume,
    /// Other options: the view, or sink, as it would be created with them.
    Set(Box<CreateView>),
}

/// INSERT, UPDATE or DELETE.
#[derive(Debug, Clone)]
pub struct Write {
    pub table: ObjectId,
    pub action: WriteAction,
    /// Analyzed, not optimized. Its columns are said by the action.
    pub query: LogicalPlan,
    /// What the query reads, the table only if the statement names it beside.
    pub reads: Vec<ObjectId>,
    pub checks: RowChecks,
    /// Keys to keep; none for DELETE.
    pub keys: Vec<Key>,
    pub conditions: Option<Conditions>,
    pub on_conflict: Option<OnConflict>,
    pub returning: Option<Returning>,
}

/// What is done with the rows of a [`Write`]'s query. Rows of the table have its columns in order, with their names (only
/// for INSERT) and Arrow types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAction {
    /// The columns are the new row.
    Insert,
    /// The columns are the number of the row, the row as it stands, the row as it will be, and what RETURNING needs
    /// beside. A row whose number came before is left out.
    Update,
    /// The columns are the number of the row, the row, and what RETURNING needs beside. A row whose number came before
    /// is left out.
    Delete,
}

/// What a table asks of new rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowChecks {
    /// Positions of columns that must not be NULL.
    pub not_null: Vec<usize>,
    /// Positions of columns with a greatest number of characters, checked as Postgres does: trailing blanks over the
    /// length are cut, anything else is an error.
    pub max_length: Vec<(usize, u32)>,
}

/// CHECK constraints.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// Reads the new rows and gives a boolean per constraint, which is not false.
    pub query: LogicalPlan,
    pub names: Vec<String>,
}

/// What becomes of a row whose key is there already.
#[derive(Debug, Clone)]
pub struct OnConflict {
    /// Which of the [`Write`]'s keys; `None` for any.
    pub key: Option<usize>,
    /// `None` leaves the row out.
    pub update: Option<ConflictUpdate>,
}

#[derive(Debug, Clone)]
pub struct ConflictUpdate {
    /// Reads rows of the table with the rows that were to be inserted beside; gives the rows that change, as they stand
    /// and as they will be.
    pub query: LogicalPlan,
    pub reads: Vec<ObjectId>,
}

/// The answer of a [`Write`].
#[derive(Debug, Clone)]
pub struct Returning {
    /// Reads the written rows, and beside them what the query of the statement gave for it.
    pub query: LogicalPlan,
    pub reads: Vec<ObjectId>,
    pub columns: Vec<OutputColumn>,
}

/// `COPY .. FROM STDIN`.
#[derive(Debug, Clone)]
pub struct CopyFrom {
    /// An INSERT whose query reads the rows that come.
    pub write: Write,
    /// Name, for errors.
    pub table: String,
    /// What comes, in order.
    pub columns: Vec<Column>,
    pub options: CopyOptions,
}

/// `COPY .. TO STDOUT`.
#[derive(Debug, Clone)]
pub struct CopyTo {
    pub rows: RowsOf,
    pub options: CopyOptions,
}

/// Where rows that are not just sent come from.
#[derive(Debug, Clone)]
pub enum RowsOf {
    Select(Select),
    Subscribe(Subscribe),
}

impl RowsOf {
    pub fn columns(&self) -> &[OutputColumn] {
        match self {
            RowsOf::Select(select) => &select.columns,
            RowsOf::Subscribe(subscribe) => &subscribe.columns,
        }
    }
}

/// The changes of a table or view, with the columns that say when and how often in front.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscribe {
    pub object: ObjectId,
    pub columns: Vec<OutputColumn>,
    /// Begin with the rows that are there.
    pub snapshot: bool,
    /// A row for each cut that is complete.
    pub progress: bool,
    pub as_of: Option<u64>,
    pub up_to: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct Select {
    /// Analyzed, not optimized.
    pub query: LogicalPlan,
    pub reads: Vec<ObjectId>,
    pub columns: Vec<OutputColumn>,
}

/// A column of a result. Names may repeat, unlike those of the plan's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// The object and position from 0 that the column comes from unchanged.
    pub origin: Option<(ObjectId, usize)>,
}

#[derive(Debug, Clone)]
pub struct Explain {
    pub analyze: bool,
    pub stage: ExplainStage,
    pub target: ExplainTarget,
    pub columns: Vec<OutputColumn>,
}

#[derive(Debug, Clone)]
pub enum ExplainTarget {
    Statement {
        statement: Box<Statement>,
        plan: Box<Plan>,
    },
    /// A view that runs.
    View(ObjectId),
}

/// Rows of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<Vec<Option<String>>>,
}

/// A checked value for a setting, to be put into the session's [`crate::Settings`] by [`crate::Settings::set`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub name: String,
    /// `None` resets it.
    pub value: Option<String>,
    pub local: bool,
    /// For the command tag: `SET` or `RESET`.
    pub tag: &'static str,
}

#[derive(Debug, Clone)]
pub struct Prepare {
    pub name: String,
    pub types: Vec<SqlType>,
    pub statement: ParsedStatement,
}

#[derive(Debug, Clone)]
pub struct Execute {
    pub name: String,
    /// Constant expressions, to be evaluated and bound in order.
    pub arguments: Vec<datafusion::logical_expr::Expr>,
}

#[derive(Debug, Clone)]
pub struct DeclareCursor {
    pub name: String,
    pub binary: bool,
    pub scroll: bool,
    pub hold: bool,
    pub rows: RowsOf,
}
