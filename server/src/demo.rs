//! `millpond demo`: a server with a live windowed view, shown every second.
//!
//! Everything goes through a session like any client's; nothing here knows the engine.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use arrow::array::Array;
use arrow::datatypes::Field;
use futures::StreamExt;

use crate::config::{Config, ServeArgs};
use crate::execute::{Execution, parse};
use crate::outcome::Outcome;
use crate::pg::encode::text_values;
use crate::server::{self, Running, Server};
use crate::session::{Client, Session, Work};

/// Made in the demo's server. Windows of five seconds and a delay of one let results show up and settle fast.
const SETUP: &str = "
CREATE SOURCE IF NOT EXISTS demo_rate (
    timestamp timestamp,
    value bigint,
    WATERMARK FOR timestamp AS timestamp - INTERVAL '1 second'
) WITH (connector = 'rate', rows_per_second = 20);

CREATE STREAMING VIEW IF NOT EXISTS demo_5s AS
SELECT window_start, window_end, count(*) AS rows, sum(value) AS total, max(value) AS latest
FROM tumble(demo_rate, timestamp, INTERVAL '5 seconds')
GROUP BY window_start, window_end;";

const SHOW: &str = "SELECT * FROM demo_5s ORDER BY window_start DESC LIMIT 6";
const REFRESH: Duration = Duration::from_secs(1);

/// How the demo runs.
pub struct Demo {
    pub config: Config,
    /// Removed at the end, unless the user named a directory.
    _folder: Option<tempfile::TempDir>,
}

/// As `serve`, but with a throw-away data directory, free ports, and a quiet log, where nothing else is asked for.
pub fn config(args: &ServeArgs) -> anyhow::Result<Demo> {
    let mut config = Config::load(args)?;
    if args.log.is_none() {
        config.log = "error".into();
    }
    if args.http.is_none() {
        config.http = "127.0.0.1:0".into();
    }
    let folder = match args.data_dir {
        Some(_) => None,
        None => {
            let folder = tempfile::Builder::new().prefix("millpond-demo-").tempdir()?;
            config.data_dir = folder.path().join("data");
            Some(folder)
        }
    };
    Ok(Demo {
        config,
        _folder: folder,
    })
}

/// Shows the view until `stop` ends.
pub async fn run(demo: &Demo, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    let running = start(demo).await?;
    println!(
        "millpond ready: postgres {} http {}",
        running.postgres, running.http
    );
    let shown = tokio::select! {
        result = show(&running) => result,
        () = stop => Ok(()),
    };
    println!("\nStopping.");
    running.stop().await;
    shown
}

/// On the usual port, or on a free one if a server has it already.
async fn start(demo: &Demo) -> anyhow::Result<Running> {
    match server::start(&demo.config).await {
        Err(error) if is_address_in_use(&error) && demo.config.listen == Config::default().listen => {
            let elsewhere = Config {
                listen: "127.0.0.1:0".into(),
                ..demo.config.clone()
            };
            server::start(&elsewhere).await
        }
        other => other,
    }
}

fn is_address_in_use(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::AddrInUse)
}

async fn show(running: &Running) -> anyhow::Result<()> {
    let server = &running.server;
    let client = Client {
        user: "demo".into(),
        database: "demo".into(),
        address: None,
        settings: millpond_sql::Settings::default(),
    };
    let mut session = Session::new(server.open_session(client)?, server.table_locks.clone());
    println!("\nThe demo runs these statements:\n{SETUP}\n");
    query(server, &mut session, SETUP).await?;
    let mut ticks = tokio::time::interval(REFRESH);
    loop {
        ticks.tick().await;
        let rows = query(server, &mut session, SHOW)
            .await
            .context("the demo's view cannot be read")?;
        let mut screen =
            String::from("\ndemo_5s: rows of a live stream, counted in windows of 5 seconds\n\n");
        screen += &table(&rows);
        screen += &format!(
            "\nQuery it yourself:   psql -h {} -p {} -c 'SELECT * FROM demo_5s ORDER BY window_start'\n",
            running.postgres.ip(),
            running.postgres.port()
        );
        screen += "Stop with Ctrl-C.\n";
        let mut out = std::io::stdout().lock();
        out.write_all(screen.as_bytes())?;
        out.flush()?;
    }
}

/// Runs all statements; gives the names of the last one's columns and its rows, as a client would print them.
async fn query(server: &Arc<Server>, session: &mut Session, text: &str) -> anyhow::Result<Vec<Vec<String>>> {
    let mut printed = Vec::new();
    for statement in parse(text)? {
        let work = Work::begin(&session.info, statement.text(), server.clock.now_us());
        let outcome = Execution {
            server,
            session,
            work: &work,
            created: None,
        }
        .execute(&statement)
        .await?;
        session.notices.clear();
        printed.clear();
        let Outcome::Rows {
            columns, mut rows, ..
        } = outcome
        else {
            continue;
        };
        printed.push(columns.iter().map(|c| c.name.clone()).collect());
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            let style = session.style();
            let texts = batch
                .columns()
                .iter()
                .zip(&columns)
                .map(|(array, column)| {
                    let field: Field = column.sql_type.field(&column.name, true);
                    text_values(array, &field, &style)
                })
                .collect::<crate::error::Result<Vec<_>>>()?;
            printed.extend((0..batch.num_rows()).map(|row| {
                texts
                    .iter()
                    .map(|t| {
                        if t.is_null(row) {
                            String::new()
                        } else {
                            t.value(row).to_owned()
                        }
                    })
                    .collect()
            }));
        }
    }
    if printed.is_empty() && text == SHOW {
        return Err(anyhow!("the view answered nothing"));
    }
    Ok(printed)
}

/// A header, a rule, and the rows, in columns.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!(" {cell:<width$} "))
            .collect();
        cells.join("|") + "\n"
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        text += &line(row);
        if i == 0 {
            text += &(rule.join("+") + "\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up() {
        let rows = [
            vec!["a".to_owned(), "bb".to_owned()],
            vec!["ccc".to_owned(), String::new()],
        ];
        assert_eq!(table(&rows), " a   | bb \n-----+----\n ccc |    \n");
    }
}
