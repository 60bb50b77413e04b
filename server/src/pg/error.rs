//! Errors and notices as the protocol tells them. The only place that chooses SQLSTATE codes.
//!
//! The matches have no wildcard over our own errors, so a new variant forces a choice here.

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use millpond_connectors::Error as ConnectorError;
use millpond_engine::error::Error as EngineError;
use millpond_engine::sink::SinkError;
use millpond_engine::source::SourceError;
use millpond_sql::ErrorKind;
use millpond_storage::Error as StorageError;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};

use crate::error::{CancelReason, Error, SessionError, ValueError};
use crate::outcome::{Notice, NoticeKind, Severity};

const INTERNAL_ERROR: &str = "XX000";
const FEATURE_NOT_SUPPORTED: &str = "0A000";
const INVALID_PARAMETER_VALUE: &str = "22023";
const NOT_IN_PREREQUISITE_STATE: &str = "55000";
const PROTOCOL_VIOLATION: &str = "08P01";
const DATA_EXCEPTION: &str = "22000";
const NUMERIC_OUT_OF_RANGE: &str = "22003";
const DIVISION_BY_ZERO: &str = "22012";
const INVALID_TEXT: &str = "22P02";
const UNDEFINED_COLUMN: &str = "42703";
const AMBIGUOUS_COLUMN: &str = "42702";

/// What clients know by its words.
const RESULT_CHANGED: &str = "cached plan must not change result type";

/// Everything a client is told about an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub sqlstate: &'static str,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Characters from 1, in the text as the client sent it.
    pub position: Option<usize>,
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
    /// Where in the data.
    pub context: Option<String>,
}

/// The way an error ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The session goes on.
    Error,
    /// The connection ends.
    Fatal,
}

impl Report {
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self {
            sqlstate,
            message: message.into(),
            ..Self::default()
        }
    }

    pub fn of(error: &Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Catalog(error) => Self::of(&Error::Sql(error.clone().into())),
            Error::Sql(error) => Self {
                detail: error.detail.clone(),
                hint: error.hint.clone(),
                position: error.position,
                ..Self::new(of_kind(error.kind), message)
            },
            Error::Engine(error) => of_engine(error),
            Error::Connector(error) => Self {
                hint: error.hint().map(str::to_owned),
                // Only a byte offset is known; exact for plain ASCII statements.
                position: error.position().map(|bytes| bytes + 1),
                ..Self::new(of_connector(error), message)
            },
            Error::Storage(error) => Self::new(of_storage(error), message),
            Error::Boot { .. } => Self::new(INTERNAL_ERROR, message),
            Error::DataFusion(error) => of_datafusion(error),
            Error::Session(error) => Self {
                hint: session_hint(error),
                ..Self::new(of_session(error), message)
            },
            Error::Value(error) => of_value(error),
            Error::Copy { cause, context } => Self {
                context: Some(context.clone()),
                ..Self::of(cause)
            },
            Error::Cancelled(reason) => Self::new(of_cancel(*reason), message),
            Error::Bug(_) => Self::new(INTERNAL_ERROR, message),
        }
    }

    pub fn message(&self, ending: Ending) -> PgWireBackendMessage {
        let severity = match ending {
            Ending::Error => "ERROR",
            Ending::Fatal => "FATAL",
        };
        let mut fields = leading_fields(severity, self.sqlstate, &self.message);
        let mut add = |code: u8, value: Option<String>| fields.extend(value.map(|v| (code, clean(&v))));
        add(b'D', self.detail.clone());
        add(b'H', self.hint.clone());
        add(b'P', self.position.map(|p| p.to_string()));
        add(b's', self.schema.clone());
        add(b't', self.table.clone());
        add(b'c', self.column.clone());
        add(b'n', self.constraint.clone());
        add(b'W', self.context.clone());
        // Where in the server's code: clients print it with \errverbose and expect it to be there. JDBC prepares a
        // statement anew where this routine says that its result has changed.
        let routine = match self.message.as_str() {
            RESULT_CHANGED => "RevalidateCachedQuery",
            _ => "execute",
        };
        add(b'F', Some("millpond".into()));
        add(b'L', Some("1".into()));
        add(b'R', Some(routine.into()));
        PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields))
    }
}

fn leading_fields(severity: &str, sqlstate: &str, message: &str) -> Vec<(u8, String)> {
    vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', sqlstate.to_owned()),
        (b'M', clean(message)),
    ]
}

/// A zero byte would end the field.
fn clean(text: &str) -> String {
    text.replace('\0', " ")
}

pub fn notice_message(notice: &Notice) -> PgWireBackendMessage {
    let severity = match notice.severity {
        Severity::Warning => "WARNING",
        Severity::Notice => "NOTICE",
        Severity::Info => "INFO",
    };
    let sqlstate = match (notice.kind, notice.severity) {
        (NoticeKind::Plain, Severity::Notice | Severity::Info) => "00000",
        (NoticeKind::Plain | NoticeKind::Limited, _) => "01000",
        (NoticeKind::AlreadyExists, _) => "42P07",
        (NoticeKind::NoTransaction, _) => "25P01",
        (NoticeKind::InTransaction, _) => "25001",
    };
    let mut fields = leading_fields(severity, sqlstate, &notice.message);
    fields.extend(notice.detail.iter().map(|text| (b'D', clean(text))));
    fields.extend(notice.hint.iter().map(|text| (b'H', clean(text))));
    PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields))
}

fn of_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Syntax => "42601",
        ErrorKind::Unsupported => FEATURE_NOT_SUPPORTED,
        ErrorKind::UndefinedTable => "42P01",
        ErrorKind::UndefinedColumn => UNDEFINED_COLUMN,
        ErrorKind::UndefinedFunction => "42883",
        ErrorKind::UndefinedObject => "42704",
        ErrorKind::UndefinedSchema => "3F000",
        ErrorKind::UndefinedParameter => "42P02",
        ErrorKind::IndeterminateParameter => "42P18",
        ErrorKind::AmbiguousColumn => AMBIGUOUS_COLUMN,
        ErrorKind::DuplicateTable => "42P07",
        ErrorKind::DuplicateColumn => "42701",
        ErrorKind::DuplicateObject => "42710",
        ErrorKind::DuplicateSchema => "42P06",
        ErrorKind::DuplicateAlias => "42712",
        ErrorKind::WrongObjectType => "42809",
        ErrorKind::DependentObjects => "2BP01",
        ErrorKind::TypeMismatch => "42804",
        ErrorKind::CannotCoerce => "42846",
        ErrorKind::Grouping => "42803",
        ErrorKind::Windowing => "42P20",
        ErrorKind::InvalidColumnReference => "42P10",
        ErrorKind::InvalidParameterValue => INVALID_PARAMETER_VALUE,
        ErrorKind::InvalidTextRepresentation => INVALID_TEXT,
        ErrorKind::InvalidDatetimeFormat => "22007",
        ErrorKind::InvalidRegularExpression => "2201B",
        ErrorKind::DatetimeOverflow => "22008",
        ErrorKind::NumericOutOfRange => NUMERIC_OUT_OF_RANGE,
        ErrorKind::DivisionByZero => DIVISION_BY_ZERO,
        ErrorKind::InvalidLogarithmArgument => "2201E",
        ErrorKind::InvalidPowerArgument => "2201F",
        ErrorKind::StringTooLong => "22001",
        ErrorKind::NotNullViolation => "23502",
        ErrorKind::InvalidTableDefinition => "42P16",
        ErrorKind::ReservedName => "42939",
        ErrorKind::ProgramLimitExceeded => "54000",
        ErrorKind::TooComplex => "54001",
        ErrorKind::CannotChangeNow => "55P02",
        ErrorKind::Internal => INTERNAL_ERROR,
    }
}

fn of_engine(error: &EngineError) -> Report {
    let message = error.to_string();
    match error {
        EngineError::Unsupported { hint, .. } => Report {
            hint: hint.clone(),
            ..Report::new(FEATURE_NOT_SUPPORTED, message)
        },
        EngineError::OutOfMemory(text) => out_of_memory(text),
        EngineError::OutOfReach { hint, .. } => Report {
            hint: hint.clone(),
            ..Report::new(NOT_IN_PREREQUISITE_STATE, message)
        },
        EngineError::User { sqlstate, hint, .. } => Report {
            hint: hint.clone(),
            ..Report::new(sqlstate, message)
        },
        EngineError::Sink(error) => {
            let (code, hint) = match error {
                SinkError::Unavailable(_) => ("HV00N", None),
                SinkError::Failed { hint, .. } => ("HV000", hint.clone()),
            };
            Report {
                hint,
                ..Report::new(code, message)
            }
        }
        EngineError::Source(error) => {
            let hint = match error {
                SourceError::Unavailable(_) => None,
                SourceError::Failed { hint, .. } => hint.clone(),
            };
            Report {
                hint,
                ..Report::new(of_source(error), message)
            }
        }
        EngineError::Storage(error) => Report::new(of_storage(error), message),
        EngineError::Gone(_) => Report::new(of_kind(ErrorKind::UndefinedTable), message),
        EngineError::Bug(_) => Report::new(INTERNAL_ERROR, message),
    }
}

fn of_source(error: &SourceError) -> &'static str {
    match error {
        // The words of foreign data wrappers: the connection cannot be made, an error of the outside.
        SourceError::Unavailable(_) => "HV00N",
        SourceError::Failed { .. } => "HV000",
    }
}

fn of_connector(error: &ConnectorError) -> &'static str {
    match error {
        ConnectorError::UnknownConnector { .. } => "42704",
        ConnectorError::UnknownOption { .. } | ConnectorError::DuplicateOption { .. } => "42601",
        ConnectorError::MissingOption { .. } | ConnectorError::InvalidOption { .. } => {
            INVALID_PARAMETER_VALUE
        }
        ConnectorError::Columns { .. } => "42P16",
        ConnectorError::NotSupported { .. } | ConnectorError::Changing { .. } => FEATURE_NOT_SUPPORTED,
        ConnectorError::Missing { .. } => "58P01",
        ConnectorError::Source(error) => of_source(error),
    }
}

fn of_storage(error: &StorageError) -> &'static str {
    match error {
        StorageError::Locked { .. } => "55006",
        StorageError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => "53100",
        StorageError::Io { .. } | StorageError::Poisoned { .. } => "58030",
        StorageError::Corrupt { .. } => "XX001",
        StorageError::NewerFormat { .. } => FEATURE_NOT_SUPPORTED,
        StorageError::Dropped { .. } => "42P01",
        StorageError::Compacted { .. } | StorageError::Invalid(_) => INTERNAL_ERROR,
    }
}

fn of_session(error: &SessionError) -> &'static str {
    match error {
        SessionError::TransactionFailed => "25P02",
        SessionError::InTransaction(_) => "25001",
        SessionError::ReadOnly(_) => "25006",
        SessionError::ForwardOnly => "55000",
        SessionError::NoTransaction(_) => "25P01",
        SessionError::NoSavepoint(_) => "3B001",
        SessionError::NoStatement(_) => "26000",
        SessionError::StatementExists(_) => "42P05",
        SessionError::NoPortal(_) | SessionError::NoCursor(_) => "34000",
        SessionError::PortalExists(_) | SessionError::CursorExists(_) => "42P03",
        SessionError::MultipleStatements | SessionError::WrongArguments(_) => "42601",
        SessionError::ResultTypeChanged | SessionError::Unsupported { .. } => FEATURE_NOT_SUPPORTED,
        SessionError::PortalFinished(_) => NOT_IN_PREREQUISITE_STATE,
        SessionError::WrongParameters(_) | SessionError::Protocol(_) => PROTOCOL_VIOLATION,
        SessionError::UnknownParameter(_) => "42P02",
        SessionError::WrongPassword(_) => "28P01",
        SessionError::NoUser => "28000",
        SessionError::TooManyClients => "53300",
        SessionError::IdleInTransaction => "25P03",
        SessionError::Deadlock => "40P01",
        SessionError::CopyFormat(_) => "22P04",
        SessionError::CopyFailed(_) => "57014",
    }
}

fn session_hint(error: &SessionError) -> Option<String> {
    match error {
        SessionError::Unsupported { hint, .. } => hint.clone(),
        SessionError::Deadlock => Some("Run the transaction again.".to_owned()),
        SessionError::ForwardOnly => {
            Some("Declare it with SCROLL option to enable backward scan.".to_owned())
        }
        _ => None,
    }
}

fn of_value(error: &ValueError) -> Report {
    let sqlstate = match error {
        ValueError::Syntax { .. } => INVALID_TEXT,
        ValueError::OutOfRange { .. } => NUMERIC_OUT_OF_RANGE,
        ValueError::Binary(_) | ValueError::BinaryCopy => "22P03",
        ValueError::NotUtf8 => "22021",
        ValueError::NotNull { .. } => "23502",
        ValueError::TooLong(_) => "22001",
        ValueError::Unique { .. } => "23505",
        ValueError::Check { .. } => "23514",
        ValueError::ConflictTwice => "21000",
    };
    let report = Report::new(sqlstate, error.to_string());
    match error {
        ValueError::NotNull {
            relation,
            schema,
            column,
            row,
        } => Report {
            detail: Some(format!("Failing row contains ({row}).")),
            schema: Some(schema.clone()),
            table: Some(relation.clone()),
            column: Some(column.clone()),
            ..report
        },
        ValueError::Unique {
            relation,
            schema,
            constraint,
            key,
        } => Report {
            detail: Some(format!("Key {key} already exists.")),
            schema: Some(schema.clone()),
            table: Some(relation.clone()),
            constraint: Some(constraint.clone()),
            ..report
        },
        ValueError::Check {
            relation,
            schema,
            constraint,
            row,
        } => Report {
            detail: Some(format!("Failing row contains ({row}).")),
            schema: Some(schema.clone()),
            table: Some(relation.clone()),
            constraint: Some(constraint.clone()),
            ..report
        },
        ValueError::ConflictTwice => Report {
            hint: Some(
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
                    .to_owned(),
            ),
            ..report
        },
        _ => report,
    }
}

fn of_cancel(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::User | CancelReason::StatementTimeout => "57014",
        CancelReason::ClientGone => "08006",
        CancelReason::Terminated => "57P01",
    }
}

/// Errors of one-off queries. DataFusion's variants are classes of its own; what it says about values of the user comes
/// as text, which is told apart here.
fn of_datafusion(error: &DataFusionError) -> Report {
    match error.find_root() {
        DataFusionError::External(inner) => of_external(inner.as_ref()),
        DataFusionError::ArrowError(inner, _) => of_arrow(inner),
        DataFusionError::Shared(inner) => of_datafusion(inner),
        DataFusionError::Collection(errors) if !errors.is_empty() => of_datafusion(&errors[0]),
        DataFusionError::Diagnostic(_, inner) | DataFusionError::Context(_, inner) => of_datafusion(inner),
        DataFusionError::SQL(inner, _) => Report::new("42601", inner.to_string()),
        DataFusionError::NotImplemented(text) => Report::new(FEATURE_NOT_SUPPORTED, text),
        DataFusionError::SchemaError(inner, _) => {
            let sqlstate = match inner.as_ref() {
                SchemaError::AmbiguousReference { .. } => AMBIGUOUS_COLUMN,
                SchemaError::FieldNotFound { .. } => UNDEFINED_COLUMN,
                SchemaError::DuplicateQualifiedField { .. }
                | SchemaError::DuplicateUnqualifiedField { .. } => "42701",
            };
            Report::new(sqlstate, inner.to_string())
        }
        DataFusionError::Plan(text) => Report::new("42000", text),
        DataFusionError::ResourcesExhausted(text) => out_of_memory(text),
        DataFusionError::Execution(text) => of_text(text),
        other => {
            of_regex_text(&other.message()).unwrap_or_else(|| Report::new(INTERNAL_ERROR, other.message()))
        }
    }
}

fn of_external(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Report {
    if let Some(error) = error.downcast_ref::<Error>() {
        Report::of(error)
    } else if let Some(error) = error.downcast_ref::<EngineError>() {
        of_engine(error)
    } else if let Some(error) = error.downcast_ref::<millpond_sql::Error>() {
        Report::of(&Error::Sql(error.clone()))
    } else if let Some(error) = error.downcast_ref::<DataFusionError>() {
        of_datafusion(error)
    } else if let Some(error) = error.downcast_ref::<ArrowError>() {
        of_arrow(error)
    } else {
        Report::new(DATA_EXCEPTION, error.to_string())
    }
}

fn of_arrow(error: &ArrowError) -> Report {
    match error {
        ArrowError::ExternalError(inner) => of_external(inner.as_ref()),
        ArrowError::DivideByZero => Report::new(DIVISION_BY_ZERO, "division by zero"),
        ArrowError::ArithmeticOverflow(text) => Report {
            detail: Some(text.clone()),
            ..Report::new(NUMERIC_OUT_OF_RANGE, "value out of range")
        },
        ArrowError::CastError(text) | ArrowError::ParseError(text) => of_text(text),
        ArrowError::InvalidArgumentError(text) | ArrowError::ComputeError(text) => of_text(text),
        ArrowError::NotYetImplemented(text) => Report::new(FEATURE_NOT_SUPPORTED, text),
        ArrowError::JsonError(text) => Report::new(INVALID_TEXT, text),
        ArrowError::MemoryError(text) => Report::new("53200", text),
        other => Report::new(INTERNAL_ERROR, other.to_string()),
    }
}

/// What functions and casts say about values.
fn out_of_memory(text: &str) -> Report {
    // The pool tells who holds what; that is for the log.
    let (message, detail) = match text.split_once(" with top memory consumers") {
        Some((what, _)) => (
            "the statement needs more memory than it may use",
            Some(what.to_owned()),
        ),
        None => (text, None),
    };
    Report {
        detail,
        hint: Some("Make the query smaller, or give the server more memory for one-off queries.".into()),
        ..Report::new("53200", message)
    }
}

fn of_text(text: &str) -> Report {
    if let Some(report) = of_regex_text(text) {
        return report;
    }
    let lower = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    if has(&["divide by zero", "division by zero"]) {
        return Report::new(DIVISION_BY_ZERO, "division by zero");
    }
    if let Some(report) = of_cast_text(text) {
        return report;
    }
    let sqlstate = if has(&["negative count not allowed"]) {
        return Report::new("22011", "negative substring length not allowed");
    } else if has(&[
        "overflow",
        "out of range",
        "can't cast value",
        "too large to store",
        "too small to store",
    ]) {
        NUMERIC_OUT_OF_RANGE
    } else if has(&["more than one row", "more than one element"]) {
        "21000"
    } else if has(&[
        "error parsing timestamp",
        "error parsing date",
        "parsing time",
        "date32 type",
        "date64 type",
    ]) {
        "22007"
    } else if has(&["cannot cast string", "parsing", "cannot parse", "invalid digit"]) {
        INVALID_TEXT
    } else {
        DATA_EXCEPTION
    };
    Report::new(sqlstate, text)
}

/// A regular expression that is none: the library shows it with a mark below the place, and then says what is wrong.
fn of_regex_text(text: &str) -> Option<Report> {
    let is_regex = ["regex parse error", "Regular expression did not compile"]
        .iter()
        .any(|words| text.contains(words));
    let reason = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("error: "))
        .next_back()
        .unwrap_or("it does not compile");
    is_regex.then(|| Report::new("2201B", format!("invalid regular expression: {reason}")))
}

/// `Cannot cast string 'abc' to value of Int32 type`, in Postgres' words.
fn of_cast_text(text: &str) -> Option<Report> {
    let rest = text.split_once("Cannot cast string '")?.1;
    let (value, rest) = rest.rsplit_once("' to value of ")?;
    let (name, sqlstate) = match rest.split_whitespace().next()? {
        "Int16" => ("smallint", INVALID_TEXT),
        "Int32" => ("integer", INVALID_TEXT),
        "Int64" => ("bigint", INVALID_TEXT),
        "Float32" => ("real", INVALID_TEXT),
        "Float64" => ("double precision", INVALID_TEXT),
        "Boolean" => ("boolean", INVALID_TEXT),
        "Date32" => ("date", "22007"),
        other if other.starts_with("Decimal") => ("numeric", INVALID_TEXT),
        other if other.starts_with("Timestamp") => ("timestamp", "22007"),
        other if other.starts_with("Time") => ("time", "22007"),
        other if other.starts_with("Interval") => ("interval", "22007"),
        _ => return None,
    };
    Some(Report::new(
        sqlstate,
        format!("invalid input syntax for type {name}: \"{value}\""),
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn code(error: DataFusionError) -> &'static str {
        Report::of(&Error::DataFusion(Arc::new(error))).sqlstate
    }

    #[test]
    fn errors_of_values_keep_their_class_through_the_layers() {
        let divide = || ArrowError::DivideByZero;
        assert_eq!(
            code(DataFusionError::ArrowError(Box::new(divide()), None)),
            "22012"
        );
        let nested = DataFusionError::ArrowError(Box::new(divide()), None).context("while doing this");
        assert_eq!(code(DataFusionError::Shared(Arc::new(nested))), "22012");
        let overflow = ArrowError::ArithmeticOverflow("1 + 1".into());
        assert_eq!(code(DataFusionError::External(Box::new(overflow))), "22003");
        let own: Error = ValueError::TooLong(3).into();
        assert_eq!(code(DataFusionError::External(Box::new(own))), "22001");
    }

    #[test]
    fn casts_speak_postgres() {
        let error = ArrowError::CastError("Cannot cast string 'it's' to value of Int32 type".into());
        let report = Report::of(&Error::from(error));
        assert_eq!(report.message, "invalid input syntax for type integer: \"it's\"");
        assert_eq!(report.sqlstate, "22P02");
    }

    #[test]
    fn a_message_has_the_fields_that_clients_read() {
        let error: Error = ValueError::NotNull {
            relation: "t".into(),
            schema: "public".into(),
            column: "a".into(),
            row: "null".into(),
        }
        .into();
        let PgWireBackendMessage::ErrorResponse(response) = Report::of(&error).message(Ending::Error) else {
            panic!("not an ErrorResponse")
        };
        let field = |code: u8| response.fields.iter().find(|f| f.0 == code).map(|f| f.1.as_str());
        assert_eq!(field(b'S'), Some("ERROR"));
        assert_eq!(field(b'V'), Some("ERROR"));
        assert_eq!(field(b'C'), Some("23502"));
        assert_eq!(field(b't'), Some("t"));
        assert_eq!(field(b'c'), Some("a"));
        assert_eq!(field(b'P'), None);
    }
}
