//! Functions that wait: for time to pass, or for a streaming query to get somewhere.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datafusion::error::{DataFusionError, Result};
use millpond_catalog::{ObjectId, ObjectKind};
use millpond_engine::engine::{Engine, FlushTarget};
use millpond_engine::query::status::{Failure, QueryState};
use millpond_sql::{Error, ErrorKind};

use super::definition::{Definition, Wait, wait};
use super::identifier::{parse_name, undefined};
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[
    wait("pg_sleep", "float8", "void", sleep),
    wait("sys.process_all", "", "bool", process_all),
    wait("sys.process_all", "text", "bool", process_all),
    wait("sys.await_termination", "text", "bool", await_termination),
    wait("sys.await_termination", "text, float8", "bool", await_termination),
    wait(
        "sys.await_termination",
        "text, interval",
        "bool",
        await_termination,
    ),
    wait("sys.await_any_termination", "", "bool", await_any_termination),
    wait(
        "sys.await_any_termination",
        "float8",
        "bool",
        await_any_termination,
    ),
    wait(
        "sys.await_any_termination",
        "interval",
        "bool",
        await_any_termination,
    ),
];

/// How often a waiting function looks whether a query has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Longer waits than a year are a year.
const WAIT_MAX_S: f64 = 366.0 * 86400.0;

fn duration(seconds: &Value) -> Duration {
    let seconds = match seconds {
        Value::Interval(us) => *us as f64 / 1e6,
        seconds => seconds.float().unwrap_or(0.0),
    };
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

fn engine(context: &SystemContext) -> Result<Engine> {
    context
        .server
        .engine
        .clone()
        .ok_or_else(|| DataFusionError::Plan("this process runs no queries".to_owned()))
}

/// The view of that name.
pub fn query_object(context: &SystemContext, name: &str) -> Result<ObjectId> {
    let missing = || {
        undefined(
            ErrorKind::UndefinedTable,
            format!("streaming view \"{name}\" does not exist"),
        )
    };
    let parts = parse_name(name).ok_or_else(missing)?;
    let (schema, name) = match &parts[..] {
        [name] => (None, name),
        [schema, name] => (Some(schema.as_str()), name),
        _ => return Err(missing()),
    };
    let oid = context.relation_oid(schema, name).ok_or_else(missing)?;
    let object = context.object_of_oid(oid).ok_or_else(missing)?;
    match object.kind {
        ObjectKind::View(_) | ObjectKind::Sink(_) => Ok(object.id),
        ObjectKind::Table(_) | ObjectKind::Source(_) | ObjectKind::PlainView(_) => {
            let message = format!("\"{name}\" is not a streaming view");
            Err(undefined(ErrorKind::WrongObjectType, message))
        }
    }
}

fn engine_error(error: millpond_engine::error::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The failure of a query, as the error of a statement that waits for it.
fn failed(name: &str, failure: Failure) -> DataFusionError {
    let epoch = failure
        .epoch
        .map_or_else(String::new, |epoch| format!(" in epoch {epoch}"));
    let message = format!("streaming query \"{name}\" failed{epoch}: {}", failure.reason);
    let error = Error::new(ErrorKind::InvalidParameterValue, message);
    DataFusionError::External(Box::new(error.with_hint_if(failure.hint)))
}

/// Tells blocking work to give up when the future that waits for it is dropped.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until everything accepted before the call is in the view, or in all views.
fn process_all(context: Arc<SystemContext>, arguments: Vec<Value>) -> Wait {
    Box::pin(async move {
        let engine = engine(&context)?;
        let target = match arguments.first().and_then(Value::text) {
            Some(name) => FlushTarget::View(query_object(&context, name)?),
            None => FlushTarget::All,
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        let guard = GiveUp(cancelled.clone());
        let work = move || engine.flush(target, &|| cancelled.load(Ordering::Relaxed));
        let report = tokio::task::spawn_blocking(work).await;
        drop(guard);
        let report = report
            .map_err(|e| DataFusionError::External(Box::new(e)))?
            .map_err(engine_error)?;
        match (target, report.skipped.first()) {
            (FlushTarget::View(_), Some(skipped)) if !skipped.terminated => {
                let message = format!(
                    "streaming view \"{}\" does not run: {}",
                    skipped.name, skipped.reason
                );
                Err(DataFusionError::External(Box::new(Error::new(
                    ErrorKind::InvalidParameterValue,
                    message,
                ))))
            }
            _ => Ok(true.into()),
        }
    })
}

/// True when the query ended, false when the time is up first; an error with the cause when the query failed.
fn await_termination(context: Arc<SystemContext>, arguments: Vec<Value>) -> Wait {
    Box::pin(async move {
        let engine = engine(&context)?;
        let id = query_object(&context, arguments[0].text().unwrap_or_default())?;
        let ended = async {
            loop {
                // A view that was dropped has ended too.
                let Ok(status) = engine.query(id) else {
                    return Ok(true.into());
                };
                match status.state {
                    QueryState::Starting | QueryState::Running => tokio::time::sleep(LOOK_INTERVAL).await,
                    QueryState::Paused | QueryState::Terminated | QueryState::Stopped => {
                        return Ok(true.into());
                    }
                    QueryState::Failed(failure) => return Err(failed(&status.name, failure)),
                }
            }
        };
        within(arguments.get(1), ended).await
    })
}

/// False when the time is up first.
async fn within(time: Option<&Value>, ended: impl Future<Output = Result<Value>>) -> Result<Value> {
    match time {
        Some(time) => tokio::time::timeout(duration(time), ended)
            .await
            .unwrap_or_else(|_| Ok(false.into())),
        None => ended.await,
    }
}

/// As [`await_termination`], of the first to end of all queries that run when it is called; true at once without any.
fn await_any_termination(context: Arc<SystemContext>, arguments: Vec<Value>) -> Wait {
    Box::pin(async move {
        let engine = engine(&context)?;
        let running = engine.queries().into_iter().filter(|status| status.is_active());
        let running: Vec<_> = running.map(|status| (status.object, status.run_id)).collect();
        let ended = async {
            while !running.is_empty() {
                for (object, run_id) in &running {
                    let Ok(status) = engine.query(*object) else {
                        return Ok(true.into());
                    };
                    if let QueryState::Failed(failure) = status.state {
                        return Err(failed(&status.name, failure));
                    }
                    // One that was started again meanwhile had ended, too.
                    if !status.is_active() || status.run_id != *run_id {
                        return Ok(true.into());
                    }
                }
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
            Ok(true.into())
        };
        within(arguments.first(), ended).await
    })
}
