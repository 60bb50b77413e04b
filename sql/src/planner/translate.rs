//! Errors of the query library in our terms.
//!
//! The library tells most user errors as text. What Postgres tells apart is recognised here by that text and told in
//! Postgres' words; the golden tests hold each, so that a new version of the library that words one differently is
//! noticed.

use datafusion::common::{Column, Diagnostic, SchemaError};
use datafusion::error::DataFusionError;
use sqlparser::tokenizer::Location;

use crate::error::{Error, ErrorKind};
use crate::parser::lower_first;
use crate::suggest;
use crate::text::SourceText;

mod meaning;

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
            Err(inner) => meaning::of_message(&inner.strip_backtrace()),
        },
        DataFusionError::Collection(mut errors) if !errors.is_empty() => translate_inner(errors.remove(0)),
        DataFusionError::External(external) => match external.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => match other.to_string() {
                text if text.contains("regex parse error") => Error::new(
                    ErrorKind::InvalidRegularExpression,
                    format!("invalid regular expression: {}", last_reason(&text)),
                ),
                text => Error::new(ErrorKind::Internal, text),
            },
        },
        DataFusionError::SchemaError(error, _) => schema_error(*error),
        DataFusionError::SQL(error, _) => Error::syntax(lower_first(&error.to_string())),
        other => meaning::of_message(&other.strip_backtrace()),
    }
}

/// What the last line of a message says is wrong.
fn last_reason(text: &str) -> &str {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    last.trim().trim_start_matches("error: ")
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
    let Some(relation) = &field.relation else {
        return Error::new(
            ErrorKind::UndefinedColumn,
            format!("column \"{}\" does not exist", field.name),
        )
        .with_hint_if(suggest::did_you_mean(&field.name, names()));
    };
    let known = valid_fields.iter().any(|c| c.relation.as_ref() == Some(relation));
    if known || valid_fields.is_empty() {
        return Error::new(
            ErrorKind::UndefinedColumn,
            format!("column {relation}.{} does not exist", field.name),
        )
        .with_hint_if(suggest::did_you_mean(&field.name, names()));
    }
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
