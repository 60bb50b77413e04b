//! Everything that can be configured, in one struct: from flags, the environment and a file, in this order of precedence.
//!
//! No other file reads the environment or the command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use serde::{Deserialize, Serialize};

const EXAMPLES: &str = "\
Examples:
  See it work: a live view within seconds, and how to connect to it
      millpond demo

  Serve from ./millpond-data, to clients on this machine
      millpond serve
      psql -h 127.0.0.1 -p 4566

  A first continuous view, in psql
      CREATE STREAM clicks (page text, at timestamp);
      CREATE STREAMING VIEW clicks_per_page AS SELECT page, count(*) FROM clicks GROUP BY page;
      INSERT INTO clicks VALUES ('/home', now());
      FLUSH;
      SELECT * FROM clicks_per_page;

  Serve to other machines, which takes a password
      millpond serve --listen 0.0.0.0:4566 --password-file /run/secrets/millpond

  Free ports, printed in the line that begins with \"millpond ready:\"
      millpond serve --listen 127.0.0.1:0 --http 127.0.0.1:0

  Settings from a file (names as the flags, with _ for -)
      millpond serve --config millpond.toml";

/// Streams run in, you query the pond: a streaming database that speaks the Postgres protocol.
#[derive(Debug, Parser)]
#[command(name = "millpond", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server until SIGTERM or Ctrl-C.
    #[command(after_help = EXAMPLES)]
    Serve(ServeArgs),
    /// Start a server with a live windowed view and show it, every second.
    Demo(ServeArgs),
}

/// Flags; what is not given falls back to the environment, then to the file, then to the default.
#[derive(Debug, Args, Serialize)]
pub struct ServeArgs {
    /// Configuration file in TOML.
    #[arg(long, value_name = "FILE", env = "MILLPOND_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Address for Postgres clients; port 0 picks a free one [default: 127.0.0.1:4566].
    #[arg(long, value_name = "HOST:PORT", env = "MILLPOND_LISTEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,

    /// Address for /health, /ready and /metrics; port 0 picks a free one [default: 127.0.0.1:4567].
    #[arg(long, value_name = "HOST:PORT", env = "MILLPOND_HTTP")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,

    /// Where everything durable is kept; made if missing [default: ./millpond-data].
    #[arg(long, value_name = "DIR", env = "MILLPOND_DATA_DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,

    /// Threads that run streaming queries; may change from start to start [default: one per core].
    #[arg(long, value_name = "N", env = "MILLPOND_WORKERS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,

    /// Password that every client has to prove to know. Without one only this machine can connect.
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "MILLPOND_PASSWORD",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,

    /// File whose first line is the password.
    #[arg(
        long,
        value_name = "FILE",
        env = "MILLPOND_PASSWORD_FILE",
        conflicts_with = "password"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,

    /// Most clients at a time [default: 1000].
    #[arg(long, value_name = "N", env = "MILLPOND_MAX_CONNECTIONS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<usize>,

    /// Bytes of input that one epoch of a streaming query takes in at most; of Parquet files, those of the columns that are
    /// read, unpacked [default: 33554432].
    #[arg(long, value_name = "BYTES", env = "MILLPOND_EPOCH_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_bytes: Option<u64>,

    /// Progress reports kept per streaming query [default: 100].
    #[arg(long, value_name = "N", env = "MILLPOND_RECENT_PROGRESS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_progress: Option<usize>,

    /// Epochs of each streaming query whose records are kept [default: 100].
    #[arg(long, value_name = "N", env = "MILLPOND_BATCHES_RETAINED")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches_retained: Option<u64>,

    /// Bytes of memory that one SELECT may use for sorting and hash tables [default: 1073741824].
    #[arg(long, value_name = "BYTES", env = "MILLPOND_QUERY_MEMORY_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_memory_bytes: Option<usize>,

    /// How long a stop may take before what still runs is abandoned [default: 10000].
    #[arg(long, value_name = "MS", env = "MILLPOND_SHUTDOWN_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_timeout_ms: Option<u64>,

    /// What is logged to standard error: error, warn, info, debug, trace, or per module [default: info].
    #[arg(long, value_name = "FILTER", env = "MILLPOND_LOG")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,

    /// Form of the log [default: text].
    #[arg(long, value_enum, env = "MILLPOND_LOG_FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The whole configuration. A configuration file has the same names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: String,
    pub http: String,
    pub data_dir: PathBuf,
    /// `None`: one per core.
    pub workers: Option<usize>,
    pub password: Option<String>,
    pub password_file: Option<PathBuf>,
    pub max_connections: usize,
    pub epoch_bytes: u64,
    pub recent_progress: usize,
    pub batches_retained: u64,
    pub query_memory_bytes: usize,
    pub shutdown_timeout_ms: u64,
    pub log: String,
    pub log_format: LogFormat,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:4566".into(),
            http: "127.0.0.1:4567".into(),
            data_dir: "./millpond-data".into(),
            workers: None,
            password: None,
            password_file: None,
            max_connections: 1000,
            epoch_bytes: 32 << 20,
            recent_progress: 100,
            batches_retained: 100,
            query_memory_bytes: 1 << 30,
            shutdown_timeout_ms: 10_000,
            log: "info".into(),
            log_format: LogFormat::Text,
        }
    }
}

impl Config {
    /// Flags and environment over the file over the defaults, checked.
    pub fn load(args: &ServeArgs) -> anyhow::Result<Config> {
        let mut figment = Figment::from(Serialized::defaults(Config::default()));
        if let Some(file) = &args.config {
            if !file.is_file() {
                bail!("the configuration file {} does not exist", file.display());
            }
            figment = figment.merge(Toml::file_exact(file));
        }
        let mut config: Config = figment.merge(Serialized::defaults(args)).extract()?;
        config.read_password_file()?;
        if config.workers == Some(0) {
            bail!("workers must be at least 1");
        }
        if config.epoch_bytes == 0 || config.max_connections == 0 {
            bail!("epoch_bytes and max_connections must be at least 1");
        }
        if config.recent_progress == 0 || config.batches_retained == 0 {
            bail!("recent_progress and batches_retained must be at least 1");
        }
        Ok(config)
    }

    fn read_password_file(&mut self) -> anyhow::Result<()> {
        if self.password.is_some() {
            self.password_file = None;
        }
        if let Some(file) = &self.password_file {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("the password file {} cannot be read", file.display()))?;
            self.password = Some(text.lines().next().unwrap_or_default().to_owned());
        }
        if self.password.as_deref() == Some("") {
            bail!("the password is empty");
        }
        Ok(())
    }

    pub fn workers(&self) -> usize {
        self.workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    pub fn shutdown_timeout(&self) -> Duration {
        Duration::from_millis(self.shutdown_timeout_ms)
    }

    /// Refuses to be reachable from elsewhere without a password.
    pub fn check_exposure(&self, address: SocketAddr) -> anyhow::Result<()> {
        if self.password.is_none() && !address.ip().is_loopback() {
            bail!(
                "refusing to listen on {address} without a password: whoever reaches it could read and change \
                 everything\nHint: give --password-file FILE, or listen on 127.0.0.1"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(flags: &[&str]) -> ServeArgs {
        let cli = Cli::parse_from(["millpond", "serve"].iter().chain(flags));
        let (Command::Serve(args) | Command::Demo(args)) = cli.command;
        args
    }

    #[test]
    fn defaults() {
        assert_eq!(Config::load(&args(&[])).unwrap(), Config::default());
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_the_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("millpond.toml");
        std::fs::write(
            &file,
            "workers = 3\nlisten = \"127.0.0.1:1\"\nlog_format = \"json\"\n",
        )
        .unwrap();
        let config = Config::load(&args(&[
            "--config",
            file.to_str().unwrap(),
            "--listen",
            "127.0.0.1:2",
        ]))
        .unwrap();
        assert_eq!(config.listen, "127.0.0.1:2");
        assert_eq!(config.workers(), 3);
        assert_eq!(config.log_format, LogFormat::Json);
        std::fs::write(&file, "wrokers = 3\n").unwrap();
        let error = Config::load(&args(&["--config", file.to_str().unwrap()])).unwrap_err();
        assert!(error.to_string().contains("wrokers"), "{error}");
    }

    #[test]
    fn passwords() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("password");
        std::fs::write(&file, "0123\nsecond line\n").unwrap();
        let config = Config::load(&args(&["--password-file", file.to_str().unwrap()])).unwrap();
        assert_eq!(config.password.as_deref(), Some("0123"));
        std::fs::write(&file, "\n").unwrap();
        assert!(Config::load(&args(&["--password-file", file.to_str().unwrap()])).is_err());
        assert!(
            Cli::try_parse_from(["millpond", "serve", "--password", "a", "--password-file", "b"]).is_err()
        );
    }

    #[test]
    fn only_loopback_without_a_password() {
        let outside: SocketAddr = "0.0.0.0:4566".parse().unwrap();
        let inside: SocketAddr = "[::1]:4566".parse().unwrap();
        let open = Config::default();
        assert!(open.check_exposure(outside).is_err());
        assert!(open.check_exposure(inside).is_ok());
        let closed = Config {
            password: Some("x".into()),
            ..open
        };
        assert!(closed.check_exposure(outside).is_ok());
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
