//! Runs the records of a suite in one configuration.
//!
//! The record loop is our own, since the crate's runner has no place for what this one is for: views that are held
//! back, a server that is killed between two records, and the oracle after each `FLUSH`. Parsing, error patterns and
//! the rules for comparing rows are the crate's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use millpond_tests::{Server, ServerOptions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sqllogictest::{
    Condition, Connection, Control, DefaultColumnType, ExpectedError, Location, QueryExpect, Record,
    ResultMode, SortMode, StatementExpect,
};

use crate::oracle::{self, Relation};
use crate::session::Answer;
use crate::{Configuration, Restarts, Session, Suite, Target, ViewOrder};

/// Numbers of workers that a restart chooses from.
const WORKERS: [usize; 3] = [1, 2, 4];

/// What was checked.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub records: usize,
    pub oracle_checks: usize,
    pub restarts: usize,
}

/// Runs `path` against a server of its own.
pub async fn run_file(path: &Path, configuration: Configuration) -> Result<Counts> {
    let server = Server::start(ServerOptions::workers(configuration.workers))?;
    run_on(path, configuration, Target::Own(Box::new(server)), true).await
}

/// Runs `path` against `target`; `oracle` says whether views are compared with their SELECT.
pub async fn run_on(
    path: &Path,
    configuration: Configuration,
    target: Target,
    oracle: bool,
) -> Result<Counts> {
    let suite = Suite::read(path, &target.scratch_dir())?;
    let mut runner = Runner::new(path, configuration, suite, Session::new(target), oracle);
    match runner.run().await {
        Ok(()) => Ok(runner.counts),
        Err(error) => Err(anyhow!("{error:#}\n{}", runner.session.log_tail())),
    }
}

struct Runner {
    suite: Suite,
    configuration: Configuration,
    session: Session,
    oracle: bool,
    random: ChaCha8Rng,
    sort_mode: SortMode,
    /// Views that wait for data: where they stand in the file and how they are created.
    held_back: Vec<(Location, String, String)>,
    /// Views in append mode, whose rows are a part of their SELECT's.
    append_views: Vec<String>,
    counts: Counts,
}

impl Runner {
    fn new(path: &Path, configuration: Configuration, suite: Suite, session: Session, oracle: bool) -> Self {
        let seed = match configuration.restarts {
            Restarts::Seeded(seed) => seed,
            Restarts::Never | Restarts::Always => 0,
        };
        let mut hasher = DefaultHasher::new();
        (seed, path.file_name()).hash(&mut hasher);
        Runner {
            suite,
            configuration,
            session,
            oracle,
            random: ChaCha8Rng::seed_from_u64(hasher.finish()),
            sort_mode: SortMode::NoSort,
            held_back: Vec::new(),
            append_views: Vec::new(),
            counts: Counts::default(),
        }
    }

    async fn run(&mut self) -> Result<()> {
        let has_watermark = self.suite.has_watermark();
        for record in std::mem::take(&mut self.suite.records) {
            match record {
                Record::Statement {
                    loc,
                    conditions,
                    connection,
                    sql,
                    expected,
                    retry: None,
                } => {
                    if self.skips(&conditions) {
                        continue;
                    }
                    let place = loc.to_string();
                    self.statement(loc, &connection, sql, &expected, has_watermark)
                        .await
                        .context(place)?;
                }
                Record::Query {
                    loc,
                    conditions,
                    connection,
                    sql,
                    expected,
                    retry: None,
                } => {
                    if !self.skips(&conditions) {
                        self.query(&connection, &sql, &expected)
                            .await
                            .with_context(|| loc.to_string())?;
                    }
                }
                Record::System {
                    loc,
                    conditions,
                    command,
                    stdout: None,
                    retry: None,
                    ..
                } => {
                    if !self.skips(&conditions) {
                        system(&command).with_context(|| loc.to_string())?;
                    }
                }
                Record::Control(Control::SortMode(mode)) => self.sort_mode = mode,
                Record::Control(Control::ResultMode(ResultMode::RowWise)) => {}
                Record::Halt { .. } => break,
                Record::Condition(_)
                | Record::Connection(_)
                | Record::Comment(_)
                | Record::Newline
                | Record::Subtest { .. } => {}
                other => bail!("this runner has no: {other:?}"),
            }
        }
        self.release_views().await
    }

    fn skips(&self, conditions: &[Condition]) -> bool {
        let labels = self.labels();
        conditions.iter().any(|condition| match condition {
            Condition::OnlyIf { label } => !labels.contains(&label.as_str()),
            Condition::SkipIf { label } => labels.contains(&label.as_str()),
        })
    }

    fn labels(&self) -> Vec<&'static str> {
        let mut labels = self.configuration.labels();
        labels.push(match self.session.target {
            Target::Own(_) => "millpond",
            Target::Remote(_) => "remote",
        });
        labels
    }

    async fn statement(
        &mut self,
        location: Location,
        connection: &Connection,
        sql: String,
        expected: &StatementExpect,
        has_watermark: bool,
    ) -> Result<()> {
        let flush = sql.trim().trim_end_matches(';').eq_ignore_ascii_case("flush");
        if let (Some(view), StatementExpect::Ok) = (created_view(&sql), expected) {
            if is_append(&sql) {
                self.append_views.push(view.clone());
            }
            if self.holds_views_back() {
                self.held_back.push((location, view, sql));
                return Ok(());
            }
        }
        // A view may wait beyond a FLUSH too, unless epochs matter.
        let waits = is_data_statement(&sql) || (flush && !has_watermark);
        let reads_view = self
            .held_back
            .iter()
            .any(|(_, view, _)| sql.contains(view.as_str()));
        if !waits || reads_view || matches!(expected, StatementExpect::Error(_)) {
            self.release_views().await?;
        }
        self.maybe_restart()?;
        self.counts.records += 1;
        let answer = self.session.run_on(name(connection), &sql).await?;
        match (expected, answer) {
            (StatementExpect::Ok, Ok(_)) => {}
            (StatementExpect::Count(count), Ok(answer)) if answer.count == *count => {}
            (StatementExpect::Count(count), Ok(answer)) => {
                bail!("{} rows instead of {count}: {sql}", answer.count)
            }
            (StatementExpect::Error(expected), answer) => expect_error(expected, answer, &sql)?,
            (_, Err(error)) => bail!("{error}\nin: {sql}"),
        }
        if flush && self.oracle && self.held_back.is_empty() {
            self.ask_oracle().await?;
        }
        Ok(())
    }

    async fn query(
        &mut self,
        connection: &Connection,
        sql: &str,
        expected: &QueryExpect<DefaultColumnType>,
    ) -> Result<()> {
        self.release_views().await?;
        self.maybe_restart()?;
        self.counts.records += 1;
        let answer = self.session.run_on(name(connection), sql).await?;
        match expected {
            QueryExpect::Error(expected) => expect_error(expected, answer, sql),
            QueryExpect::Results {
                types,
                sort_mode,
                results,
                result_mode: None,
                ..
            } => {
                let answer = answer.map_err(|error| anyhow!("{error}\nin: {sql}"))?;
                if !types.is_empty() && types.len() != answer.columns {
                    bail!("{} columns instead of {}: {sql}", answer.columns, types.len());
                }
                compare(&answer, results, sort_mode.unwrap_or(self.sort_mode)).with_context(|| sql.to_owned())
            }
            QueryExpect::Results { .. } => bail!("this runner compares whole rows only"),
        }
    }

    fn holds_views_back(&self) -> bool {
        self.configuration.views == ViewOrder::After && !self.suite.directives.views_first
    }

    /// Creates the views that wait, and brings them up to where the file expects them.
    async fn release_views(&mut self) -> Result<()> {
        if self.held_back.is_empty() {
            return Ok(());
        }
        for (location, _, sql) in std::mem::take(&mut self.held_back) {
            self.maybe_restart()?;
            self.counts.records += 1;
            self.session
                .expect(&sql)
                .await
                .with_context(|| location.to_string())?;
        }
        self.session.expect("FLUSH").await?;
        if self.oracle {
            self.ask_oracle().await
        } else {
            Ok(())
        }
    }

    fn maybe_restart(&mut self) -> Result<()> {
        let wanted = match self.configuration.restarts {
            Restarts::Never => false,
            Restarts::Seeded(_) => self.random.random_bool(0.25),
            Restarts::Always => true,
        };
        if wanted && !self.suite.directives.no_restarts {
            let workers = WORKERS[self.random.random_range(0..WORKERS.len())];
            self.session.restart(workers)?;
            self.counts.restarts += 1;
        }
        Ok(())
    }

    async fn ask_oracle(&mut self) -> Result<()> {
        for view in oracle::views(&mut self.session).await? {
            if self.suite.directives.oracle_skips.contains(&view.name) {
                continue;
            }
            let append = self.append_views.contains(&view.name);
            let relation = if append { Relation::Subset } else { Relation::Equal };
            oracle::check(&mut self.session, &view, relation).await?;
            self.counts.oracle_checks += 1;
        }
        Ok(())
    }
}

fn name(connection: &Connection) -> &str {
    match connection {
        Connection::Default => "default",
        Connection::Named(name) => name,
    }
}

/// The name of the view that a statement creates.
fn created_view(sql: &str) -> Option<String> {
    let words: Vec<_> = sql.split_whitespace().take(9).collect();
    let upper: Vec<_> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
    let mut at = 1;
    if upper.first().map(String::as_str) != Some("CREATE") {
        return None;
    }
    if upper.get(at..at + 2) == Some(&["OR".to_owned(), "REPLACE".to_owned()]) {
        at += 2;
    }
    match (upper.get(at)?.as_str(), upper.get(at + 1)?.as_str()) {
        ("STREAMING" | "MATERIALIZED", "VIEW") => at += 2,
        _ => return None,
    }
    if upper.get(at..at + 3) == Some(&["IF".to_owned(), "NOT".to_owned(), "EXISTS".to_owned()]) {
        at += 3;
    }
    words.get(at).map(|name| name.trim_matches('"').to_owned())
}

/// A statement that brings input and does not look at views.
fn is_data_statement(sql: &str) -> bool {
    let upper = sql.trim_start().to_ascii_uppercase();
    [
        "INSERT ",
        "UPDATE ",
        "DELETE ",
        "TRUNCATE ",
        "CREATE TABLE ",
        "CREATE STREAM ",
        "CREATE SOURCE ",
    ]
    .iter()
    .any(|begin| upper.starts_with(begin))
}

fn is_append(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    [
        "'APPEND'",
        "EMIT ON WINDOW CLOSE",
        "EMIT FINAL",
        "EMIT AFTER WATERMARK",
    ]
    .iter()
    .any(|mode| upper.contains(mode))
}

fn system(command: &str) -> Result<()> {
    let output = Command::new("sh").args(["-c", command]).output()?;
    if !output.status.success() {
        bail!("{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn expect_error(expected: &ExpectedError, answer: Result<Answer, String>, sql: &str) -> Result<()> {
    match answer {
        Ok(_) => bail!("no error, expected {expected}: {sql}"),
        Err(error) if expected.is_match(&error, error.get(..5)) => Ok(()),
        Err(error) => bail!("expected error {expected}, got {error}\nin: {sql}"),
    }
}

fn compare(answer: &Answer, expected: &[String], sort_mode: SortMode) -> Result<()> {
    let normalize = |line: &str| line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let mut actual: Vec<_> = answer.rows.iter().map(|row| normalize(&print_row(row))).collect();
    let mut expected: Vec<_> = expected.iter().map(|line| normalize(line)).collect();
    match sort_mode {
        SortMode::NoSort => {}
        SortMode::RowSort => {
            actual.sort();
            expected.sort();
        }
        SortMode::ValueSort => bail!("this runner sorts rows only"),
    }
    if actual == expected {
        return Ok(());
    }
    bail!(
        "wrong rows\nexpected:\n  {}\nactual:\n  {}",
        expected.join("\n  "),
        actual.join("\n  ")
    );
}

fn print_row(row: &[Option<String>]) -> String {
    let cell = |cell: &Option<String>| match cell.as_deref() {
        None => "NULL".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.to_owned(),
    };
    row.iter().map(cell).collect::<Vec<_>>().join(" ")
}

/// Rows as a suite spells them, a line each; no more than fit a report.
pub fn print_rows(rows: &[Vec<Option<String>>]) -> String {
    const LINES: usize = 20;
    let mut lines: Vec<_> = rows
        .iter()
        .take(LINES)
        .map(|row| format!("  {}", print_row(row)))
        .collect();
    if rows.len() > LINES {
        lines.push(format!("  and {} more", rows.len() - LINES));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_view_that_a_statement_creates() {
        let name = |sql: &str| created_view(sql);
        assert_eq!(name("CREATE STREAMING VIEW v AS SELECT 1").as_deref(), Some("v"));
        assert_eq!(
            name("create or replace materialized view \"V\"\nAS SELECT 1").as_deref(),
            Some("V")
        );
        assert_eq!(
            name("CREATE STREAMING VIEW IF NOT EXISTS v AS SELECT 1").as_deref(),
            Some("v")
        );
        assert_eq!(name("CREATE TABLE t (a int)"), None);
        assert_eq!(name("SELECT 1"), None);
    }

    #[test]
    fn a_wrong_row_is_reported() {
        let row = |cells: &[Option<&str>]| cells.iter().map(|c| c.map(str::to_owned)).collect::<Vec<_>>();
        let answer = Answer {
            columns: 2,
            rows: vec![row(&[Some("b"), None]), row(&[Some(""), Some("1")])],
            count: 2,
        };
        let expected = ["(empty)  1".to_owned(), "b NULL".to_owned()];
        assert!(compare(&answer, &expected, SortMode::RowSort).is_ok());
        assert!(compare(&answer, &expected, SortMode::NoSort).is_err());
        assert!(compare(&answer, &expected[..1], SortMode::RowSort).is_err());
    }
}
