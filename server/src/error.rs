//! Errors of the server, by who can mend them. `pg/error.rs` chooses a SQLSTATE for each.

use std::sync::Arc;

use datafusion::error::DataFusionError;

/// Why a statement, a message or the server itself failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Catalog(#[from] millpond_catalog::Error),
    #[error(transparent)]
    Sql(#[from] millpond_sql::Error),
    #[error(transparent)]
    Engine(#[from] millpond_engine::error::Error),
    #[error(transparent)]
    Connector(#[from] millpond_connectors::Error),
    #[error(transparent)]
    Storage(Arc<millpond_storage::Error>),
    /// An object in the DDL log cannot be brought back, so the server does not start.
    #[error("object {object} cannot be started again: {cause}; it was created by: {sql}")]
    Boot {
        object: u64,
        sql: String,
        cause: Box<Error>,
    },
    /// DataFusion could not plan or run a one-off query.
    #[error("{}", root_message(.0))]
    DataFusion(Arc<DataFusionError>),
    /// What the session was asked for is at odds with its state.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A value does not have the form or range that its type needs.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A line that COPY cannot take.
    #[error("{cause}")]
    Copy { cause: Box<Error>, context: String },
    #[error("{0}")]
    Cancelled(CancelReason),
    /// A defect of ours.
    #[error("internal error: {0}")]
    Bug(String),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why running work was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelReason {
    #[error("canceling statement due to user request")]
    User,
    #[error("canceling statement due to statement timeout")]
    StatementTimeout,
    /// The client is gone; nobody will read this.
    #[error("connection to client lost")]
    ClientGone,
    /// `pg_terminate_backend` or the end of the server.
    #[error("terminating connection due to administrator command")]
    Terminated,
}

/// A statement or message that the session's state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("current transaction is aborted, commands ignored until end of transaction block")]
    TransactionFailed,
    #[error("{0} cannot run inside a transaction block")]
    InTransaction(&'static str),
    #[error("cannot execute {0} in a read-only transaction")]
    ReadOnly(&'static str),
    #[error("cursor can only scan forward")]
    ForwardOnly,
    #[error("{0} can only be used in transaction blocks")]
    NoTransaction(&'static str),
    #[error("savepoint \"{0}\" does not exist")]
    NoSavepoint(String),
    #[error("prepared statement \"{0}\" does not exist")]
    NoStatement(String),
    #[error("prepared statement \"{0}\" already exists")]
    StatementExists(String),
    #[error("portal \"{0}\" does not exist")]
    NoPortal(String),
    #[error("portal \"{0}\" already exists")]
    PortalExists(String),
    #[error("cursor \"{0}\" does not exist")]
    NoCursor(String),
    #[error("cursor \"{0}\" already exists")]
    CursorExists(String),
    #[error("cannot insert multiple commands into a prepared statement")]
    MultipleStatements,
    #[error("cached plan must not change result type")]
    ResultTypeChanged,
    /// A Bind that does not fit its statement.
    #[error("{0}")]
    WrongParameters(String),
    #[error("there is no parameter ${0}")]
    UnknownParameter(usize),
    /// An EXECUTE that does not fit its statement.
    #[error("{0}")]
    WrongArguments(String),
    #[error("portal \"{0}\" cannot be run anymore")]
    PortalFinished(String),
    /// Data of a COPY that are no rows.
    #[error("{0}")]
    CopyFormat(String),
    /// The client ended its COPY with an error.
    #[error("COPY from stdin failed: {0}")]
    CopyFailed(String),
    /// Two sessions wait for tables that the other has changed.
    #[error("deadlock detected")]
    Deadlock,
    #[error("password authentication failed for user \"{0}\"")]
    WrongPassword(String),
    #[error("no PostgreSQL user name specified in startup packet")]
    NoUser,
    #[error("sorry, too many clients already")]
    TooManyClients,
    #[error("terminating connection due to idle-in-transaction timeout")]
    IdleInTransaction,
    /// Bytes that are not a message of the protocol.
    #[error("{0}")]
    Protocol(String),
    #[error("{message}")]
    Unsupported { message: String, hint: Option<String> },
}

/// A value that cannot be read as, or stored in, its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("invalid input syntax for type {sql_type}: \"{text}\"")]
    Syntax { sql_type: String, text: String },
    #[error("value \"{text}\" is out of range for type {sql_type}")]
    OutOfRange { sql_type: String, text: String },
    #[error("incorrect binary data format")]
    BinaryCopy,
    #[error("incorrect binary data format in bind parameter {0}")]
    Binary(usize),
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    NotUtf8,
    #[error("null value in column \"{column}\" of relation \"{relation}\" violates not-null constraint")]
    NotNull {
        relation: String,
        schema: String,
        column: String,
        row: String,
    },
    #[error("duplicate key value violates unique constraint \"{constraint}\"")]
    Unique {
        relation: String,
        schema: String,
        constraint: String,
        /// `(a, b)=(1, 2)`.
        key: String,
    },
    #[error("new row for relation \"{relation}\" violates check constraint \"{constraint}\"")]
    Check {
        relation: String,
        schema: String,
        constraint: String,
        row: String,
    },
    #[error("ON CONFLICT DO UPDATE command cannot affect row a second time")]
    ConflictTwice,
    #[error("value too long for type character varying({0})")]
    TooLong(u32),
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        Error::DataFusion(Arc::new(error))
    }
}

impl From<millpond_storage::Error> for Error {
    fn from(error: millpond_storage::Error) -> Self {
        Error::Storage(Arc::new(error))
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        DataFusionError::from(error).into()
    }
}

/// The message of the innermost error, without the words that DataFusion puts around it.
fn root_message(error: &DataFusionError) -> String {
    error.find_root().message().into_owned()
}
