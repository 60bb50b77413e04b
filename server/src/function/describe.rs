//! Functions that describe catalog objects as SQL text: `pg_get_viewdef`, `pg_get_constraintdef`, `obj_description` ..

use datafusion::error::Result;
use millpond_catalog::{Object, ObjectName, SqlType};

use super::definition::{Body, Definition, strict};
use super::identifier::{class_of, existing_class, format_type, oid_of};
use crate::pg_catalog::{
    FunctionRow, SystemContext, Value, functions, oid_of_object, primary_key, primary_key_columns,
    primary_key_name, table_of_constraint,
};

pub const DEFINITIONS: &[Definition] = &[
    strict("pg_get_userbyid", "oid", "name", user_by_id),
    strict("pg_get_expr", "pg_node_tree, oid", "text", expression),
    strict("pg_get_expr", "pg_node_tree, oid, bool", "text", expression),
    strict("pg_get_viewdef", "regclass", "text", view_definition),
    strict("pg_get_viewdef", "regclass, bool", "text", view_definition),
    strict("pg_get_indexdef", "oid", "text", index_definition),
    strict("pg_get_indexdef", "oid, int4, bool", "text", index_definition),
    strict("pg_get_constraintdef", "oid", "text", constraint_definition),
    strict("pg_get_constraintdef", "oid, bool", "text", constraint_definition),
    strict("pg_get_ruledef", "oid", "text", nothing),
    strict("pg_get_ruledef", "oid, bool", "text", nothing),
    strict("pg_get_triggerdef", "oid", "text", nothing),
    strict("pg_get_triggerdef", "oid, bool", "text", nothing),
    strict("pg_get_partkeydef", "oid", "text", nothing),
    strict("pg_get_partition_constraintdef", "oid", "text", nothing),
    strict("pg_get_statisticsobjdef", "oid", "text", nothing),
    strict("pg_get_statisticsobjdef_columns", "oid", "text", nothing),
    strict("pg_get_statisticsobjdef_expressions", "oid", "text[]", nothing),
    strict("pg_get_serial_sequence", "text, text", "text", serial_sequence),
    strict("pg_get_function_arguments", "oid", "text", function_arguments),
    strict(
        "pg_get_function_identity_arguments",
        "oid",
        "text",
        function_arguments,
    ),
    strict("pg_get_function_result", "oid", "text", function_result),
    strict("pg_get_function_sqlbody", "oid", "text", nothing),
    strict("pg_get_function_arg_default", "oid, int4", "text", nothing),
    strict("pg_get_functiondef", "oid", "text", function_definition),
    strict("obj_description", "oid", "text", nothing),
    strict("obj_description", "oid, name", "text", nothing),
    strict("col_description", "oid, int4", "text", nothing),
    strict("shobj_description", "oid, name", "text", nothing),
    strict("pg_relation_is_publishable", "regclass", "bool", |_, _| {
        Ok(false.into())
    }),
    strict(
        "pg_index_column_has_property",
        "regclass, int4, text",
        "bool",
        index_column_property,
    ),
    strict("pg_indexam_has_property", "oid, text", "bool", nothing),
    strict("pg_index_has_property", "regclass, text", "bool", nothing),
    strict("row_security_active", "regclass", "bool", |_, _| Ok(false.into())),
    strict("pg_collation_for", "any", "text", nothing),
    Definition {
        name: "pg_typeof",
        arguments: "any",
        result: "text",
        volatility: datafusion::logical_expr::Volatility::Stable,
        body: Body::Types(type_of),
    },
];

/// For what the catalog has none of: comments, rules, triggers, partitions.
fn nothing(_context: &SystemContext, _arguments: &[Value]) -> Result<Value> {
    Ok(Value::Null)
}

fn type_of(_context: &SystemContext, fields: &[arrow::datatypes::FieldRef]) -> Result<Value> {
    let Some(field) = fields.first() else {
        return Ok(Value::Null);
    };
    Ok(match field.data_type() {
        arrow::datatypes::DataType::Null => "unknown".into(),
        _ => {
            let sql_type = SqlType::of(field);
            // By its oid, a type comes back without its modifier.
            SqlType::from_oid(sql_type.oid())
                .unwrap_or(sql_type)
                .to_string()
                .into()
        }
    })
}

fn user_by_id(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let oid = oid_of(&arguments[0]).unwrap_or(0);
    Ok(match oid {
        crate::pg_catalog::OWNER => (&context.session.user).into(),
        _ => format!("unknown (OID={oid})").into(),
    })
}

/// Expressions are kept as their text.
fn expression(_context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    Ok(arguments[0].clone())
}

fn view_definition(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let oid = existing_class(context, &arguments[0])?;
    let query = context
        .object_of_oid(oid)
        .and_then(|object| crate::pg_catalog::view_query(object));
    Ok(match query {
        Some(query) => format!(" {};", query.trim().trim_end_matches(';')).into(),
        None => Value::Null,
    })
}

/// `CREATE UNIQUE INDEX ..`, or one of its columns.
fn index_definition(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(table) = oid_of(&arguments[0]).and_then(|oid| context.table_of_index(oid)) else {
        return Ok(Value::Null);
    };
    let column = arguments.get(1).and_then(Value::int).unwrap_or(0);
    if column > 0 {
        let position = usize::try_from(column - 1)
            .ok()
            .and_then(|i| primary_key(table).get(i).copied());
        return Ok(position.map(|i| ObjectName::quote(&table.columns[i].name)).into());
    }
    let schema = ObjectName::quote(&table.name.schema);
    let (index, name) = (
        ObjectName::quote(&primary_key_name(table)),
        ObjectName::quote(&table.name.name),
    );
    let columns = primary_key_columns(table);
    Ok(format!("CREATE UNIQUE INDEX {index} ON {schema}.{name} USING btree ({columns})").into())
}

fn constraint_definition(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let table = oid_of(&arguments[0]).and_then(|oid| table_of_constraint(context, oid));
    Ok(table
        .map(|table| format!("PRIMARY KEY ({})", primary_key_columns(table)))
        .into())
}

/// Checks its arguments; no column draws from a sequence.
fn serial_sequence(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    existing_class(context, &arguments[0])?;
    Ok(Value::Null)
}

/// Properties of the columns of a primary key, which is all that is indexed.
fn index_column_property(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let table = class_of(context, &arguments[0]).and_then(|oid| context.table_of_index(oid));
    let Some(table): Option<&std::sync::Arc<Object>> = table else {
        return Ok(Value::Null);
    };
    let within = arguments[1]
        .int()
        .is_some_and(|n| n >= 1 && n as usize <= primary_key(table).len());
    Ok(match arguments[2].text() {
        _ if !within => Value::Null,
        Some("asc" | "nulls_last" | "orderable" | "returnable") => true.into(),
        Some("desc" | "nulls_first") => false.into(),
        _ => Value::Null,
    })
}

fn function_of(arguments: &[Value]) -> Option<&'static FunctionRow> {
    let oid = oid_of(&arguments[0])?;
    functions().iter().find(|f| f.oid == oid)
}

fn function_arguments(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(function) = function_of(arguments) else {
        return Ok(Value::Null);
    };
    let types = function
        .arguments
        .iter()
        .map(|a| format_type(context, *a, -1).unwrap_or_default());
    let mut types: Vec<String> = types.collect();
    if let Some(last) = types.last_mut().filter(|_| function.variadic) {
        *last = format!("VARIADIC {last}");
    }
    Ok(types.join(", ").into())
}

fn function_result(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(function) = function_of(arguments) else {
        return Ok(Value::Null);
    };
    let result = format_type(context, function.result, -1).unwrap_or_default();
    Ok(if function.returns_set {
        format!("SETOF {result}")
    } else {
        result
    }
    .into())
}

/// The declaration only: no function is written in a language that could be shown.
fn function_definition(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(function) = function_of(arguments) else {
        return Ok(Value::Null);
    };
    let list = function_arguments(context, arguments)?;
    let result = function_result(context, arguments)?;
    let text = format!(
        "CREATE OR REPLACE FUNCTION {}.{}({})\n RETURNS {}\n LANGUAGE internal\nAS $function${}$function$\n",
        function.schema,
        ObjectName::quote(function.name),
        list.text().unwrap_or_default(),
        result.text().unwrap_or_default(),
        function.name,
    );
    Ok(text.into())
}

/// The oid of an object's relation, for functions that take either.
pub fn relation_of(context: &SystemContext, value: &Value) -> Option<std::sync::Arc<Object>> {
    let oid = class_of(context, value)?;
    context
        .catalog
        .relations()
        .find(|object| oid_of_object(object) == oid)
        .cloned()
}
