//! Functions that describe catalog objects as SQL text: `pg_get_viewdef`, `pg_get_constraintdef`, `obj_description` ..

use datafusion::error::Result;
use millpond_catalog::{Object, ObjectName, SqlType};

use super::definition::{Body, Definition, strict};
use super::identifier::{class_of, existing_class, format_type, oid_of};
use crate::pg_catalog::{FunctionRow, SystemContext, Value, comment, functions, index_of_oid, oid_of_object};

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
    strict("obj_description", "oid", "text", object_description),
    strict("obj_description", "oid, name", "text", object_description),
    strict("col_description", "oid, int4", "text", column_description),
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

/// For what the catalog has none of: rules, triggers, partitions.
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

/// `CREATE INDEX ..`, or one of its columns.
fn index_definition(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(index) = oid_of(&arguments[0]).and_then(|oid| index_of_oid(context, oid)) else {
        return Ok(Value::Null);
    };
    let column = arguments.get(1).and_then(Value::int).unwrap_or(0);
    if column > 0 {
        let position = usize::try_from(column - 1).ok();
        let shown = position.and_then(|i| index.columns.get(i)).map(|(shown, _)| {
            let end = shown
                .find(" DESC")
                .or_else(|| shown.find(" NULLS"))
                .unwrap_or(shown.len());
            shown[..end].to_owned()
        });
        return Ok(shown.into());
    }
    Ok(index.definition.into())
}

fn constraint_definition(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let oid = oid_of(&arguments[0]);
    Ok(oid
        .and_then(|oid| crate::pg_catalog::constraint_definition(context, oid))
        .into())
}

/// The comment on an object, with the class of what it is about where there is a second argument.
fn object_description(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let is_kept = arguments
        .get(1)
        .and_then(Value::text)
        .is_none_or(|class| matches!(class, "pg_class" | "pg_namespace"));
    let oid = oid_of(&arguments[0]).filter(|_| is_kept);
    Ok(oid.and_then(|oid| comment(context, oid, 0)).into())
}

fn column_description(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let column = arguments[1].int().and_then(|n| u32::try_from(n).ok());
    let found = oid_of(&arguments[0]).zip(column.filter(|n| *n > 0));
    Ok(found
        .and_then(|(oid, column)| comment(context, oid, column))
        .into())
}

/// Checks its arguments; no column draws from a sequence.
fn serial_sequence(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    existing_class(context, &arguments[0])?;
    Ok(Value::Null)
}

/// Properties of the columns of an index.
fn index_column_property(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let index = class_of(context, &arguments[0]).and_then(|oid| index_of_oid(context, oid));
    let position = arguments[1].int().and_then(|n| usize::try_from(n - 1).ok());
    let Some((shown, _)) = index
        .zip(position)
        .and_then(|(index, i)| index.columns.get(i).cloned())
    else {
        return Ok(Value::Null);
    };
    let descends = shown.contains(" DESC");
    let nulls_first = shown.contains(" NULLS FIRST") || (descends && !shown.contains(" NULLS LAST"));
    Ok(match arguments[2].text() {
        Some("orderable" | "returnable") => true.into(),
        Some("asc") => (!descends).into(),
        Some("desc") => descends.into(),
        Some("nulls_first") => nulls_first.into(),
        Some("nulls_last") => (!nulls_first).into(),
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
