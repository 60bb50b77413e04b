//! The schema `sys`: what streaming queries do, computed from the engine when a statement asks.
//!
//! [`queries`] has a row per query, [`progress`] one per finished epoch that is still remembered, in the fields of Spark's
//! progress report, [`bad_rows`] the rows that queries set aside, [`late_rows`]
//! those that came too late.

mod bad_rows;
mod checkpoints;
mod late_rows;
mod progress;
mod queries;
mod sinks;

use millpond_catalog::{Object, ObjectId};
use millpond_engine::query::status::QueryStatus;

use crate::pg_catalog::{Fill, SystemContext};

/// What stands in a relation of `sys`.
pub fn fill(name: &str) -> Option<Fill> {
    Some(match name {
        "queries" => queries::queries,
        "query_progress" => progress::query_progress,
        "query_sources" => queries::query_sources,
        "query_state" => progress::query_state,
        "watermarks" => queries::watermarks,
        "bad_rows" => bad_rows::bad_rows,
        "late_rows" => late_rows::late_rows,
        "checkpoints" => checkpoints::checkpoints,
        "sinks" => sinks::sinks,
        _ => return None,
    })
}

/// All queries with the views they keep up to date, where this statement's catalog has them.
fn running(context: &SystemContext) -> Vec<(QueryStatus, std::sync::Arc<Object>)> {
    let Some(engine) = &context.server.engine else {
        return Vec::new();
    };
    let object = |id: ObjectId| context.catalog.get(id).cloned();
    engine
        .queries()
        .into_iter()
        .filter_map(|status| object(status.object).map(|o| (status, o)))
        .collect()
}
