//! What goes on: sessions and the database as a whole.

use super::rows::{Rows, Value};
use super::{SystemContext, oid};

pub fn pg_stat_activity(context: &SystemContext, rows: &mut Rows) {
    for session in context.server.sessions.list() {
        let activity = session.activity();
        let address = session.client_address;
        rows.add([
            ("datid", oid::DATABASE.into()),
            ("datname", (&session.database).into()),
            ("pid", session.pid.into()),
            ("usesysid", oid::OWNER.into()),
            ("usename", (&session.user).into()),
            ("client_addr", address.map(|a| a.ip().to_string()).into()),
            ("client_port", address.map_or(-1, |a| i32::from(a.port())).into()),
            ("backend_start", session.started_us.into()),
            ("query_start", activity.query_started_us.into()),
            ("state_change", activity.state_changed_us.into()),
            ("state", activity.state.name().into()),
            ("query", activity.query.into()),
            ("backend_type", "client backend".into()),
        ]);
    }
}

/// `pg_stat_ssl` and `pg_stat_gssapi`: no connection is encrypted.
pub fn pg_stat_ssl(context: &SystemContext, rows: &mut Rows) {
    for session in context.server.sessions.list() {
        rows.add([
            ("pid", session.pid.into()),
            ("ssl", false.into()),
            ("gss_authenticated", false.into()),
            ("encrypted", false.into()),
            ("credentials_delegated", false.into()),
        ]);
    }
}

pub fn pg_stat_database(context: &SystemContext, rows: &mut Rows) {
    rows.add([
        ("datid", oid::DATABASE.into()),
        ("datname", (&context.session.database).into()),
        ("numbackends", Value::from(context.server.sessions.len())),
        ("stats_reset", context.server.started_us.into()),
    ]);
}

pub fn pg_prepared_statements(context: &SystemContext, rows: &mut Rows) {
    for (name, prepared) in context.session.statements.list() {
        let types: Vec<Value> = prepared.parameters.iter().map(|t| t.oid().into()).collect();
        let text = prepared
            .statement
            .as_ref()
            .map_or("", |statement| statement.text());
        rows.add([
            ("name", (&name).into()),
            ("statement", text.into()),
            ("prepare_time", prepared.prepared_us.into()),
            ("parameter_types", Value::List(types)),
            ("from_sql", prepared.from_sql.into()),
            ("generic_plans", Value::Int(0)),
            ("custom_plans", Value::Int(0)),
        ]);
    }
}
