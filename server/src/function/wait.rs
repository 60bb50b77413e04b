//! Functions that wait: for time to pass, or for a streaming query to get somewhere.

use std::sync::Arc;
use std::time::Duration;

use super::definition::{Definition, Wait, wait};
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[wait("pg_sleep", "float8", "void", sleep)];

/// Longer waits than a year are a year.
const WAIT_MAX_S: f64 = 366.0 * 86400.0;

fn duration(seconds: &Value) -> Duration {
    let seconds = seconds.float().unwrap_or(0.0);
    if seconds.is_nan() {
        Duration::ZERO
    } else {
        Duration::from_secs_f64(seconds.clamp(0.0, WAIT_MAX_S))
    }
}

fn sleep(_context: Arc<SystemContext>, arguments: Vec<Value>) -> Wait {
    Box::pin(async move {
        tokio::time::sleep(duration(&arguments[0])).await;
        Ok("".into())
    })
}
