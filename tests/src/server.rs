//! `millpond serve` under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use tokio_postgres::{Client, Config, NoTls};

use crate::{DEADLINE, Ended, Process, millpond, workspace};

/// How to start a server. Ports are always free ones.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub workers: usize,
    /// `None` makes a folder that is deleted with the [`Server`].
    pub data_dir: Option<PathBuf>,
    /// Further arguments of `millpond serve`.
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            workers: 1,
            data_dir: None,
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }
}

impl ServerOptions {
    pub fn workers(workers: usize) -> Self {
        Self {
            workers,
            ..Self::default()
        }
    }
}

/// A server process and the folder it keeps its data in.
pub struct Server {
    process: Process,
    options: ServerOptions,
    postgres_port: u16,
    http_port: u16,
    // Dropped last, after the process.
    folder: TempDir,
}

impl Server {
    /// Starts a server and returns when it accepts connections.
    pub fn start(options: ServerOptions) -> Result<Server> {
        let folder = tempfile::Builder::new().prefix("millpond-test-").tempdir()?;
        let process = Process::start(&mut command(&options, folder.path()), &folder.path().join("log"))?;
        let (postgres_port, http_port) = ready(&process)?;
        Ok(Server {
            process,
            options,
            postgres_port,
            http_port,
            folder,
        })
    }

    /// A command that would start another server on the same data directory.
    pub fn command(&self) -> Command {
        command(&self.options, self.folder.path())
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn postgres_port(&self) -> u16 {
        self.postgres_port
    }

    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    pub fn data_dir(&self) -> PathBuf {
        data_dir(&self.options, self.folder.path())
    }

    /// A folder beside the data for the files of a test; it lives as long as the server value.
    pub fn scratch_dir(&self) -> PathBuf {
        let dir = self.folder.path().join("scratch");
        std::fs::create_dir_all(&dir).expect("the test's own folder can be written");
        dir
    }

    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }

    /// SIGKILL: what has not reached the disk is lost.
    pub fn kill(&mut self) -> Result<()> {
        self.process.signal_and_wait("KILL", DEADLINE).map(|_| ())
    }

    /// SIGTERM, and the way the process ended.
    pub fn terminate(&mut self, timeout: Duration) -> Result<Ended> {
        self.process.signal_and_wait("TERM", timeout)
    }

    /// Starts a server on the same data, killing the one that may still run. Its ports are new.
    pub fn restart(&mut self, workers: usize) -> Result<()> {
        self.kill()?;
        self.options.workers = workers;
        self.process = Process::start(&mut self.command(), &self.folder.path().join("log"))?;
        (self.postgres_port, self.http_port) = ready(&self.process)?;
        Ok(())
    }

    /// A new client connection.
    pub async fn connect(&self) -> Result<Client> {
        let (client, connection) = self.config().connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Connection parameters for a client with other wishes.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(self.postgres_port)
            .user("tester")
            .dbname("millpond");
        config
    }

    /// `psql` connected to this server, without the user's own settings.
    pub fn psql(&self) -> Command {
        let mut command = Command::new("psql");
        let port = self.postgres_port.to_string();
        command.args([
            "--no-psqlrc",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "tester",
            "-d",
            "millpond",
        ]);
        command.env_remove("PGOPTIONS").env("PGCONNECT_TIMEOUT", "20");
        command
    }
}

fn data_dir(options: &ServerOptions, folder: &Path) -> PathBuf {
    options.data_dir.clone().unwrap_or_else(|| folder.join("data"))
}

/// `millpond serve` on a data directory and free ports.
pub fn serve_on(data_dir: &Path) -> Command {
    let mut command = Command::new(millpond());
    command.args(["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
    command.arg("--data-dir").arg(data_dir);
    // Settings of the tests, or of the person who runs them, are none of the server's.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MILLPOND_")) {
        command.env_remove(name);
    }
    // Relative paths in SQL are those of a server that was started in the repository, as the README has it.
    command.current_dir(workspace());
    command
}

fn command(options: &ServerOptions, folder: &Path) -> Command {
    let mut command = serve_on(&data_dir(options, folder));
    command
        .args(["--workers", &options.workers.to_string()])
        .args(&options.arguments)
        .envs(options.environment.iter().map(|(k, v)| (k, v)));
    command
}

/// Reads `millpond ready: postgres 127.0.0.1:PORT http 127.0.0.1:PORT`.
fn ready(process: &Process) -> Result<(u16, u16)> {
    let line = process.wait_for_line("millpond ready:", DEADLINE)?;
    let port = |after: &str| -> Result<u16> {
        let address = line
            .split_once(after)
            .and_then(|(_, rest)| rest.split_whitespace().next());
        let port = address
            .and_then(|a| a.rsplit_once(':'))
            .with_context(|| format!("no {after}in '{line}'"))?
            .1;
        Ok(port.parse()?)
    };
    Ok((port("postgres ")?, port("http ")?))
}
