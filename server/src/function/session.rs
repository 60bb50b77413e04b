//! Who is asking, of which server, with which settings.

use datafusion::error::{DataFusionError, Result};

use super::definition::{Definition, effect, nullable, strict};
use crate::pg_catalog::{SettingChange, SystemContext, UTF8, Value, current_schema};

pub const DEFINITIONS: &[Definition] = &[
    strict("version", "", "text", version),
    strict("current_database", "", "name", |c, _| {
        Ok((&c.session.database).into())
    }),
    strict("current_catalog", "", "name", |c, _| {
        Ok((&c.session.database).into())
    }),
    strict("current_schema", "", "name", |c, _| Ok(current_schema(c).into())),
    strict("current_schemas", "bool", "name[]", current_schemas),
    strict("current_user", "", "name", user),
    strict("current_role", "", "name", user),
    strict("session_user", "", "name", user),
    strict("user", "", "name", user),
    strict("pg_backend_pid", "", "int4", |c, _| Ok(c.session.pid.into())),
    // Sees what set_config did before it in the same row.
    effect("current_setting", "text", "text", current_setting),
    effect("current_setting", "text, bool", "text", current_setting),
    nullable("current_query", "", "text", |c, _| {
        Ok(c.session.activity().query.into())
    }),
    effect("set_config", "text, text, bool", "text", set_config),
    effect("pg_notify", "text, text", "void", |c, a| {
        let text = |i: usize| a[i].text().unwrap_or_default();
        c.session.notify(text(0), text(1));
        Ok("".into())
    }),
    strict("pg_postmaster_start_time", "", "timestamptz", |c, _| {
        Ok(c.server.started_us.into())
    }),
    strict("pg_conf_load_time", "", "timestamptz", |c, _| {
        Ok(c.server.started_us.into())
    }),
    strict("statement_timestamp", "", "timestamptz", |c, _| {
        Ok(c.now_us.into())
    }),
    strict("transaction_timestamp", "", "timestamptz", |c, _| {
        Ok(c.now_us.into())
    }),
    strict("pg_is_in_recovery", "", "bool", |_, _| Ok(false.into())),
    strict("pg_jit_available", "", "bool", |_, _| Ok(false.into())),
    strict("pg_trigger_depth", "", "int4", |_, _| Ok(0.into())),
    strict("pg_my_temp_schema", "", "oid", |_, _| Ok(0.into())),
    strict("pg_is_other_temp_schema", "oid", "bool", |_, _| Ok(false.into())),
    strict("inet_client_addr", "", "inet", |c, _| {
        Ok(c.session.client_address.map(|a| a.ip().to_string()).into())
    }),
    strict("inet_client_port", "", "int4", |c, _| {
        Ok(c.session.client_address.map(|a| i32::from(a.port())).into())
    }),
    strict("inet_server_addr", "", "inet", |_, _| Ok(Value::Null)),
    strict("inet_server_port", "", "int4", |_, _| Ok(Value::Null)),
    strict("getdatabaseencoding", "", "name", |_, _| Ok("UTF8".into())),
    strict("pg_client_encoding", "", "name", |_, _| Ok("UTF8".into())),
    strict("pg_encoding_to_char", "int4", "name", encoding_name),
    strict("pg_char_to_encoding", "name", "int4", encoding_number),
    strict("txid_current", "", "int8", transaction),
    strict("txid_current_if_assigned", "", "int8", |_, _| Ok(Value::Null)),
    strict("age", "xid", "int4", |_, _| Ok(0.into())),
    strict("mxid_age", "xid", "int4", |_, _| Ok(0.into())),
];

fn version(c: &SystemContext, _: &[Value]) -> Result<Value> {
    let settings = c.settings();
    let number = settings.get("server_version").unwrap_or_default().to_owned();
    Ok(format!("PostgreSQL {number} (Millpond {})", env!("CARGO_PKG_VERSION")).into())
}

fn user(context: &SystemContext, _: &[Value]) -> Result<Value> {
    Ok((&context.session.user).into())
}

/// The schemas that names are looked up in; those that nobody wrote only when asked for.
fn current_schemas(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let mut path = context.search_path();
    let is_written = context.settings().search_path().iter().any(|s| s == "pg_catalog");
    if arguments[0] == Value::Bool(false) && !is_written {
        path.retain(|schema| schema != "pg_catalog");
    }
    Ok(path.into())
}

fn user_error(error: millpond_sql::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn current_setting(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let name = arguments[0].text().unwrap_or_default();
    match context.settings().get(name) {
        Ok(value) => Ok(value.into()),
        Err(_) if arguments.get(1) == Some(&Value::Bool(true)) => Ok(Value::Null),
        Err(error) => Err(user_error(error)),
    }
}

fn set_config(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let [name, value, local] = arguments else {
        return Ok(Value::Null);
    };
    let name = name.text().unwrap_or_default().to_owned();
    let value = value.text().unwrap_or_default().to_owned();
    let change = SettingChange {
        name: name.clone(),
        value,
        local: *local == Value::Bool(true),
    };
    context.set_setting(change).map_err(user_error)?;
    let settings = context.settings();
    Ok(settings.get(&name).map_err(user_error)?.into())
}

fn encoding_name(_: &SystemContext, arguments: &[Value]) -> Result<Value> {
    Ok(if arguments[0] == Value::from(UTF8) {
        "UTF8"
    } else {
        ""
    }
    .into())
}

fn encoding_number(_: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let name = arguments[0].text().unwrap_or_default().to_uppercase();
    Ok(if matches!(name.as_str(), "UTF8" | "UTF-8" | "UNICODE") {
        UTF8
    } else {
        -1
    }
    .into())
}

/// A number that is the same within a statement and grows with time, which is all that clients make of it.
fn transaction(context: &SystemContext, _: &[Value]) -> Result<Value> {
    Ok((context.now_us - context.server.started_us).max(1).into())
}
