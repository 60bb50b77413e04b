//! What can be wrong with a statement, told in Postgres' manner: a class, one line, and where it helps a detail, a
//! hint and a position.
//!
//! The class decides the SQLSTATE, which `server/src/pg/error.rs` chooses with a match that has no wildcard.

use std::fmt;

/// Why a statement was refused. Every variant but the last is the user's to mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    Syntax,
    /// Understood, and not supported.
    Unsupported,
    UndefinedTable,
    UndefinedColumn,
    UndefinedFunction,
    /// A type, setting, option, statement name or anything else without a class of its own.
    UndefinedObject,
    UndefinedSchema,
    UndefinedParameter,
    IndeterminateParameter,
    AmbiguousColumn,
    DuplicateTable,
    DuplicateColumn,
    DuplicateObject,
    DuplicateSchema,
    DuplicateAlias,
    /// `DROP VIEW t` where `t` is a table.
    WrongObjectType,
    /// Something reads the object.
    DependentObjects,
    TypeMismatch,
    /// A cast between types that have none.
    CannotCoerce,
    Grouping,
    Windowing,
    InvalidColumnReference,
    /// A value that its place does not allow: an option, a setting, a window size.
    InvalidParameterValue,
    /// Text that is not a value of its type.
    InvalidTextRepresentation,
    InvalidDatetimeFormat,
    InvalidRegularExpression,
    DatetimeOverflow,
    NumericOutOfRange,
    DivisionByZero,
    InvalidLogarithmArgument,
    InvalidPowerArgument,
    StringTooLong,
    NotNullViolation,
    InvalidTableDefinition,
    ReservedName,
    /// A value that is too large to be made.
    ProgramLimitExceeded,
    /// Deeper nesting than the parser follows.
    TooComplex,
    /// A setting that only the server may change.
    CannotChangeNow,
    /// A defect of ours.
    Internal,
}

/// A refused statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// The primary line: lower case, no full stop.
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Where in the text that the client sent: characters from 1.
    pub position: Option<usize>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
        }
    }

    pub fn syntax(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidParameterValue, message)
    }

    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint where there is one.
    pub fn with_hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Sets the position, unless a more exact one is known.
    pub fn or_position(mut self, position: Option<usize>) -> Self {
        self.position = self.position.or(position);
        self
    }
}

/// The primary line only, as in a log.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<millpond_catalog::Error> for Error {
    fn from(error: millpond_catalog::Error) -> Self {
        use millpond_catalog::Error as Catalog;
        let message = error.to_string();
        match error {
            Catalog::NotFound(_) => Self::new(ErrorKind::UndefinedTable, message),
            Catalog::AlreadyExists(_) => Self::new(ErrorKind::DuplicateTable, message),
            Catalog::SchemaNotFound(_) => Self::new(ErrorKind::UndefinedSchema, message),
            Catalog::HasDependents {
                kind,
                name,
                dependents,
            } => {
                let detail: Vec<_> = dependents
                    .iter()
                    .map(|d| format!("{d} depends on {kind} {name}"))
                    .collect();
                Self::new(ErrorKind::DependentObjects, message)
                    .with_detail(detail.join("\n"))
                    .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
            }
            Catalog::WrongKind { actual, name, .. } => {
                Self::new(ErrorKind::WrongObjectType, message).with_detail(format!("{name} is a {actual}."))
            }
        }
    }
}
