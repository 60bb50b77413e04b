//! Files of every format, out and in again: a server that is killed while it writes them, and one that is killed while it
//! reads them, end with each row once.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use millpond_tests::{Server, ServerOptions, eventually, number, run, sorted};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_postgres::Client;

const FILES: usize = 60;
const ROWS_PER_FILE: usize = 40;
const KILLS: usize = 8;
const SEED: u64 = 20_251_130;

/// Name, what the sink is told, and what the source over its files is told.
const FORMATS: [(&str, &str, &str); 5] = [
    ("parquet", "format = 'parquet'", "format = 'parquet'"),
    (
        "folders",
        "format = 'parquet', partition_by = 'page'",
        "format = 'parquet'",
    ),
    (
        "csv",
        "format = 'csv', header = true",
        "format = 'csv', header = true",
    ),
    ("packed", "format = 'csv', compression = 'gzip'", "format = 'csv'"),
    (
        "json",
        "format = 'json', compression = 'zstd', partition_by = 'page'",
        "format = 'json'",
    ),
];

fn write_input(folder: &Path) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let pages = [
        "\"home\"",
        "\"\"",
        "null",
        r#""a/b=c""#,
        r#""two\nlines, \"quoted\"""#,
    ];
    for file in 0..FILES {
        let mut text = String::new();
        for row in 0..ROWS_PER_FILE {
            let id = file * ROWS_PER_FILE + row;
            let page = pages[random.random_range(0..pages.len())];
            writeln!(
                text,
                r#"{{"id":{id},"page":{page},"at":"2024-01-01 00:{:02}:{:02}"}}"#,
                id / 60 % 60,
                id % 60
            )?;
        }
        std::fs::write(folder.join(format!("{file:03}.json")), text)?;
    }
    Ok(())
}

async fn source(client: &Client, name: &str, folder: &Path, told: &str) -> Result<()> {
    run(
        client,
        &format!(
            "CREATE SOURCE {name} (id bigint, page text, at timestamp)
             WITH (connector = 'file', path = '{}', {told}, max_files_per_trigger = 2)",
            folder.display()
        ),
    )
    .await?;
    Ok(())
}

/// Kills the server whenever `query` has counted to one of some random numbers.
async fn kill_at_random(server: &mut Server, query: &str, total: i64, seed: u64) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut points: Vec<i64> = (0..KILLS).map(|_| random.random_range(0..total)).collect();
    points.sort_unstable();
    for point in points {
        let client = server.connect().await?;
        eventually(&format!("row {point}"), async || {
            Ok((number(&client, query).await? >= point).then_some(()))
        })
        .await?;
        server.restart([1, 2, 4][random.random_range(0..3)])?;
    }
    Ok(())
}

#[tokio::test]
async fn files_hold_each_row_once_and_give_it_once() -> Result<()> {
    let total = (FILES * ROWS_PER_FILE) as i64;
    let mut writer = Server::start(ServerOptions::workers(2))?;
    let folder = writer.scratch_dir();
    let (input, output) = (folder.join("input"), folder.join("output"));
    std::fs::create_dir_all(&input)?;
    std::fs::create_dir_all(&output)?;
    write_input(&input)?;
    let client = writer.connect().await?;
    source(&client, "clicks", &input, "format = 'json'").await?;
    run(
        &client,
        "CREATE STREAMING VIEW passed AS SELECT id, page, at FROM clicks",
    )
    .await?;
    for (name, told, _) in FORMATS {
        let path = output.join(name);
        let create = format!(
            "CREATE SINK {name} FROM clicks WITH (connector = 'file', path = '{}', {told})",
            path.display()
        );
        run(&client, &create).await?;
    }
    let written = "SELECT min(rows)::bigint FROM sys.sinks";
    kill_at_random(&mut writer, written, total, SEED).await?;
    let client = writer.connect().await?;
    run(&client, "FLUSH").await?;
    let expected = sorted(&client, "SELECT id, page, at FROM passed").await?;
    assert_eq!(expected.len() as i64, total);

    let mut reader = Server::start(ServerOptions::workers(2))?;
    let client = reader.connect().await?;
    for (name, _, told) in FORMATS {
        source(&client, name, &output.join(name), told).await?;
        // What the files hold, read once.
        let rows = sorted(&client, &format!("SELECT id, page, at FROM {name}")).await?;
        assert_eq!(rows, expected, "the files of {name}");
        let view = format!("CREATE STREAMING VIEW view_{name} AS SELECT id, page, at FROM {name}");
        run(&client, &view).await?;
    }
    let read = "SELECT min(output_rows)::bigint FROM sys.queries";
    kill_at_random(&mut reader, read, total, SEED + 1).await?;
    let client = reader.connect().await?;
    run(&client, "FLUSH").await?;
    for (name, _, _) in FORMATS {
        let rows = sorted(&client, &format!("SELECT * FROM view_{name}")).await?;
        assert_eq!(rows, expected, "the view over {name}");
    }
    assert_eq!(number(&client, "SELECT count(*) FROM sys.bad_rows").await?, 0);
    Ok(())
}
