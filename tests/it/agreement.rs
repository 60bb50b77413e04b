//! Views agree: a SELECT over several views of one table reads them all at the same point, always.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use anyhow::{Context, Result};
use millpond_tests::{Server, ServerOptions, number, rows, run};
use tokio_postgres::Client;

const SELECTS: usize = 10_000;
const WRITERS: usize = 2;

const COUNTS: &str =
    "SELECT (SELECT n FROM total), (SELECT coalesce(sum(n), 0) FROM per_key), (SELECT n FROM twice)";

async fn create(client: &Client) -> Result<()> {
    run(client, "CREATE TABLE t (k int, v int)").await?;
    run(
        client,
        "CREATE STREAMING VIEW total AS SELECT count(*) AS n FROM t",
    )
    .await?;
    run(
        client,
        "CREATE STREAMING VIEW per_key AS SELECT k, count(*) AS n FROM t GROUP BY k",
    )
    .await?;
    run(
        client,
        "CREATE STREAMING VIEW twice AS
         SELECT coalesce(sum(n), 0) AS n FROM (SELECT n FROM total UNION ALL SELECT n FROM per_key) AS both_views",
    )
    .await?;
    run(client, "FLUSH").await
}

/// The three counts of one SELECT, which must agree; answers the number of rows that they stand for.
async fn read(client: &Client) -> Result<i64> {
    let rows = rows(client, COUNTS).await?;
    let counts: Vec<i64> = rows[0]
        .iter()
        .map(|cell| {
            cell.as_deref()
                .context("a count is never NULL")?
                .parse()
                .context("a count is a whole number")
        })
        .collect::<Result<_>>()?;
    assert_eq!(counts.len(), 3);
    assert!(
        counts[0] == counts[1] && 2 * counts[0] == counts[2],
        "views differ within one statement: {counts:?}"
    );
    Ok(counts[0])
}

/// Clients that insert without pause until told to stop or cut off; counts acknowledged rows.
struct Writers {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicI64>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Writers {
    async fn start(server: &Server) -> Result<Writers> {
        let mut writers = Writers {
            stop: Arc::default(),
            acknowledged: Arc::default(),
            tasks: Vec::new(),
        };
        for writer in 0..WRITERS {
            let client = server.connect().await?;
            let (stop, acknowledged) = (writers.stop.clone(), writers.acknowledged.clone());
            writers.tasks.push(tokio::spawn(async move {
                let mut n = writer;
                while !stop.load(Ordering::Relaxed) {
                    let insert = format!("INSERT INTO t VALUES ({}, 0), ({}, NULL)", n % 10, n % 3);
                    if client.simple_query(&insert).await.is_err() {
                        return;
                    }
                    acknowledged.fetch_add(2, Ordering::Relaxed);
                    n += 1;
                }
            }));
        }
        Ok(writers)
    }

    /// Ends them and answers the number of rows that were acknowledged.
    async fn stop(self) -> Result<i64> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await?;
        }
        Ok(self.acknowledged.load(Ordering::Relaxed))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_selects_never_see_views_differ() -> Result<()> {
    let server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    create(&client).await?;
    let writers = Writers::start(&server).await?;
    let (mut last, mut steps) = (0, 0);
    for _ in 0..SELECTS {
        let now = read(&client).await?;
        assert!(now >= last, "the views went back from {last} to {now}");
        steps += usize::from(now > last);
        last = now;
    }
    let acknowledged = writers.stop().await?;
    run(&client, "FLUSH").await?;
    assert_eq!(
        read(&client).await?,
        acknowledged,
        "after FLUSH every acknowledged row is in every view"
    );
    // Views that stand still agree easily: they must have moved under the readers.
    assert!(
        steps > 50,
        "only {steps} different states were seen in {SELECTS} SELECTs"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_agree_across_kills() -> Result<()> {
    let mut server = Server::start(ServerOptions::workers(2))?;
    create(&server.connect().await?).await?;
    let mut kept = 0;
    for round in 0..8 {
        let client = server.connect().await?;
        assert_eq!(read(&client).await?, kept);
        let writers = Writers::start(&server).await?;
        for _ in 0..150 {
            read(&client).await?;
        }
        server.restart(1 + round % 3)?;
        let client = server.connect().await?;
        let acknowledged = writers.stop().await?;
        // Right after the start the views may still be catching up, and agree all the same.
        for _ in 0..20 {
            read(&client).await?;
        }
        run(&client, "FLUSH").await?;
        let now = read(&client).await?;
        assert_eq!(now, number(&client, "SELECT count(*) FROM t").await?);
        let cut_off = now - kept - acknowledged;
        assert!(
            (0..=2 * WRITERS as i64).contains(&cut_off),
            "{acknowledged} rows acknowledged, {} there",
            now - kept
        );
        kept = now;
    }
    Ok(())
}
