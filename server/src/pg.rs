//! The Postgres protocol, version 3: the only place that knows its bytes.
//!
//! pgwire encodes messages and does the cryptography of passwords; frames are cut and decoded here, because that is
//! where hostile input arrives, and the state machine is ours, because a cancel must reach a query for as long as its
//! rows stream.
//!
//! Deliberately absent: what statements mean.

pub mod auth;
mod connection;
mod copy;
pub mod decode;
pub mod encode;
pub mod error;
mod extended;
pub mod format;
mod message;
mod outbox;
mod rows;
mod simple;
mod startup;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::server::Server;

/// How long a client may take to log in, as in Postgres.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
/// Wait after an accept failed (no file descriptors, say) before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts clients until the server stops, then waits until the last one was told so.
pub async fn listen(listener: TcpListener, server: Arc<Server>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = server.shutdown.cancelled() => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection ended with a panic");
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    let server = server.clone();
                    connections.spawn(async move { serve(stream, address, server).await });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve(mut stream: TcpStream, address: std::net::SocketAddr, server: Arc<Server>) {
    // Small answers are sent at once; without it they may wait 40 ms. A socket that cannot is still usable.
    let _ = stream.set_nodelay(true);
    let starting = tokio::time::timeout(STARTUP_TIMEOUT, startup::start(&mut stream, address, &server));
    let started = tokio::select! {
        started = starting => started.ok().flatten(),
        () = server.shutdown.cancelled() => None,
    };
    if let Some(started) = started {
        connection::serve(stream, started, server).await;
    }
}
