//! A PostgreSQL of our own to compare with: a fresh cluster in a temporary folder, gone with the value.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use millpond_tests::{Process, eventually};
use tempfile::TempDir;
use tokio_postgres::{Config, NoTls};

/// Debian's package creates this user. PostgreSQL refuses to run as root.
const UNPRIVILEGED: &str = "postgres";

/// A running server that trusts every local client.
pub struct Postgres {
    config: Config,
    process: Process,
    // Dropped last, after the process.
    _folder: TempDir,
}

impl Postgres {
    /// Makes a cluster and returns when it accepts connections.
    ///
    /// # Errors
    /// When PostgreSQL is not installed; `scripts/tools postgres` installs it.
    pub async fn start() -> Result<Self> {
        let binaries = binaries().context("PostgreSQL is not installed: run scripts/tools postgres")?;
        let folder = tempfile::Builder::new().prefix("millpond-postgres-").tempdir()?;
        let root = is_root()?;
        if root {
            let status = Command::new("chown")
                .arg(UNPRIVILEGED)
                .arg(folder.path())
                .status()?;
            ensure!(status.success(), "chown to {UNPRIVILEGED} failed");
        }
        let data = folder.path().join("data");
        let made = unprivileged(root, &binaries.join("initdb"))
            .args([
                "--auth=trust",
                "--username=postgres",
                "--no-locale",
                "--encoding=UTF8",
                "--no-sync",
                "-D",
            ])
            .arg(&data)
            .current_dir(folder.path())
            .output()?;
        ensure!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );

        let port = free_port()?;
        let mut command = unprivileged(root, &binaries.join("postgres"));
        command.arg("-D").arg(&data).current_dir(folder.path());
        for setting in [
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            "fsync=off".to_owned(),
            "timezone=UTC".to_owned(),
            "log_min_messages=fatal".to_owned(),
        ] {
            command.args(["-c", &setting]);
        }
        let process = Process::start(&mut command, &folder.path().join("log"))?;
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(port)
            .user("postgres")
            .dbname("postgres");
        let connected = eventually("the start of PostgreSQL", async || {
            Ok(config.connect(NoTls).await.ok())
        })
        .await;
        connected.map(drop).with_context(|| process.log_tail())?;
        Ok(Self {
            config,
            process,
            _folder: folder,
        })
    }

    /// How a client connects.
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    /// What the server logged lately, for a failure report.
    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}

/// The newest installed version; Debian keeps the programs out of the path.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let debian = versions
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")))
        .filter(|folder| folder.join("initdb").exists())
        .max();
    let in_path =
        || std::env::split_paths(&std::env::var_os("PATH")?).find(|folder| folder.join("initdb").exists());
    debian.or_else(in_path)
}

fn is_root() -> Result<bool> {
    let id = Command::new("id").arg("-u").output()?;
    Ok(id.stdout.trim_ascii() == b"0")
}

/// `setpriv` becomes the program, so that a signal to the child reaches it.
fn unprivileged(root: bool, program: &Path) -> Command {
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED, "--clear-groups"])
        .arg(program);
    command
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
