//! The real server, driven by one client: for benchmarks of whole statements.

use std::time::Instant;

use anyhow::{Context, Result};
use futures::{SinkExt, pin_mut};
use millpond_tests::{Server, ServerOptions};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, SimpleQueryMessage};

pub struct Wire {
    client: Client,
    runtime: Runtime,
    // Dropped last.
    _server: Server,
}

impl Wire {
    pub fn start(workers: usize) -> Result<Wire> {
        let server = Server::start(ServerOptions::workers(workers))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let client = runtime.block_on(server.connect())?;
        Ok(Wire {
            client,
            runtime,
            _server: server,
        })
    }

    /// Runs statements, whose rows are read and dropped; the seconds that it took.
    pub fn run(&self, sql: &str) -> Result<f64> {
        let begin = Instant::now();
        self.runtime
            .block_on(self.client.simple_query(sql))
            .with_context(|| format!("in: {:.200}", sql))?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// The one number that a SELECT gives.
    pub fn number(&self, select: &str) -> Result<f64> {
        let messages = self.runtime.block_on(self.client.simple_query(select))?;
        let value = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        value.context("no number came")?.parse().context("not a number")
    }

    /// Sends lines to a table, `copy` being the COPY statement.
    pub fn copy(&self, copy: &str, lines: &[String]) -> Result<()> {
        let data = bytes::Bytes::from(lines.join("\n") + "\n");
        self.runtime.block_on(async {
            let sink = self.client.copy_in(copy).await?;
            pin_mut!(sink);
            sink.send(data).await?;
            sink.finish().await?;
            Ok(())
        })
    }
}
