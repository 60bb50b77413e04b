//! Errors of the engine, sorted by what the caller does next.

/// Why a query could not be lowered, run or restored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The user's query cannot be kept up to date; the message names the clause and the reason.
    #[error("{message}")]
    Unsupported { message: String, hint: Option<String> },
    /// The user's query or data is at fault: an expression failed and `on_error = 'fail'` is set, a value overflows.
    #[error("{message}")]
    User {
        message: String,
        sqlstate: &'static str,
        hint: Option<String>,
    },
    /// An object that was there when the statement was planned was dropped since.
    #[error("a relation that the statement uses was dropped while it ran (object {0})")]
    Gone(millpond_catalog::ObjectId),
    /// What the query asks for does not fit into the memory that it may use.
    #[error("{0}")]
    OutOfMemory(String),
    /// A subscriber asks for changes that are not kept.
    #[error("{message}")]
    OutOfReach { message: String, hint: Option<String> },
    /// A source cannot deliver.
    #[error(transparent)]
    Source(#[from] crate::source::SourceError),
    /// A sink cannot take what it is given.
    #[error(transparent)]
    Sink(#[from] crate::sink::SinkError),
    /// Storage failed or found damage.
    #[error(transparent)]
    Storage(#[from] std::sync::Arc<millpond_storage::Error>),
    /// A defect of ours: a broken invariant, a panic in an operator.
    #[error("internal error: {0}")]
    Bug(String),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<millpond_storage::Error> for Error {
    fn from(error: millpond_storage::Error) -> Self {
        Error::Storage(std::sync::Arc::new(error))
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        Error::Bug(error.to_string())
    }
}

impl From<datafusion::error::DataFusionError> for Error {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        Error::Bug(error.to_string())
    }
}
