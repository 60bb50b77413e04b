//! What can be wrong with a request for a source; every variant but the last is the user's to mend in the statement.

use millpond_engine::source::SourceError;

/// Why a source cannot be created or opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("unknown connector \"{name}\"")]
    UnknownConnector { name: String, hint: String },
    #[error("unknown option \"{key}\" for {what}")]
    UnknownOption {
        key: String,
        /// `connector "file"`.
        what: String,
        position: Option<usize>,
        hint: String,
    },
    #[error("option \"{key}\" is given more than once")]
    DuplicateOption { key: String, position: Option<usize> },
    #[error("option \"{key}\" is required for {what}")]
    MissingOption {
        key: &'static str,
        what: String,
        hint: String,
    },
    #[error("invalid value for option \"{key}\": {message}")]
    InvalidOption {
        key: String,
        message: String,
        position: Option<usize>,
    },
    /// The declared columns do not fit the connector or format.
    #[error("{message}")]
    Columns { message: String, hint: Option<String> },
    /// A sink cannot take rows back.
    #[error("{message}")]
    Changing { message: String, hint: &'static str },
    /// Known, but not built yet.
    #[error("{what} is not supported yet")]
    NotSupported { what: String, hint: Option<String> },
    /// What the options name is not there.
    #[error("{message}")]
    Missing { message: String, hint: Option<String> },
    /// The source's own notes could not be read or written.
    #[error(transparent)]
    Source(#[from] SourceError),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Byte offset of the mistake in the statement's text.
    pub fn position(&self) -> Option<usize> {
        match self {
            Error::UnknownOption { position, .. }
            | Error::DuplicateOption { position, .. }
            | Error::InvalidOption { position, .. } => *position,
            Error::UnknownConnector { .. }
            | Error::MissingOption { .. }
            | Error::Columns { .. }
            | Error::Changing { .. }
            | Error::NotSupported { .. }
            | Error::Missing { .. }
            | Error::Source(_) => None,
        }
    }

    /// How to mend it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::UnknownConnector { hint, .. }
            | Error::UnknownOption { hint, .. }
            | Error::MissingOption { hint, .. } => Some(hint),
            Error::Columns { hint, .. } | Error::NotSupported { hint, .. } | Error::Missing { hint, .. } => {
                hint.as_deref()
            }
            Error::Changing { hint, .. } => Some(hint),
            Error::DuplicateOption { .. } | Error::InvalidOption { .. } => None,
            Error::Source(SourceError::Failed { hint, .. }) => hint.as_deref(),
            Error::Source(SourceError::Unavailable(_)) => None,
        }
    }
}
