//! Errors of the query library in our terms.
//!
//! The library tells most user errors as text. What Postgres tells apart is recognised here by the beginning of that
//! text; the golden tests hold each, so that a new version of the library that words one differently is noticed.

use datafusion::common::{Column, Diagnostic, SchemaError};
use datafusion::error::DataFusionError;
use sqlparser::tokenizer::Location;

use crate::error::{Error, ErrorKind};
use crate::suggest;
use crate::text::SourceText;

/// Translates an error of planning; `text` is what the spans in it refer to.
pub fn translate(error: DataFusionError, text: &SourceText) -> Error {
    let position = error.diagnostic().and_then(|d| position(d, text));
    translate_inner(error).or_position(position)
}

fn position(diagnostic: &Diagnostic, text: &SourceText) -> Option<usize> {
    let start = diagnostic.span?.start;
    text.position(Location::new(start.line, start.column))
}

fn translate_inner(error: DataFusionError) -> Error {
    match error {
        DataFusionError::Diagnostic(_, inner) | DataFusionError::Context(_, inner) => translate_inner(*inner),
        DataFusionError::Shared(inner) => match std::sync::Arc::try_unwrap(inner) {
            Ok(inner) => translate_inner(inner),
            Err(inner) => from_message(&inner.strip_backtrace()),
        },
        DataFusionError::Collection(mut errors) if !errors.is_empty() => translate_inner(errors.remove(0)),
        DataFusionError::External(external) => match external.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => Error::new(ErrorKind::Internal, other.to_string()),
        },
        DataFusionError::SchemaError(error, _) => schema_error(*error),
        DataFusionError::NotImplemented(message) => Error::unsupported(first_line(&unbacktraced(&message))),
        DataFusionError::SQL(error, _) => Error::syntax(error.to_string()),
        other => from_message(&other.strip_backtrace()),
    }
}

fn unbacktraced(message: &str) -> String {
    message
        .split("\n\nbacktrace:")
        .next()
        .unwrap_or(message)
        .to_owned()
}

fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or(message);
    line.chars().take(300).collect()
}

fn schema_error(error: SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => column_not_found(&field, &valid_fields),
        SchemaError::AmbiguousReference { field } => Error::new(
            ErrorKind::AmbiguousColumn,
            format!("column reference \"{}\" is ambiguous", field.name),
        ),
        SchemaError::DuplicateQualifiedField { qualifier, .. } => Error::new(
            ErrorKind::DuplicateAlias,
            format!("table name \"{qualifier}\" specified more than once"),
        ),
        SchemaError::DuplicateUnqualifiedField { name } => Error::new(
            ErrorKind::AmbiguousColumn,
            format!("column reference \"{name}\" is ambiguous"),
        ),
    }
}

fn column_not_found(field: &Column, valid_fields: &[Column]) -> Error {
    let names = || valid_fields.iter().map(|c| c.name.as_str());
    match &field.relation {
        Some(relation) => {
            let known = valid_fields.iter().any(|c| c.relation.as_ref() == Some(relation));
            if known || valid_fields.is_empty() {
                Error::new(
                    ErrorKind::UndefinedColumn,
                    format!("column {relation}.{} does not exist", field.name),
                )
                .with_hint_if(suggest::did_you_mean(&field.name, names()))
            } else {
                let tables: Vec<_> = valid_fields
                    .iter()
                    .filter_map(|c| c.relation.as_ref())
                    .map(ToString::to_string)
                    .collect();
                let message = format!("missing FROM-clause entry for table \"{relation}\"");
                Error::new(ErrorKind::UndefinedTable, message).with_hint_if(suggest::did_you_mean(
                    &relation.to_string(),
                    tables.iter().map(String::as_str),
                ))
            }
        }
        None => Error::new(
            ErrorKind::UndefinedColumn,
            format!("column \"{}\" does not exist", field.name),
        )
        .with_hint_if(suggest::did_you_mean(&field.name, names())),
    }
}

/// What the library's messages begin with or contain, and what they mean.
const MEANINGS: &[(&str, ErrorKind)] = &[
    (
        "must be in GROUP BY or an aggregate function",
        ErrorKind::Grouping,
    ),
    ("must appear in the GROUP BY clause", ErrorKind::Grouping),
    ("must be part of an aggregate function", ErrorKind::Grouping),
    ("Aggregate functions are not allowed in", ErrorKind::Grouping),
    ("Aggregate functions calls cannot be nested", ErrorKind::Grouping),
    (
        "could not be resolved from available columns",
        ErrorKind::Grouping,
    ),
    ("QUALIFY clause requires window functions", ErrorKind::Windowing),
    ("Window function calls cannot be nested", ErrorKind::Windowing),
    ("The window ", ErrorKind::UndefinedObject),
    ("There is no window function named", ErrorKind::UndefinedFunction),
    (
        "Projections require unique expression names",
        ErrorKind::DuplicateColumn,
    ),
    ("specified more than once", ErrorKind::DuplicateAlias),
    (
        "Cannot find column with position",
        ErrorKind::InvalidColumnReference,
    ),
    ("SELECT * with no tables specified", ErrorKind::Syntax),
    ("SELECT expression list must not be empty", ErrorKind::Syntax),
    ("names given as column alias", ErrorKind::InvalidColumnReference),
    ("queries have different number of columns", ErrorKind::Syntax),
    ("have the same number of columns", ErrorKind::Syntax),
    ("Inconsistent data length across values list", ErrorKind::Syntax),
    (
        "Inconsistent data type across values list",
        ErrorKind::TypeMismatch,
    ),
    ("Failed to coerce arguments", ErrorKind::UndefinedFunction),
    ("No function matches the given name", ErrorKind::UndefinedFunction),
    ("does not support zero arguments", ErrorKind::UndefinedFunction),
    ("expects at least", ErrorKind::UndefinedFunction),
    ("function requires", ErrorKind::UndefinedFunction),
    ("takes exactly", ErrorKind::UndefinedFunction),
    ("Cannot infer common argument type", ErrorKind::UndefinedFunction),
    (
        "Cannot coerce arithmetic expression",
        ErrorKind::UndefinedFunction,
    ),
    ("Cannot get result type for", ErrorKind::UndefinedFunction),
    ("Unsupported CAST", ErrorKind::TypeMismatch),
    ("There isn't a common type to coerce", ErrorKind::TypeMismatch),
    (
        "can't be evaluated because there isn't a common type",
        ErrorKind::TypeMismatch,
    ),
    (
        "Cannot create filter with non-boolean predicate",
        ErrorKind::TypeMismatch,
    ),
    ("Incompatible inputs for Union", ErrorKind::TypeMismatch),
    ("Failed to coerce", ErrorKind::TypeMismatch),
    ("coerce", ErrorKind::TypeMismatch),
    ("Can not find compatible types", ErrorKind::TypeMismatch),
    ("only return one column", ErrorKind::Syntax),
    ("should only return one column", ErrorKind::Syntax),
    (
        "Physical plan does not support logical expression",
        ErrorKind::Unsupported,
    ),
    ("Invalid placeholder", ErrorKind::UndefinedParameter),
    ("type could not be resolved", ErrorKind::IndeterminateParameter),
    ("Divide by zero", ErrorKind::DivisionByZero),
    ("Arrow error: Divide by zero", ErrorKind::DivisionByZero),
    ("Overflow happened", ErrorKind::NumericOutOfRange),
    ("Arithmetic overflow", ErrorKind::NumericOutOfRange),
    ("Error parsing timestamp", ErrorKind::InvalidDatetimeFormat),
    ("Parser error: Invalid timezone", ErrorKind::InvalidParameterValue),
    ("Cannot cast string", ErrorKind::InvalidTextRepresentation),
    (
        "Invalid input syntax for type interval",
        ErrorKind::InvalidDatetimeFormat,
    ),
    ("Not implemented", ErrorKind::Unsupported),
    ("This feature is not implemented", ErrorKind::Unsupported),
    ("Unsupported", ErrorKind::Unsupported),
    ("not supported", ErrorKind::Unsupported),
];

/// Prefixes that say who is speaking.
const SPEAKERS: &[&str] = &[
    "Error during planning: ",
    "Execution error: ",
    "Arrow error: ",
    "This feature is not implemented: ",
    "Optimizer rule ",
    "Internal error: ",
    "Schema error: ",
    "SQL error: ",
    "type_coercion\ncaused by\n",
];

fn from_message(message: &str) -> Error {
    let mut rest = message;
    while let Some(shorter) = SPEAKERS.iter().find_map(|speaker| rest.strip_prefix(speaker)) {
        rest = shorter;
    }
    if let Some(name) = rest
        .strip_prefix("Invalid function '")
        .and_then(|r| r.split('\'').next())
    {
        let suggested = rest
            .split("Did you mean '")
            .nth(1)
            .and_then(|r| r.split('\'').next());
        return Error::new(
            ErrorKind::UndefinedFunction,
            format!("function {name} does not exist"),
        )
        .with_hint_if(suggested.and_then(|s| suggest::did_you_mean(name, [s])))
        .with_detail("No function of that name is known; `\\df` lists them.".to_owned());
    }
    let kind = MEANINGS
        .iter()
        .find(|(text, _)| message.contains(text))
        .map(|(_, kind)| *kind);
    let kind = kind.unwrap_or(if message.starts_with("Error during planning") {
        ErrorKind::TypeMismatch
    } else {
        ErrorKind::Internal
    });
    let line = first_line(rest);
    let mut error = Error::new(kind, crate::parser::lower_first(&line));
    if kind == ErrorKind::UndefinedFunction {
        error.hint = Some("You might need to add explicit type casts.".to_owned());
    }
    error
}
