//! Outcome: what a statement gives back. The last of the forms a command passes through.
//!
//! Whether a statement returns rows is a variant here and never guessed from its text.

use std::fmt;

use arrow::array::RecordBatch;
use futures::stream::{BoxStream, StreamExt};
use millpond_sql::plan::{CopyFrom, OutputColumn};

use crate::copy::Writer;
use crate::error::Result;

/// The rows of a result, batch by batch. Dropping the stream stops the work behind it.
pub type RowStream = BoxStream<'static, Result<RecordBatch>>;

/// What one statement gives back.
pub enum Outcome {
    /// A result set. The batches have as many columns; what a column is called and what it holds is said here.
    Rows {
        columns: Vec<OutputColumn>,
        rows: RowStream,
        tag: RowsTag,
    },
    /// No result set.
    Done { tag: String },
    /// The client is asked for rows.
    CopyIn(Box<CopyFrom>),
    /// Rows as lines of text.
    CopyOut {
        columns: usize,
        writer: Box<Writer>,
        rows: RowStream,
    },
    /// The text held no statement.
    Empty,
}

/// The command tag of a result set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsTag {
    /// `SELECT n`, with the number of rows sent.
    Select,
    /// `FETCH n`.
    Fetch,
    /// `INSERT 0 n`, `UPDATE n`, `DELETE n` with RETURNING.
    Written(Written),
    /// The same words whatever the number of rows: `SHOW`, `EXPLAIN`.
    Fixed(&'static str),
}

/// What a statement did to the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Insert,
    Update,
    Delete,
}

impl Written {
    /// The command tag for `rows` rows.
    pub fn tag(self, rows: u64) -> String {
        match self {
            Written::Insert => format!("INSERT 0 {rows}"),
            Written::Update => format!("UPDATE {rows}"),
            Written::Delete => format!("DELETE {rows}"),
        }
    }
}

impl Outcome {
    pub fn done(tag: impl Into<String>) -> Self {
        Outcome::Done { tag: tag.into() }
    }

    /// A result set that is already there.
    pub fn batch(columns: Vec<OutputColumn>, batch: RecordBatch, tag: RowsTag) -> Self {
        Outcome::Rows {
            columns,
            rows: futures::stream::iter([Ok(batch)]).boxed(),
            tag,
        }
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Rows { columns, tag, .. } => write!(f, "Rows({} columns, {tag:?})", columns.len()),
            Outcome::Done { tag } => write!(f, "Done({tag})"),
            Outcome::CopyIn(copy) => write!(f, "CopyIn({})", copy.table),
            Outcome::CopyOut { columns, .. } => write!(f, "CopyOut({columns} columns)"),
            Outcome::Empty => f.write_str("Empty"),
        }
    }
}

impl RowsTag {
    /// The command tag after `rows` rows were sent.
    pub fn text(self, rows: u64) -> String {
        match self {
            RowsTag::Select => format!("SELECT {rows}"),
            RowsTag::Fetch => format!("FETCH {rows}"),
            RowsTag::Written(written) => written.tag(rows),
            RowsTag::Fixed(tag) => tag.to_owned(),
        }
    }
}

/// Something the user should know about a statement that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub severity: Severity,
    pub kind: NoticeKind,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Warning,
    Notice,
    Info,
}

/// What a notice is about; `pg/error.rs` chooses the SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// Nothing a client would act on.
    Plain,
    /// `IF NOT EXISTS` found the relation.
    AlreadyExists,
    /// `COMMIT` or `ROLLBACK` outside a transaction.
    NoTransaction,
    /// `BEGIN` within a transaction.
    InTransaction,
    /// A statement did less than a user of Postgres would expect.
    Limited,
}

impl Notice {
    pub fn plain(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Notice,
            kind: NoticeKind::Plain,
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    pub fn warning(kind: NoticeKind, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            kind,
            ..Self::plain(message)
        }
    }

    /// A remark of the planner.
    pub fn planned(notice: millpond_sql::Notice, kind: NoticeKind) -> Self {
        Self {
            kind,
            hint: notice.hint,
            ..Self::plain(notice.message)
        }
    }

    pub fn with_kind(self, kind: NoticeKind) -> Self {
        Self { kind, ..self }
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}
