//! The protocol as bytes: what drivers rely on, and what no client should send.

mod extended;
mod malformed;
mod raw;
mod simple;
mod values;

use std::time::Duration;

use anyhow::Result;
use millpond_tests::{DEADLINE, Server, ServerOptions, cell, error_text, number, run};
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_stops_the_work() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let client = server.connect().await?;
    for sql in [
        "SELECT pg_sleep(600)",
        // Work before the first row, and a flood of rows.
        "SELECT count(*) FROM generate_series(1, 100000) AS a (n), generate_series(1, 100000) AS b (n) WHERE a.n + b.n < 0",
        "SELECT * FROM generate_series(1, 10000000000)",
    ] {
        let token = client.cancel_token();
        let query = client.simple_query(sql);
        tokio::pin!(query);
        // The request may overtake the query, so it is repeated until it has an effect.
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        let begun = tokio::time::Instant::now();
        let mut requests = 0;
        let result = loop {
            tokio::select! {
                result = &mut query => break result,
                _ = ticks.tick() => {
                    token.cancel_query(NoTls).await?;
                    requests += 1;
                }
            }
            assert!(begun.elapsed() < DEADLINE, "not cancelled: {sql}");
        };
        let error = result.expect_err("a cancelled query fails");
        assert!(is_cancelled(&error), "{sql}: {}", error_text(&error));
        // The session lives on. A request that was still under way may stop what comes next, at most once each.
        let mut answer = client.simple_query("SELECT 1").await;
        while requests > 1 && answer.as_ref().is_err_and(is_cancelled) {
            requests -= 1;
            answer = client.simple_query("SELECT 1").await;
        }
        answer?;
    }
    Ok(())
}

fn is_cancelled(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

#[tokio::test]
async fn a_cancel_with_a_wrong_key_does_nothing() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut connection = raw::Connection::open(&server)?;
    let (pid, key) = connection.backend_key();
    raw::cancel(&server, pid, key.wrapping_add(1))?;
    raw::cancel(&server, pid.wrapping_add(1), key)?;
    let answer = connection.simple("SELECT 42")?;
    assert_eq!(answer.values(), [[Some("42".to_owned())]]);
    Ok(())
}

#[tokio::test]
async fn two_hundred_connections_work_at_once() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    run(&server.connect().await?, "CREATE TABLE t (a int)").await?;
    let mut clients = Vec::new();
    for _ in 0..200 {
        clients.push(server.connect().await?);
    }
    let mut pids = std::collections::BTreeSet::new();
    for (i, client) in clients.iter().enumerate() {
        run(client, &format!("INSERT INTO t VALUES ({i})")).await?;
        pids.insert(cell(client, "SELECT pg_backend_pid()").await?);
    }
    assert_eq!(pids.len(), 200, "each session has an id of its own");
    assert_eq!(number(&clients[7], "SELECT count(DISTINCT a) FROM t").await?, 200);
    drop(clients);
    assert_eq!(
        number(&server.connect().await?, "SELECT count(*) FROM t").await?,
        200
    );
    Ok(())
}
