//! The server as a whole: what all connections share, how it starts and how it stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use millpond_engine::clock::{Clock, SystemClock};
use millpond_engine::engine::{Engine, EngineOptions};
use millpond_engine::oneoff::OneoffOptions;
use millpond_storage::Storage;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::coordinator::Coordinator;
use crate::error::{Result, SessionError};
use crate::pg::auth::Verifier;
use crate::pg_catalog::ServerState;
use crate::session::{Client, SessionInfo, Sessions};
use crate::table_locks::TableLocks;

/// Planning and evaluating deeply nested expressions takes a deep stack.
const STACK_BYTES: usize = 8 << 20;

/// What a stop may take beyond its time before nothing is waited for any more.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// What all connections share.
pub struct Server {
    pub coordinator: Coordinator,
    pub sessions: Arc<Sessions>,
    /// What system tables and functions see of the server.
    pub system: ServerState,
    pub table_locks: Arc<TableLocks>,
    pub clock: Arc<dyn Clock>,
    /// `None`: everybody is let in, and only this machine can connect.
    pub password: Option<Verifier>,
    /// Where one-off queries run.
    pub queries: Handle,
    pub oneoff: OneoffOptions,
    pub connections_max: usize,
    /// Cancelled when the server stops.
    pub shutdown: CancellationToken,
}

impl Server {
    /// Registers a session.
    pub fn open_session(&self, client: Client) -> Result<Arc<SessionInfo>> {
        if self.sessions.len() >= self.connections_max {
            return Err(SessionError::TooManyClients.into());
        }
        Ok(self.sessions.open(client, self.clock.now_us(), &self.shutdown))
    }
}

/// A server that accepts clients.
pub struct Running {
    pub server: Arc<Server>,
    pub postgres: SocketAddr,
    pub http: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
    query_runtime: Option<Runtime>,
    engine: Engine,
    stop_within: Duration,
}

/// Threads for serving connections, apart from those that run queries.
pub fn io_runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("io")
        .thread_stack_size(STACK_BYTES)
        .build()
}

/// Opens the data directory, brings back what it holds, and begins to accept clients.
pub async fn start(config: &Config) -> anyhow::Result<Running> {
    let (postgres_listener, postgres) = bind(&config.listen, config).await?;
    let (http_listener, http) = bind(&config.http, config).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let (booting, engine_clock) = (config.clone(), clock.clone());
    let (engine, coordinator) = tokio::task::spawn_blocking(move || boot(&booting, engine_clock)).await??;
    // Nothing after this fails: a runtime must not be dropped in an async context.
    let query_runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers())
        .enable_all()
        .thread_name("query")
        .thread_stack_size(STACK_BYTES)
        .build()
        .context("the threads for queries cannot start")?;
    let sessions = Arc::<Sessions>::default();
    let system = ServerState {
        sessions: sessions.clone(),
        advisory_locks: Arc::default(),
        engine: Some(engine.clone()),
        started_us: clock.now_us(),
    };
    let server = Arc::new(Server {
        coordinator,
        sessions,
        system,
        table_locks: Arc::default(),
        clock,
        password: config.password.as_deref().map(Verifier::new),
        queries: query_runtime.handle().clone(),
        oneoff: OneoffOptions {
            memory_bytes_max: config.query_memory_bytes,
            parallelism: config.workers(),
        },
        connections_max: config.max_connections,
        shutdown: CancellationToken::new(),
    });
    let tasks = vec![
        tokio::spawn(crate::pg::listen(postgres_listener, server.clone())),
        tokio::spawn(crate::http::listen(http_listener, server.clone())),
    ];
    let query_runtime = Some(query_runtime);
    Ok(Running {
        server,
        postgres,
        http,
        tasks,
        query_runtime,
        engine,
        stop_within: config.shutdown_timeout(),
    })
}

fn boot(config: &Config, clock: Arc<dyn Clock>) -> anyhow::Result<(Engine, Coordinator)> {
    let storage = Storage::open(&config.data_dir)?;
    let options = EngineOptions {
        workers: config.workers(),
        epoch_bytes: config.epoch_bytes,
        progress_kept: config.recent_progress,
        epochs_kept: config.batches_retained,
    };
    let engine = Engine::start(storage.clone(), clock, options)?;
    let coordinator = Coordinator::start(storage, engine.clone())?;
    Ok((engine, coordinator))
}

async fn bind(address: &str, config: &Config) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let mut addresses = tokio::net::lookup_host(address)
        .await
        .with_context(|| format!("\"{address}\" is no address to listen on"))?;
    let address = addresses
        .next()
        .with_context(|| format!("\"{address}\" is no address to listen on"))?;
    config.check_exposure(address)?;
    let socket = if address.is_ipv4() {
        tokio::net::TcpSocket::new_v4()
    } else {
        tokio::net::TcpSocket::new_v6()
    }?;
    // A restart must not wait for connections of the last run to time out.
    socket.set_reuseaddr(true)?;
    // Clients whose machine went away are noticed in the end; connections inherit this.
    socket.set_keepalive(true)?;
    const BACKLOG: u32 = 1024;
    let listener = socket
        .bind(address)
        .and_then(|()| socket.listen(BACKLOG))
        .with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

impl Running {
    /// Tells clients, lets running epochs end, closes the data directory. Takes about `shutdown_timeout_ms` at most.
    pub async fn stop(mut self) {
        tracing::info!("stopping");
        self.server.shutdown.cancel();
        let tasks = std::mem::take(&mut self.tasks);
        let told = tokio::time::timeout(self.stop_within, async {
            for task in tasks {
                // A task that panicked has been logged.
                let _ = task.await;
            }
        });
        if told.await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        if let Some(runtime) = self.query_runtime.take() {
            runtime.shutdown_background();
        }
        let (engine, timeout) = (self.engine.clone(), self.stop_within);
        let stopping = tokio::task::spawn_blocking(move || engine.shutdown(timeout));
        // The engine keeps to its time unless something is stuck; then the process ends all the same, and nothing that
        // was committed is lost.
        match tokio::time::timeout(self.stop_within + STOP_GRACE, stopping).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the engine did not stop in order"),
            Err(_) => tracing::warn!("some streaming queries did not stop in time and are abandoned"),
        }
        tracing::info!("stopped");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.shutdown.cancel();
        if let Some(runtime) = self.query_runtime.take() {
            runtime.shutdown_background();
        }
    }
}
