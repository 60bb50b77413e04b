//! Names to objects: schemas, the search path, and what exists under near names.

use std::sync::Arc;

use millpond_catalog::{DEFAULT_SCHEMA, Object, ObjectName};
use sqlparser::ast;

use crate::error::{Error, ErrorKind, Result};
use crate::suggest;

use super::PlanContext;

/// Schemas whose relations the server makes.
pub const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "sys"];

/// A name as stored: folded to lower case unless quoted.
pub fn fold(ident: &ast::Ident) -> String {
    if ident.quote_style.is_some() {
        ident.value.clone()
    } else {
        ident.value.to_lowercase()
    }
}

/// Schema, if written, and name. The name of the database may stand in front.
pub fn split(name: &ast::ObjectName) -> Result<(Option<String>, String)> {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    match parts.as_deref() {
        Some([name]) => Ok((None, name.clone())),
        Some([schema, name] | [_, schema, name]) => Ok((Some(schema.clone()), name.clone())),
        _ => Err(Error::syntax(format!(
            "improper relation name (too many dotted names): {name}"
        ))),
    }
}

/// The name for a new object.
pub fn new_name(name: &ast::ObjectName, context: &PlanContext<'_>) -> Result<ObjectName> {
    let (schema, name) = split(name)?;
    let schema = match schema {
        Some(schema) => schema,
        // Postgres creates in the first schema of the path that exists.
        None => {
            let path = context.settings.search_path();
            let first = path
                .into_iter()
                .find(|s| s == DEFAULT_SCHEMA || SYSTEM_SCHEMAS.contains(&s.as_str()));
            first.ok_or_else(|| {
                Error::new(
                    ErrorKind::UndefinedSchema,
                    "no schema has been selected to create in",
                )
                .with_hint("SET search_path TO public.")
            })?
        }
    };
    if SYSTEM_SCHEMAS.contains(&schema.as_str()) {
        return Err(Error::new(
            ErrorKind::ReservedName,
            format!("schema \"{schema}\" is read only"),
        )
        .with_hint("Create objects in the schema \"public\"."));
    }
    check_schema(&schema)?;
    if name.is_empty() {
        return Err(Error::syntax("zero-length delimited identifier"));
    }
    if name.len() > 63 {
        return Err(Error::new(
            ErrorKind::ReservedName,
            format!("identifier \"{name}\" is too long"),
        )
        .with_detail("Names have at most 63 bytes."));
    }
    Ok(ObjectName { schema, name })
}

fn check_schema(schema: &str) -> Result<()> {
    if schema == DEFAULT_SCHEMA || SYSTEM_SCHEMAS.contains(&schema) {
        return Ok(());
    }
    let known = SYSTEM_SCHEMAS.iter().copied().chain([DEFAULT_SCHEMA]);
    Err(Error::new(
        ErrorKind::UndefinedSchema,
        format!("schema \"{schema}\" does not exist"),
    )
    .with_hint_if(suggest::did_you_mean(schema, known)))
}

/// The object of this name, if there is one. A name without a schema is looked up along the search path.
pub fn find<'a>(schema: Option<&str>, name: &str, context: &PlanContext<'a>) -> Option<&'a Arc<Object>> {
    match schema {
        Some(schema) => context.catalog.find(&ObjectName::new(schema, name)),
        None => {
            let path = context.settings.search_path();
            path.into_iter()
                .find_map(|schema| context.catalog.find(&ObjectName::new(schema, name)))
        }
    }
}

/// The object of this name.
///
/// # Errors
/// [`ErrorKind::UndefinedTable`] with the nearest name as a hint.
pub fn lookup<'a>(name: &ast::ObjectName, context: &PlanContext<'a>) -> Result<&'a Arc<Object>> {
    let (schema, last) = split(name)?;
    find(schema.as_deref(), &last, context).ok_or_else(|| not_found(schema.as_deref(), &last, context))
}

/// The error for a relation that does not exist.
pub fn not_found(schema: Option<&str>, name: &str, context: &PlanContext<'_>) -> Error {
    if let Some(error) = schema.and_then(|schema| check_schema(schema).err()) {
        // As Postgres: a missing schema in FROM is a missing table.
        return Error {
            kind: ErrorKind::UndefinedTable,
            ..error
        };
    }
    let shown = match schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_owned(),
    };
    let error = Error::new(
        ErrorKind::UndefinedTable,
        format!("relation \"{shown}\" does not exist"),
    );
    // The same name in a schema that is not searched.
    let elsewhere = context.catalog.objects().find(|o| o.name.name == name);
    if let (None, Some(object)) = (schema, elsewhere) {
        return error.with_hint(format!(
            "Did you mean \"{}.{}\"?",
            object.name.schema, object.name.name
        ));
    }
    let mut names: Vec<String> = context.catalog.objects().map(|o| o.name.name.clone()).collect();
    if let Some(schema) = schema.filter(|s| SYSTEM_SCHEMAS.contains(s)) {
        names = context.relations.system_table_names(schema);
    }
    error.with_hint_if(suggest::did_you_mean(name, names.iter().map(String::as_str)))
}

/// The position of a name in the text, for errors about it.
pub fn span_start(name: &ast::ObjectName) -> Option<sqlparser::tokenizer::Location> {
    name.0
        .first()
        .and_then(|part| part.as_ident())
        .map(|ident| ident.span.start)
}
