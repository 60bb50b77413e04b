//! Freshness: how long after INSERT's reply its row is in a view's answer, with the real server and the default trigger.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use millpond_tests::{Server, ServerOptions};

const ROWS: i64 = 500;
const WARM_UP: i64 = 50;

pub fn run() -> Result<()> {
    let server = Server::start(ServerOptions::workers(2))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let mut waits = runtime.block_on(measure(&server))?;
    waits.sort_unstable();
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{} inserts one after the other; a client asks for the view until it shows the row\n",
        waits.len()
    );
    println!("| p50 ms | p90 ms | p99 ms | max ms |\n|---|---|---|---|");
    println!(
        "| {:.2} | {:.2} | {:.2} | {:.2} |",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
    Ok(())
}

async fn measure(server: &Server) -> Result<Vec<Duration>> {
    let (writer, reader) = (server.connect().await?, server.connect().await?);
    writer
        .batch_execute(
            "CREATE STREAM ticks (k bigint, v bigint);
             CREATE STREAMING VIEW per_key AS SELECT k, count(*) AS n, sum(v) AS total FROM ticks GROUP BY k;",
        )
        .await?;
    let insert = writer.prepare("INSERT INTO ticks VALUES ($1, $2)").await?;
    let select = reader
        .prepare("SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM per_key")
        .await?;
    let mut waits = Vec::new();
    for row in 1..=ROWS + WARM_UP {
        writer.execute(&insert, &[&(row % 10), &row]).await?;
        let replied = Instant::now();
        loop {
            let seen: i64 = reader.query_one(&select, &[]).await?.get(0);
            ensure!(seen <= row, "the view shows {seen} of {row} rows");
            if seen == row {
                break;
            }
            ensure!(
                replied.elapsed() < Duration::from_secs(30),
                "row {row} is not visible after 30 s"
            );
        }
        if row > WARM_UP {
            waits.push(replied.elapsed());
        }
    }
    Ok(waits)
}
