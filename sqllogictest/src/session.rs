//! Connections to the server under test, and results as text.
//!
//! A kill closes every connection; the session opens them again when they are next needed and repeats their `SET`
//! statements, as a client with a connection pool would.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use millpond_tests::{Server, error_text};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// No statement of a test takes this long unless the server hangs.
const STATEMENT_DEADLINE: Duration = Duration::from_secs(120);

/// What the statements are sent to.
pub enum Target {
    /// A server of our own that can be killed.
    Own(Box<Server>),
    /// A server that somebody else runs, for example PostgreSQL.
    Remote(Box<Config>),
}

impl Target {
    async fn connect(&self) -> Result<Client> {
        match self {
            Target::Own(server) => server.connect().await,
            Target::Remote(config) => {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(connection);
                Ok(client)
            }
        }
    }

    /// A folder for files that a test writes.
    pub fn scratch_dir(&self) -> PathBuf {
        match self {
            Target::Own(server) => server.scratch_dir(),
            Target::Remote(_) => std::env::temp_dir(),
        }
    }
}

/// What a statement answered: `NULL` as `None`, everything else as the server prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub columns: usize,
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows that the command says it worked on.
    pub count: u64,
}

/// The connections of one test.
pub struct Session {
    pub target: Target,
    clients: BTreeMap<String, Client>,
    /// `SET` statements by connection, in order.
    settings: BTreeMap<String, Vec<String>>,
}

impl Session {
    pub fn new(target: Target) -> Self {
        Self {
            target,
            clients: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    /// Runs `sql` on the default connection. The outer error is a broken connection, the inner one, as text, what the
    /// server said.
    pub async fn run(&mut self, sql: &str) -> Result<Result<Answer, String>> {
        self.run_on("default", sql).await
    }

    /// Like [`Session::run`] for a statement that must succeed.
    pub async fn expect(&mut self, sql: &str) -> Result<Answer> {
        self.run(sql)
            .await?
            .map_err(|error| anyhow!("{error}\nin: {sql}"))
    }

    /// Runs `sql` on the connection of that name, which is opened when it is not there yet.
    pub async fn run_on(&mut self, connection: &str, sql: &str) -> Result<Result<Answer, String>> {
        if !self.clients.contains_key(connection) {
            let client = self.target.connect().await?;
            for setting in self.settings.get(connection).into_iter().flatten() {
                client.simple_query(setting).await?;
            }
            self.clients.insert(connection.to_owned(), client);
        }
        let query = self.clients[connection].simple_query(sql);
        let answer = tokio::time::timeout(STATEMENT_DEADLINE, query)
            .await
            .map_err(|_| anyhow!("no answer within {STATEMENT_DEADLINE:?}: {sql}"))?;
        match answer {
            Ok(messages) => {
                if sql
                    .trim_start()
                    .get(..4)
                    .is_some_and(|word| word.eq_ignore_ascii_case("set "))
                {
                    self.settings
                        .entry(connection.to_owned())
                        .or_default()
                        .push(sql.to_owned());
                }
                Ok(Ok(collect(messages)))
            }
            Err(error) if error.as_db_error().is_some() => Ok(Err(error_text(&error))),
            Err(error) => Err(anyhow!("connection lost: {}\nin: {sql}", error_text(&error))),
        }
    }

    /// Kills the server with SIGKILL and starts it again with `workers` workers.
    pub fn restart(&mut self, workers: usize) -> Result<()> {
        self.clients.clear();
        match &mut self.target {
            Target::Own(server) => server.restart(workers),
            Target::Remote(_) => Ok(()),
        }
    }

    /// What the server logged lately, for a failure report.
    pub fn log_tail(&self) -> String {
        match &self.target {
            Target::Own(server) => server.log_tail(),
            Target::Remote(_) => String::new(),
        }
    }
}

fn collect(messages: Vec<SimpleQueryMessage>) -> Answer {
    let mut answer = Answer {
        columns: 0,
        rows: Vec::new(),
        count: 0,
    };
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => answer.columns = columns.len(),
            SimpleQueryMessage::Row(row) => {
                answer
                    .rows
                    .push((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect());
            }
            SimpleQueryMessage::CommandComplete(count) => answer.count = count,
            _ => {}
        }
    }
    answer
}
