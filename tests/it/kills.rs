//! Every format, output mode and trigger at once: a server that is killed again and again, its data damaged between the
//! runs, ends with what one SELECT over the same files gives.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use millpond_tests::{Server, ServerOptions, eventually, number, run, sorted};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_postgres::Client;

use crate::damage::{self, Started};

const FILES: usize = 24;
const ROWS_PER_FILE: usize = 40;
const KILLS: usize = 4;
const SEED: u64 = 20_261_130;

struct Format {
    name: &'static str,
    /// What the sink is told that writes the files.
    written: &'static str,
    /// What the source is told that reads them.
    read: &'static str,
}

const FORMATS: [Format; 6] = [
    Format {
        name: "json",
        written: "format = 'json'",
        read: "format = 'json'",
    },
    Format {
        name: "zstd",
        written: "format = 'json', compression = 'zstd'",
        read: "format = 'json'",
    },
    Format {
        name: "csv",
        written: "format = 'csv'",
        read: "format = 'csv'",
    },
    Format {
        name: "gzip",
        written: "format = 'csv', header = true, compression = 'gzip'",
        read: "format = 'csv', header = true",
    },
    Format {
        name: "parquet",
        written: "format = 'parquet'",
        read: "format = 'parquet'",
    },
    Format {
        name: "lines",
        written: "format = 'csv'",
        read: "format = 'text'",
    },
];

impl Format {
    /// Lines of text get their columns, and an event time, in a view that all others read.
    fn is_text(&self) -> bool {
        self.name == "lines"
    }

    /// What a view with these options reads. One that ends would end with the rows that another view has by then, so it
    /// reads the lines itself.
    fn relation(&self, options: &str) -> String {
        match (self.is_text(), ends(options)) {
            (false, _) => self.name.to_owned(),
            (true, false) => "(SELECT * FROM split WATERMARK at DELAY OF INTERVAL '10 minutes')".to_owned(),
            (true, true) => format!("({SPLIT})"),
        }
    }

    /// Each file without a valid row gives bad rows, but each line is text.
    fn bad_files(&self) -> i64 {
        if self.is_text() { 0 } else { (KILLS / 2) as i64 }
    }
}

/// Name, options and SELECT of a view over the source `$`, with what of its SELECT is in an append mode's result.
const VIEWS: [(&str, &str, &str, &str); 6] = [
    ("passed", "output_mode = 'append'", "SELECT id, page, at FROM $", ""),
    (
        "closed",
        "output_mode = 'append', trigger = '10 milliseconds'",
        "SELECT window_start, page, count(*) AS n, sum(id) AS s FROM tumble($, at, INTERVAL '1 minute')
         GROUP BY window_start, page",
        "WHERE page <> 'end'",
    ),
    (
        "updated",
        "output_mode = 'update'",
        "SELECT window_start, count(*) AS n, count(DISTINCT page) AS p FROM hop($, at, INTERVAL '1 minute', INTERVAL '3 minutes')
         GROUP BY window_start",
        "",
    ),
    (
        "complete",
        "output_mode = 'complete', trigger = '10 milliseconds'",
        "SELECT page, count(*) AS n, sum(id) AS s FROM $ GROUP BY page",
        "",
    ),
    (
        "now",
        "trigger = 'availableNow'",
        "SELECT page, min(id) AS low, max(at) AS high FROM $ GROUP BY page",
        "",
    ),
    ("once", "trigger = 'once'", "SELECT id % 10 AS digit, count(*) AS n FROM $ GROUP BY id % 10", ""),
];

/// Rows in the order of their time, one a second; the last one closes the windows of all others.
fn write_input(folder: &Path) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    fs::create_dir_all(folder)?;
    for file in 0..FILES {
        let mut text = String::new();
        for row in 0..ROWS_PER_FILE {
            let id = file * ROWS_PER_FILE + row;
            let page = ["home", "about", "two words", "caf\u{e9}"][random.random_range(0..4)];
            let (minute, second) = (id / 60, id % 60);
            writeln!(
                text,
                r#"{{"id":{id},"page":"{page}","at":"2024-01-01 00:{minute:02}:{second:02}"}}"#
            )?;
        }
        if file == FILES - 1 {
            writeln!(
                text,
                r#"{{"id":{},"page":"end","at":"2024-01-02 00:00:00"}}"#,
                FILES * ROWS_PER_FILE
            )?;
        }
        fs::write(folder.join(format!("{file:03}.json")), text)?;
    }
    Ok(())
}

const COLUMNS: &str = "id bigint, page text, at timestamp, WATERMARK FOR at AS at - INTERVAL '10 minutes'";

const SPLIT: &str = "SELECT split_part(value, ',', 1)::bigint AS id, split_part(value, ',', 2) AS page,
    split_part(value, ',', 3)::timestamp AS at FROM lines WHERE value LIKE '%,%,%'";

/// Whether a view with these options ends by itself.
fn ends(options: &str) -> bool {
    options.contains("once") || options.contains("Now")
}

async fn source(client: &Client, name: &str, columns: &str, folder: &Path, told: &str) -> Result<()> {
    let create = format!(
        "CREATE SOURCE {name} ({columns})
         WITH (connector = 'file', path = '{}', {told}, max_files_per_trigger = 2)",
        folder.display()
    );
    run(client, &create).await
}

/// The same rows in files of every format.
async fn write_formats(server: &Server) -> Result<()> {
    let folder = server.scratch_dir();
    write_input(&folder.join("input"))?;
    let client = server.connect().await?;
    source(
        &client,
        "input",
        COLUMNS,
        &folder.join("input"),
        "format = 'json'",
    )
    .await?;
    for Format { name, written, .. } in FORMATS {
        let path = folder.join(name);
        fs::create_dir_all(&path)?;
        let create = format!(
            "CREATE SINK to_{name} FROM input WITH (connector = 'file', path = '{}', {written})",
            path.display()
        );
        run(&client, &create).await?;
    }
    run(&client, "FLUSH").await
}

async fn create_views(client: &Client, folder: &Path) -> Result<()> {
    for format in &FORMATS {
        let (name, columns) = (format.name, if format.is_text() { "value text" } else { COLUMNS });
        source(client, name, columns, &folder.join(name), format.read).await?;
        if format.is_text() {
            let create = format!("CREATE STREAMING VIEW split WITH (output_mode = 'append') AS {SPLIT}");
            run(client, &create).await?;
        }
        for (view, options, query, _) in VIEWS {
            let query = query.replace('$', &format.relation(options));
            let create = format!("CREATE STREAMING VIEW {view}_{name} WITH ({options}) AS {query}");
            run(client, &create).await?;
        }
    }
    Ok(())
}

/// Every view that has not failed holds what its SELECT gives; the number of failed ones.
async fn check(client: &Client) -> Result<usize> {
    run(client, "FLUSH").await?;
    let mut failed = 0;
    for format in &FORMATS {
        for (view, options, query, rest) in VIEWS {
            let name = format!("{view}_{}", format.name);
            let error =
                format!("SELECT count(*) FROM sys.queries WHERE name = '{name}' AND error LIKE '%damaged%'");
            if number(client, &error).await? == 1 {
                failed += 1;
                continue;
            }
            if ends(options) {
                run(client, &format!("SELECT sys.await_termination('{name}')")).await?;
            }
            let query = query.replace('$', &format.relation(options));
            let expected = sorted(client, &format!("SELECT * FROM ({query}) AS q {rest}")).await?;
            ensure!(expected.len() > 3, "{name} has {} rows", expected.len());
            let actual = sorted(client, &format!("SELECT * FROM {name}")).await?;
            ensure!(
                actual == expected,
                "{name} has {actual:?} instead of {expected:?}"
            );
        }
    }
    Ok(failed)
}

/// Damages one of the newest files of a copy of the data. A server on it says so, or ends with the right rows.
async fn plant(server: &Server, random: &mut ChaCha8Rng) -> Result<()> {
    let files = damage::newest_files(&server.data_dir())?;
    let file = &files[random.random_range(0..files.len())];
    let (how, damage) = damage::DAMAGES[random.random_range(0..damage::DAMAGES.len())];
    let place = format!("{} {how}", file.display());
    let copy = server.scratch_dir().join("damaged");
    match damage::start_on_damaged(&server.data_dir(), &copy, file, damage).await {
        Ok(Started::Runs(damaged)) => {
            let client = damaged.connect().await?;
            check(&client).await.context(place)?;
            ensure!(!damaged.log_tail().contains("panicked"), "{}", damaged.log_tail());
            Ok(())
        }
        Ok(Started::Refused) => Ok(()),
        Err(error) => Err(error.context(place)),
    }
}

#[tokio::test]
async fn every_format_mode_and_trigger_survives_kills_and_damage() -> Result<()> {
    let mut server = Server::start(ServerOptions::workers(2))?;
    write_formats(&server).await?;
    let folder = server.scratch_dir();
    create_views(&server.connect().await?, &folder).await?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let total = (FORMATS.len() * FILES * ROWS_PER_FILE) as i64;
    let mut points: Vec<i64> = (0..KILLS).map(|_| random.random_range(0..total)).collect();
    points.sort_unstable();
    for (kill, point) in points.into_iter().enumerate() {
        let client = server.connect().await?;
        eventually(&format!("row {point}"), async || {
            let read = "SELECT sum(output_rows)::bigint FROM sys.queries WHERE name LIKE 'passed%'";
            Ok((number(&client, read).await? >= point).then_some(()))
        })
        .await?;
        server.kill()?;
        if kill % 2 == 0 {
            plant(&server, &mut random).await?;
        } else {
            for format in &FORMATS {
                // No format: neither a record nor what follows can be read, and it is told.
                fs::write(
                    folder.join(format.name).join(format!("zz{kill}")),
                    b"\"{\xff\x00 nothing",
                )?;
            }
        }
        server.restart([1, 2, 4][random.random_range(0..3)])?;
    }
    let client = server.connect().await?;
    assert_eq!(check(&client).await?, 0, "no view failed");
    for format in &FORMATS {
        let name = format.name;
        let bad = format!("SELECT count(DISTINCT position) FROM sys.bad_rows WHERE query = 'passed_{name}'");
        assert_eq!(
            number(&client, &bad).await?,
            format.bad_files(),
            "bad files of {name}"
        );
    }
    Ok(())
}
