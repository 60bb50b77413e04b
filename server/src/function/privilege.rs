//! `has_*_privilege`: whoever is connected owns everything, so the answer is yes for what exists.

use datafusion::error::Result;
use millpond_sql::ErrorKind;

use super::definition::{Definition, strict};
use super::identifier::{existing_class, undefined};
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[
    strict("has_table_privilege", "regclass, text", "bool", on_table),
    strict("has_table_privilege", "any, regclass, text", "bool", on_table),
    strict("has_any_column_privilege", "regclass, text", "bool", on_table),
    strict(
        "has_any_column_privilege",
        "any, regclass, text",
        "bool",
        on_table,
    ),
    strict("has_column_privilege", "regclass, any, text", "bool", |c, a| {
        exists(c, &a[0])
    }),
    strict(
        "has_column_privilege",
        "any, regclass, any, text",
        "bool",
        |c, a| exists(c, &a[1]),
    ),
    strict("has_schema_privilege", "any, text", "bool", on_schema),
    strict("has_schema_privilege", "any, any, text", "bool", on_schema),
    strict("has_database_privilege", "any, text", "bool", always),
    strict("has_database_privilege", "any, any, text", "bool", always),
    strict("has_function_privilege", "any, text", "bool", always),
    strict("has_function_privilege", "any, any, text", "bool", always),
    strict("has_language_privilege", "any, text", "bool", always),
    strict("has_language_privilege", "any, any, text", "bool", always),
    strict("has_sequence_privilege", "any, text", "bool", always),
    strict("has_sequence_privilege", "any, any, text", "bool", always),
    strict("has_tablespace_privilege", "any, text", "bool", always),
    strict("has_tablespace_privilege", "any, any, text", "bool", always),
    strict("has_type_privilege", "any, text", "bool", always),
    strict("has_type_privilege", "any, any, text", "bool", always),
    strict("has_foreign_data_wrapper_privilege", "any, text", "bool", always),
    strict(
        "has_foreign_data_wrapper_privilege",
        "any, any, text",
        "bool",
        always,
    ),
    strict("has_server_privilege", "any, text", "bool", always),
    strict("has_server_privilege", "any, any, text", "bool", always),
    strict("pg_has_role", "any, text", "bool", always),
    strict("pg_has_role", "any, any, text", "bool", always),
];

fn always(_context: &SystemContext, _arguments: &[Value]) -> Result<Value> {
    Ok(true.into())
}

fn exists(context: &SystemContext, relation: &Value) -> Result<Value> {
    match relation {
        Value::Text(_) => existing_class(context, relation).map(|_| true.into()),
        other => Ok(other
            .int()
            .and_then(|n| u32::try_from(n).ok())
            .and_then(|oid| context.relation_name(oid))
            .map(|_| true)
            .into()),
    }
}

/// The relation is the last argument but one.
fn on_table(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    exists(context, &arguments[arguments.len() - 2])
}

fn on_schema(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    match &arguments[arguments.len() - 2] {
        Value::Text(name) if !crate::pg_catalog::namespaces(&context.catalog).any(|(_, n)| n == name) => {
            Err(undefined(
                ErrorKind::UndefinedSchema,
                format!("schema \"{name}\" does not exist"),
            ))
        }
        _ => Ok(true.into()),
    }
}
