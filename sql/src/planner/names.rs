//! Names to objects: schemas, the search path, and what exists under near names.

use std::sync::Arc;

use millpond_catalog::{DEFAULT_SCHEMA, Object, ObjectName};
use sqlparser::ast;

use crate::error::{Error, ErrorKind, Result};
use crate::settings::Settings;
use crate::suggest;

use super::PlanContext;

/// Schemas whose relations the server makes.
pub const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "sys"];

/// How the schemas of temporary objects begin.
const TEMPORARY: &str = "pg_temp_";

/// All objects but the temporary ones of other sessions.
fn visible<'a>(context: &PlanContext<'a>) -> impl Iterator<Item = &'a Arc<Object>> {
    let own = context.settings.temporary_schema();
    let objects = context.catalog.objects();
    objects.filter(move |o| !o.name.schema.starts_with(TEMPORARY) || own == Some(o.name.schema.as_str()))
}

/// Settings under which the text of an object in `schema` always means the same: names without a schema are looked up
/// there, and then in the default schema.
pub fn fixed_settings(schema: &str) -> Settings {
    let mut settings = Settings::default();
    if schema != DEFAULT_SCHEMA {
        let path = format!("{}, {DEFAULT_SCHEMA}", ObjectName::quote(schema));
        settings
            .set("search_path", Some(&path))
            .expect("a search path takes any list of names");
    }
    settings
}

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
                .find(|s| !s.starts_with(TEMPORARY) && schema_exists(s, context));
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
    let schema = session_schema(schema, context);
    check_schema(&schema, context)?;
    check_length(&name)?;
    Ok(ObjectName { schema, name })
}

/// The name for a new object that only the session sees.
pub fn new_temporary_name(name: &ast::ObjectName, context: &PlanContext<'_>) -> Result<ObjectName> {
    let (schema, name) = split(name)?;
    let Some(temporary) = context.settings.temporary_schema() else {
        return Err(Error::unsupported("temporary objects need a session"));
    };
    let schema = schema.map(|schema| session_schema(schema, context));
    if schema.is_some_and(|schema| schema != temporary) {
        return Err(Error::new(
            ErrorKind::InvalidTableDefinition,
            "cannot create temporary relation in non-temporary schema",
        ));
    }
    check_length(&name)?;
    Ok(ObjectName::new(temporary, name))
}

/// `pg_temp` is the schema of the session's own temporary objects.
fn session_schema(schema: String, context: &PlanContext<'_>) -> String {
    match context.settings.temporary_schema() {
        Some(temporary) if schema == "pg_temp" => temporary.to_owned(),
        _ => schema,
    }
}

/// # Errors
/// An empty name, or a longer one than Postgres has.
pub fn check_length(name: &str) -> Result<()> {
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
    Ok(())
}

/// Whether an object or index has the name.
pub fn is_taken(name: &ObjectName, context: &PlanContext<'_>) -> bool {
    context.catalog.find(name).is_some() || context.catalog.find_index(name).is_some()
}

pub fn schema_exists(schema: &str, context: &PlanContext<'_>) -> bool {
    schema == DEFAULT_SCHEMA
        || SYSTEM_SCHEMAS.contains(&schema)
        || context.catalog.schema(schema).is_some()
        || context.settings.temporary_schema() == Some(schema)
}

fn check_schema(schema: &str, context: &PlanContext<'_>) -> Result<()> {
    if schema_exists(schema, context) {
        return Ok(());
    }
    let own = context.catalog.schemas().map(|(name, _)| name);
    let known = SYSTEM_SCHEMAS.iter().copied().chain([DEFAULT_SCHEMA]).chain(own);
    Err(Error::new(
        ErrorKind::UndefinedSchema,
        format!("schema \"{schema}\" does not exist"),
    )
    .with_hint_if(suggest::did_you_mean(schema, known)))
}

/// The object of this name, if there is one. A name without a schema is looked up along the search path.
pub fn find<'a>(schema: Option<&str>, name: &str, context: &PlanContext<'a>) -> Option<&'a Arc<Object>> {
    match schema {
        Some(schema) => {
            let schema = session_schema(schema.to_owned(), context);
            context.catalog.find(&ObjectName::new(schema, name))
        }
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
    if let Some(error) = schema.and_then(|schema| check_schema(schema, context).err()) {
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
    let elsewhere = visible(context).find(|o| o.name.name == name);
    if let (None, Some(object)) = (schema, elsewhere) {
        return error.with_hint(format!(
            "Did you mean \"{}.{}\"?",
            object.name.schema, object.name.name
        ));
    }
    let mut names: Vec<String> = visible(context).map(|o| o.name.name.clone()).collect();
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
