//! Whether a name finds an object without its schema: the `pg_*_is_visible` functions.

use datafusion::error::Result;

use super::definition::{Definition, strict};
use super::identifier::oid_of;
use crate::pg_catalog::{SystemContext, TYPES, Value, functions, object_of_row_type};

pub const DEFINITIONS: &[Definition] = &[
    strict("pg_table_is_visible", "oid", "bool", table),
    strict("pg_type_is_visible", "oid", "bool", data_type),
    strict("pg_function_is_visible", "oid", "bool", function),
    strict("pg_operator_is_visible", "oid", "bool", built_in),
    strict("pg_opclass_is_visible", "oid", "bool", built_in),
    strict("pg_opfamily_is_visible", "oid", "bool", built_in),
    strict("pg_collation_is_visible", "oid", "bool", built_in),
    strict("pg_conversion_is_visible", "oid", "bool", built_in),
    strict("pg_statistics_obj_is_visible", "oid", "bool", built_in),
    strict("pg_ts_config_is_visible", "oid", "bool", built_in),
    strict("pg_ts_dict_is_visible", "oid", "bool", built_in),
    strict("pg_ts_parser_is_visible", "oid", "bool", built_in),
    strict("pg_ts_template_is_visible", "oid", "bool", built_in),
];

fn table(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let name = oid_of(&arguments[0]).and_then(|oid| context.relation_name(oid));
    Ok(name
        .map(|(schema, name)| context.is_visible(&schema, &name))
        .into())
}

fn data_type(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(oid) = oid_of(&arguments[0]) else {
        return Ok(Value::Null);
    };
    if TYPES.iter().any(|t| t.oid == oid || t.array == oid) {
        return Ok(true.into());
    }
    let object = object_of_row_type(context, oid).map(|(object, _)| object);
    Ok(object
        .map(|object| context.is_visible(&object.name.schema, &object.name.name))
        .into())
}

fn function(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let function = oid_of(&arguments[0]).and_then(|oid| functions().iter().find(|f| f.oid == oid));
    Ok(function
        .map(|f| context.search_path().iter().any(|schema| schema == f.schema))
        .into())
}

/// Of these only `pg_catalog` has any, and it is always looked at.
fn built_in(_context: &SystemContext, _arguments: &[Value]) -> Result<Value> {
    Ok(true.into())
}
