//! What queries keep does not grow with their streams: after each part of a long stream it is what is open at its end.
//!
//! `MILLPOND_STATE_ROWS` is the number of rows of each stream. Ten million, in a build that is fast enough:
//! `MILLPOND_STATE_ROWS=10000000 cargo test --locked --workspace --release --test it -- state_bound`.

use anyhow::{Context, Result, ensure};
use millpond_tests::{Server, ServerOptions, number, rows, run};

const PART: i64 = 10_000;
/// Rows are a millisecond apart, and what is open spans a few seconds.
const OPEN_ROWS: i64 = 10_000;
/// What memory may grow by after the first part of a stream that is worth measuring.
const MEMORY_KB: u64 = 400 * 1024;

const VIEWS: [&str; 7] = [
    "CREATE STREAMING VIEW windows AS SELECT window_start, k, count(*) AS n
       FROM tumble(a, ts, INTERVAL '1 second') GROUP BY window_start, k",
    "CREATE STREAMING VIEW sliding WITH (output_mode = 'append') AS SELECT window_start, sum(v) AS n
       FROM hop(a, ts, INTERVAL '100 milliseconds', INTERVAL '1 second') GROUP BY window_start",
    "CREATE STREAMING VIEW sessions WITH (output_mode = 'append') AS SELECT k, session_window.start AS s, count(*) AS n
       FROM a WHERE v % 1000 < 500 GROUP BY k, session_window(ts, '200 milliseconds')",
    "CREATE STREAMING VIEW firsts WITH (output_mode = 'append') AS SELECT id FROM dedup(a, id)",
    "CREATE STREAMING VIEW pairs WITH (output_mode = 'append') AS SELECT a.id FROM a JOIN b
       ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1 second'",
    "CREATE STREAMING VIEW alone WITH (output_mode = 'append') AS SELECT a.id FROM a LEFT JOIN b
       ON a.id = b.id + 1 AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1 second' WHERE b.id IS NULL",
    "CREATE STREAMING VIEW best AS SELECT * FROM (SELECT window_start, v, row_number() OVER
       (PARTITION BY window_start ORDER BY v DESC) AS rank FROM tumble(a, ts, INTERVAL '1 second')) AS r WHERE rank <= 3",
];

#[tokio::test]
async fn state_is_what_is_open() -> Result<()> {
    let total = match std::env::var("MILLPOND_STATE_ROWS") {
        Ok(rows) => rows.parse().context("MILLPOND_STATE_ROWS is a number")?,
        Err(_) => 3 * PART,
    };
    let server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    for stream in ["a", "b"] {
        let columns = "id bigint, k int, v bigint, ts timestamp";
        let watermark = "WATERMARK FOR ts AS ts - INTERVAL '1 second'";
        run(
            &client,
            &format!("CREATE STREAM {stream} ({columns}, {watermark})"),
        )
        .await?;
    }
    for view in VIEWS {
        run(&client, view).await?;
    }
    let mut at_first = None;
    let mut done = 0;
    while done < total {
        let until = (done + PART).min(total);
        for stream in ["a", "b"] {
            let time = "'2024-01-01 00:00:00'::timestamp + i * INTERVAL '1 millisecond'";
            let series = format!("generate_series({done}, {}) AS g(i)", until - 1);
            let insert = format!("INSERT INTO {stream} SELECT i, (i % 10)::int, i, {time} FROM {series}");
            run(&client, &insert).await?;
        }
        run(&client, "FLUSH").await?;
        done = until;
        let state = "SELECT query, sum(num_rows_total) FROM sys.query_state GROUP BY query ORDER BY query";
        let state = rows(&client, state).await?;
        ensure!(state.len() == VIEWS.len(), "{state:?}");
        for query in &state {
            let kept: i64 = query[1].as_deref().unwrap_or_default().parse()?;
            ensure!(kept <= OPEN_ROWS, "after {done} rows: {query:?}");
        }
        let memory = memory_kb(server.pid())?;
        // The first parts fill what is kept for good: buffers, caches, threads.
        if done >= total / 5 {
            let first = *at_first.get_or_insert(memory);
            ensure!(
                memory <= first + MEMORY_KB,
                "after {done} rows: {first} kB became {memory} kB"
            );
        }
    }
    // Nothing was lost for it.
    ensure!(number(&client, "SELECT count(*) FROM firsts").await? == total);
    ensure!(number(&client, "SELECT count(*) FROM pairs").await? == total);
    ensure!(
        number(
            &client,
            "SELECT late_rows FROM sys.queries WHERE name = 'windows'"
        )
        .await?
            == 0
    );
    ensure!(number(&client, "SELECT sum(n)::bigint FROM windows").await? == total);
    Ok(())
}

/// What the process holds in memory.
fn memory_kb(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(size
        .context("VmRSS in the status of the process")?
        .trim()
        .parse()?)
}
