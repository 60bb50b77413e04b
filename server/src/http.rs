//! HTTP for operators: `/health`, `/ready` and Prometheus metrics.
//!
//! Everything is read from the engine when it is asked for; nothing is counted here.

mod metrics;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use millpond_engine::query::status::QueryState;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::server::Server;

/// Serves until the server stops.
pub async fn listen(listener: TcpListener, server: Arc<Server>) {
    let shutdown = server.shutdown.clone();
    let routes = Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(server);
    let serving =
        axum::serve(listener, routes).with_graceful_shutdown(async move { shutdown.cancelled().await });
    if let Err(error) = serving.await {
        tracing::error!(%error, "HTTP stopped");
    }
}

/// What `/health` answers.
#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
    /// Why the server cannot do its work.
    reasons: Vec<String>,
    /// Streaming queries that stand still because they failed. The server itself is well.
    failed_queries: Vec<FailedQuery>,
}

#[derive(Debug, Serialize)]
struct FailedQuery {
    name: String,
    reason: String,
    hint: Option<String>,
    epoch: Option<u64>,
}

/// 200 while the server can do its work, 503 with the reasons when it cannot.
async fn health(State(server): State<Arc<Server>>) -> Response {
    let failed_queries = server
        .coordinator
        .engine()
        .queries()
        .into_iter()
        .filter_map(|query| match query.state {
            QueryState::Failed(failure) => Some(FailedQuery {
                name: query.name,
                reason: failure.reason,
                hint: failure.hint,
                epoch: failure.epoch,
            }),
            QueryState::Starting
            | QueryState::Running
            | QueryState::Paused
            | QueryState::Terminated
            | QueryState::Stopped => None,
        })
        .collect();
    let mut reasons = Vec::new();
    if let Some(reason) = server.coordinator.storage().poisoned() {
        reasons.push(reason);
    }
    if server.shutdown.is_cancelled() {
        reasons.push("the server is stopping".to_owned());
    }
    let (code, status) = if reasons.is_empty() {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "failed")
    };
    let health = Health {
        status,
        reasons,
        failed_queries,
    };
    match serde_json::to_string(&health) {
        Ok(json) => (code, [(header::CONTENT_TYPE, "application/json")], json + "\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Answers as soon as clients are accepted: HTTP is served from then on.
async fn ready(State(server): State<Arc<Server>>) -> Response {
    if server.shutdown.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    (StatusCode::OK, "ready\n").into_response()
}

async fn metrics(State(server): State<Arc<Server>>) -> Response {
    match metrics::text(&server) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
