//! Values and expressions over them, compared with a real PostgreSQL.
//!
//! Everything follows from one seed. A case is one expression: both servers plan it and run it, and names of result
//! types, rows as text and classes of SQLSTATE must be the same. Expressions come from [`template`], values from
//! [`literal`]; what is known to differ stands in [`difference`]. [`kept`] does the same with a table that changes and
//! streaming views over it.

mod difference;
pub mod kept;
mod literal;
mod template;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Result, bail};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use template::Case;
use tokio_postgres::{Client, SimpleQueryMessage};

/// What a run did.
#[derive(Debug, Default)]
pub struct Report {
    pub cases: u64,
    /// Answered by both with rows.
    pub rows: u64,
    /// Refused by both.
    pub errors: u64,
    /// Known to differ, and not compared.
    pub skipped: u64,
    /// By the outermost template.
    pub differences: BTreeMap<String, Difference>,
}

/// A template for which the servers differ.
#[derive(Debug)]
pub struct Difference {
    pub count: u64,
    /// Templates in the simplest case.
    pub templates: usize,
    /// The simplest case and both answers.
    pub example: String,
}

/// What a server says about a query.
#[derive(Debug, PartialEq)]
enum Verdict {
    Rows {
        types: Vec<String>,
        rows: Vec<Vec<Option<String>>>,
    },
    /// The class of SQLSTATE, and the message.
    Error { class: String, message: String },
}

impl Verdict {
    fn agrees_with(&self, other: &Verdict) -> bool {
        match (self, other) {
            (Verdict::Error { class: ours, .. }, Verdict::Error { class: theirs, .. }) => ours == theirs,
            _ => self == other,
        }
    }

    /// One found a NULL before the part that fails: the order in which operands are evaluated is nobody's promise.
    fn is_a_matter_of_order(&self, other: &Verdict) -> bool {
        match (self, other) {
            (Verdict::Error { class, .. }, Verdict::Rows { rows, .. })
            | (Verdict::Rows { rows, .. }, Verdict::Error { class, .. }) => {
                class == "22" && rows.iter().flatten().all(Option::is_none)
            }
            _ => false,
        }
    }
}

/// Compares `cases` of `seed` until `time` is over.
///
/// # Errors
/// A lost connection.
pub async fn run(
    ours: &Client,
    postgres: &Client,
    seed: u64,
    cases: Range<u64>,
    time: Duration,
) -> Result<Report> {
    let begun = tokio::time::Instant::now();
    let mut report = Report::default();
    for number in cases {
        if begun.elapsed() > time {
            break;
        }
        report.cases += 1;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        let case = template::case(&mut random);
        if difference::is_known(&case) {
            report.skipped += 1;
            continue;
        }
        let mut theirs = ask(postgres, &case.sql).await?;
        let mut own = ask(ours, &case.sql).await?;
        difference::without_trailing_zeros(&mut theirs);
        difference::without_trailing_zeros(&mut own);
        let nested = case.templates.len() > 1;
        if nested && own.is_a_matter_of_order(&theirs) {
            report.skipped += 1;
        } else if !own.agrees_with(&theirs) {
            let example = format!(
                "case {number}: {}\n    millpond: {own:?}\n  postgres: {theirs:?}",
                case.sql
            );
            report.note(&case, example);
        } else if matches!(own, Verdict::Rows { .. }) {
            report.rows += 1;
        } else {
            report.errors += 1;
        }
    }
    Ok(report)
}

impl Report {
    fn note(&mut self, case: &Case, example: String) {
        let templates = case.templates.len();
        let difference = self
            .differences
            .entry(case.templates[0].label.clone())
            .or_insert(Difference {
                count: 0,
                templates: usize::MAX,
                example: String::new(),
            });
        difference.count += 1;
        if templates < difference.templates {
            difference.templates = templates;
            difference.example = example;
        }
    }

    /// All that differs, the simplest case of each template.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for (label, difference) in &self.differences {
            let Difference {
                count,
                templates,
                example,
            } = difference;
            let _ = writeln!(text, "{count} x {label} (of {templates} templates)\n  {example}");
        }
        text
    }
}

async fn ask(client: &Client, sql: &str) -> Result<Verdict> {
    let types = match client.prepare(sql).await {
        Ok(statement) => statement
            .columns()
            .iter()
            .map(|c| c.type_().name().to_owned())
            .collect(),
        Err(error) => return refused(&error, sql),
    };
    match client.simple_query(sql).await {
        Ok(messages) => Ok(Verdict::Rows {
            types,
            rows: rows(&messages),
        }),
        Err(error) => refused(&error, sql),
    }
}

fn rows(messages: &[SimpleQueryMessage]) -> Vec<Vec<Option<String>>> {
    messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect())
            }
            _ => None,
        })
        .collect()
}

fn refused(error: &tokio_postgres::Error, sql: &str) -> Result<Verdict> {
    let Some(error) = error.as_db_error() else {
        bail!("connection lost: {error}\nin: {sql}");
    };
    Ok(Verdict::Error {
        class: error.code().code().chars().take(2).collect(),
        message: format!("{}: {}", error.code().code(), error.message()),
    })
}
