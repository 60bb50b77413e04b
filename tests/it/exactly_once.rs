//! Exactly once: a server that is killed again and again while it reads files ends with the tables of one that was not.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use millpond_tests::{Server, ServerOptions, eventually, number, run, sorted};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_postgres::Client;

const FILES: usize = 200;
const ROWS_PER_FILE: usize = 50;
const KILLS: usize = 20;
const SEED: u64 = 20_240_229;

const VIEWS: [(&str, &str); 3] = [
    ("passed", "CREATE STREAMING VIEW passed AS SELECT id, page, at FROM clicks WHERE page <> 'ignored'"),
    (
        "updated",
        "CREATE STREAMING VIEW updated AS SELECT window_start, page, count(*) AS n, sum(id) AS s, count(DISTINCT id % 7) AS d
         FROM tumble(clicks, at, INTERVAL '1 minute') GROUP BY window_start, page",
    ),
    (
        "appended",
        "CREATE STREAMING VIEW appended WITH (output_mode = 'append') AS SELECT window_start, page, count(*) AS n, sum(id) AS s
         FROM tumble(clicks, at, INTERVAL '1 minute') GROUP BY window_start, page",
    ),
];

/// Files whose times run forward with a disorder smaller than the watermark's delay, so that nothing is late however
/// the rows fall into epochs. The last row closes all windows before it.
fn write_files(folder: &Path) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let pages = ["home", "about", "ignored", ""];
    let mut id = 0;
    for file in 0..FILES {
        let mut text = String::new();
        for _ in 0..ROWS_PER_FILE {
            let second = id / 4 + random.random_range(0..20);
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            let page = pages[random.random_range(0..pages.len())];
            writeln!(
                text,
                r#"{{"id":{id},"page":"{page}","at":"2024-01-01 {hour:02}:{minute:02}:{second:02}"}}"#
            )?;
            id += 1;
        }
        if file == FILES - 1 {
            writeln!(text, r#"{{"id":{id},"page":"end","at":"2024-01-02 00:00:00"}}"#)?;
        }
        std::fs::write(folder.join(format!("{file:03}.json")), text)?;
    }
    Ok(())
}

async fn create(client: &Client, folder: &Path) -> Result<()> {
    run(
        client,
        &format!(
            "CREATE SOURCE clicks (id bigint, page text, at timestamp, WATERMARK FOR at AS at - INTERVAL '1 minute')
             WITH (connector = 'file', path = '{}', format = 'json', max_files_per_trigger = 2)",
            folder.display()
        ),
    )
    .await?;
    for (_, create) in VIEWS {
        run(client, create).await?;
    }
    Ok(())
}

async fn results(client: &Client) -> Result<Vec<Vec<String>>> {
    run(client, "FLUSH").await?;
    let mut results = Vec::new();
    for (name, _) in VIEWS {
        results.push(sorted(client, &format!("SELECT * FROM {name}")).await?);
    }
    Ok(results)
}

#[tokio::test]
async fn twenty_kills_change_nothing() -> Result<()> {
    let reference = Server::start(ServerOptions::workers(2))?;
    let folder = reference.scratch_dir();
    write_files(&folder)?;
    let client = reference.connect().await?;
    create(&client, &folder).await?;
    let expected = results(&client).await?;
    let once = "SELECT id, page, at FROM clicks WHERE page <> 'ignored'";
    assert_eq!(
        expected[0],
        sorted(&client, once).await?,
        "the run without kills is right itself"
    );
    assert!(
        expected[2].len() > 100 && expected[2].len() == expected[1].len() - 1,
        "all windows but the last closed"
    );

    let mut server = Server::start(ServerOptions::workers(2))?;
    create(&server.connect().await?, &folder).await?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let total = expected[0].len() as i64;
    let mut points: Vec<i64> = (0..KILLS).map(|_| random.random_range(0..total)).collect();
    points.sort_unstable();
    for point in points {
        let client = server.connect().await?;
        eventually(&format!("row {point}"), async || {
            Ok((number(&client, "SELECT count(*) FROM passed").await? >= point).then_some(()))
        })
        .await?;
        check_batch_ids(&client).await?;
        server.restart([1, 2, 4][random.random_range(0..3)])?;
    }
    let client = server.connect().await?;
    let actual = results(&client).await?;
    for ((name, _), (actual, expected)) in VIEWS.iter().zip(actual.iter().zip(&expected)) {
        assert_eq!(actual, expected, "{name}");
    }
    check_batch_ids(&client).await
}

/// Ids of the batches of each view have no gap and no repeat.
async fn check_batch_ids(client: &Client) -> Result<()> {
    for (name, _) in VIEWS {
        let sql = format!("SELECT batch_id FROM sys.query_progress WHERE name = '{name}' ORDER BY batch_id");
        let ids: Vec<i64> = sorted(client, &sql)
            .await?
            .iter()
            .map(|id| id.parse())
            .collect::<Result<_, _>>()?;
        let mut ids = ids;
        ids.sort_unstable();
        let whole = ids.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert!(whole, "batch ids of {name} have a gap or a repeat: {ids:?}");
    }
    Ok(())
}
