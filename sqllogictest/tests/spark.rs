//! The same micro-batches as Spark Structured Streaming was given, and the same rows after each: `spark/record.py` recorded
//! them, batch by batch.
//!
//! What differs by decision, and is therefore kept out of the recorded batches:
//! - an event time equal to the watermark is not late here (W promises no row *below* it), Spark drops it;
//! - a session whose end is the watermark is still open here, since a row exactly at its end would join it;
//! - each side of a join has its own watermark here, Spark takes the lesser of both for both.
//!
//! What differs and is recorded stands in [`DIFFERENT`], and must differ.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use millpond_sqllogictest::oracle::{self, Row};
use millpond_sqllogictest::runner::print_rows;
use millpond_sqllogictest::{Session, Target};
use millpond_tests::{Server, ServerOptions};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

/// Recorded cases that end otherwise here, and why.
const DIFFERENT: [(&str, &str); 3] = [
    ("session_append_1", LATE_IN_SESSION),
    ("session_append_2", LATE_IN_SESSION),
    ("session_complete_1", LATE_IN_SESSION),
];
/// Spark asks whether a session of the late row alone would be over, drops it then, and forgets a session when it is final.
/// Here a row is late when the session that it is really in is final: a row that reaches an open one counts, and one that
/// would also reach a final session does not, since that can no longer be told.
const LATE_IN_SESSION: &str = "lateness is that of the whole session";

/// A recorded file.
#[derive(Deserialize)]
struct Case {
    name: String,
    mode: String,
    columns: Vec<String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    /// Rows by stream.
    input: Vec<Vec<Vec<String>>>,
    /// What each of Spark's batches emitted; the second, if any, is one without input.
    output: Vec<Vec<Row>>,
}

const TUMBLE: &str = "SELECT window_start AS s, window_end AS e, k, count(*) AS n, sum(v) AS total
    FROM tumble(l, ts, INTERVAL '10 seconds') GROUP BY window_start, window_end, k";
const HOP: &str = "SELECT window_start AS s, window_end AS e, k, count(*) AS n, max(v) AS m
    FROM hop(l, ts, INTERVAL '5 seconds', INTERVAL '20 seconds') GROUP BY window_start, window_end, k";
const SESSION: &str =
    "SELECT session_window.start AS s, session_window.end AS e, k, count(*) AS n, sum(v) AS total
    FROM l GROUP BY session_window(ts, '6 seconds'), k";

/// Recorded queries in SQL. The first columns of the result, so many, tell its rows apart in update mode.
const QUERIES: [(&str, usize, &str); 8] = [
    ("filter", 0, "SELECT k, v, ts FROM l WHERE v > 2"),
    (
        "total_update",
        1,
        "SELECT k, count(*) AS n, avg(v::double precision) AS mean FROM l GROUP BY k",
    ),
    (
        "total_complete",
        1,
        "SELECT k, count(*) AS n, min(v) AS least FROM l GROUP BY k",
    ),
    ("tumble", 3, TUMBLE),
    ("hop", 3, HOP),
    ("session", 3, SESSION),
    (
        "chain",
        0,
        "SELECT window_start AS s, window_end AS e, sum(n) AS n, count(*) AS w
         FROM tumble((SELECT window_end - INTERVAL '1 microsecond' AS time, count(*) AS n
           FROM tumble(l, ts, INTERVAL '10 seconds') GROUP BY window_start, window_end), time, INTERVAL '30 seconds')
         GROUP BY window_start, window_end",
    ),
    ("dedup", 0, "SELECT DISTINCT k, v, ts FROM l"),
];

/// A join of the recorded name.
fn join(kind: &str) -> Result<String> {
    let (columns, kind) = match kind {
        "inner" => ("*", "JOIN"),
        "left" => ("*", "LEFT JOIN"),
        "right" => ("*", "RIGHT JOIN"),
        "full" => ("*", "FULL JOIN"),
        "semi" => ("lk, lv, lt", "LEFT SEMI JOIN"),
        other => bail!("no join is called {other}"),
    };
    Ok(format!(
        "SELECT {columns} FROM (SELECT k AS lk, v AS lv, ts AS lt FROM l) AS l
         {kind} (SELECT k AS rk, v AS rv, ts AS rt FROM r) AS r
         ON lk = rk AND rt >= lt - INTERVAL '3 seconds' AND rt <= lt + INTERVAL '8 seconds'"
    ))
}

/// The SELECT of a case, and how many columns are its key.
fn query(name: &str) -> Result<(String, usize)> {
    if let Some(kind) = name.strip_prefix("join_") {
        return Ok((join(kind)?, 0));
    }
    let found = QUERIES.iter().find(|(prefix, ..)| name.starts_with(prefix));
    let (_, key, sql) = found.with_context(|| format!("no query for {name}"))?;
    Ok(((*sql).to_owned(), *key))
}

/// The table that Spark's output amounts to.
struct Expected {
    mode: String,
    key: usize,
    rows: Vec<Row>,
}

impl Expected {
    fn add(&mut self, output: &[Vec<Row>]) {
        for batch in output {
            match self.mode.as_str() {
                "append" => self.rows.extend(batch.iter().cloned()),
                "complete" => self.rows.clone_from(batch),
                _ => {
                    let key = |row: &Row| row[..self.key].to_vec();
                    let new: BTreeSet<_> = batch.iter().map(key).collect();
                    self.rows.retain(|row| !new.contains(&key(row)));
                    self.rows.extend(batch.iter().cloned());
                }
            }
        }
        self.rows.sort();
    }
}

fn insert(stream: &str, rows: &[Vec<String>]) -> String {
    let row = |row: &Vec<String>| format!("('{}')", row.join("', '"));
    let rows: Vec<_> = rows.iter().map(row).collect();
    format!("INSERT INTO {stream} VALUES {}", rows.join(", "))
}

/// The first difference, if there is one.
async fn replay(case: &Case, random: &mut ChaCha8Rng) -> Result<Option<String>> {
    let workers = |random: &mut ChaCha8Rng| *[1, 2, 4].choose(random).expect("there are some");
    let server = Server::start(ServerOptions::workers(workers(random)))?;
    let mut session = Session::new(Target::Own(Box::new(server)));
    for stream in ["l", "r"] {
        session
            .expect(&format!(
                "CREATE STREAM {stream} (k text, v int, ts timestamp,
                 WATERMARK FOR ts AS ts - INTERVAL '10 seconds')"
            ))
            .await?;
    }
    let (sql, key) = query(&case.name)?;
    let create = format!(
        "CREATE STREAMING VIEW v WITH (output_mode = '{}') AS {sql}",
        case.mode
    );
    session.expect(&create).await?;
    let mut expected = Expected {
        mode: case.mode.clone(),
        key,
        rows: Vec::new(),
    };
    for (number, step) in case.steps.iter().enumerate() {
        // One transaction is one batch.
        let mut inserts = vec!["BEGIN".to_owned()];
        for (stream, rows) in ["l", "r"].iter().zip(&step.input) {
            inserts.push(insert(stream, rows));
        }
        inserts.push("COMMIT".to_owned());
        for statement in inserts {
            session.expect(&statement).await?;
        }
        session.expect("FLUSH").await?;
        expected.add(&step.output);
        let mut rows = session.expect("SELECT * FROM v").await?.rows;
        rows.sort();
        ensure!(
            rows.iter().all(|row| row.len() == case.columns.len()),
            "the columns are not {:?}",
            case.columns
        );
        if rows != expected.rows {
            let (here, spark) = oracle::difference(&rows, &expected.rows);
            return Ok(Some(format!(
                "after batch {number}:\nonly here:\n{}\nonly Spark:\n{}",
                print_rows(&here),
                print_rows(&spark)
            )));
        }
        if random.random_bool(0.2) {
            session.restart(workers(random))?;
        }
    }
    Ok(None)
}

fn cases() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spark/cases");
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

#[tokio::test]
async fn micro_batches_end_as_in_spark() -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut failures = Vec::new();
    let paths = cases()?;
    ensure!(!paths.is_empty(), "no recorded cases");
    for path in &paths {
        let text = std::fs::read_to_string(path)?;
        let case: Case = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let reason = DIFFERENT.iter().find(|(different, _)| *different == name);
        let found = replay(&case, &mut random)
            .await
            .with_context(|| name.to_string())?;
        match (found, reason) {
            (None, None) | (Some(_), Some(_)) => {}
            (Some(difference), None) => failures.push(format!("{name} {difference}")),
            (None, Some((_, reason))) => failures.push(format!("{name} does not differ: {reason}")),
        }
    }
    ensure!(
        failures.is_empty(),
        "{} of {} cases differ\n{}",
        failures.len(),
        paths.len(),
        failures.join("\n\n")
    );
    println!("{} cases", paths.len());
    Ok(())
}
