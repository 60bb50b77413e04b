//! Other sessions: stopping what they do, and who waits for whom.

use datafusion::error::Result;

use super::definition::{Definition, effect, strict};
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[
    effect("pg_cancel_backend", "int4", "bool", |c, a| {
        signal(c, a, |c, pid| c.server.sessions.cancel(pid))
    }),
    effect("pg_terminate_backend", "int4", "bool", |c, a| {
        signal(c, a, |c, pid| c.server.sessions.terminate(pid))
    }),
    effect("pg_terminate_backend", "int4, int8", "bool", |c, a| {
        signal(c, a, |c, pid| c.server.sessions.terminate(pid))
    }),
    strict("pg_blocking_pids", "int4", "int4[]", |_, _| {
        Ok(Value::List(Vec::new()))
    }),
    strict("pg_safe_snapshot_blocking_pids", "int4", "int4[]", |_, _| {
        Ok(Value::List(Vec::new()))
    }),
    strict("pg_notification_queue_usage", "", "float8", |_, _| Ok(0.into())),
];

fn signal(
    context: &SystemContext,
    arguments: &[Value],
    send: fn(&SystemContext, i32) -> bool,
) -> Result<Value> {
    let pid = arguments[0].int().and_then(|pid| i32::try_from(pid).ok());
    Ok(pid.is_some_and(|pid| send(context, pid)).into())
}
