//! What a restart may and may not change, after SIGKILL and after a graceful stop, with other numbers of workers.

use std::time::Duration;

use anyhow::Result;
use millpond_tests::{DEADLINE, Server, ServerOptions, cell, number, rows, run, sorted};
use tokio_postgres::Client;

#[tokio::test]
async fn everything_is_there_after_a_kill_and_after_a_stop() -> Result<()> {
    let mut server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(&client, "CREATE TABLE t (k text, v int)").await?;
    run(&client, "CREATE STREAM dropped (a int); DROP STREAM dropped").await?;
    run(
        &client,
        "CREATE STREAMING VIEW per_k AS SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k",
    )
    .await?;
    run(
        &client,
        "CREATE STREAMING VIEW top AS SELECT max(s) AS s, count(*) AS ks FROM per_k",
    )
    .await?;
    run(
        &client,
        "CREATE STREAMING VIEW asleep AS SELECT v FROM t; ALTER STREAMING VIEW asleep PAUSE",
    )
    .await?;
    run(&client, "INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', NULL)").await?;
    run(&client, "FLUSH").await?;
    let identities = sorted(&client, "SELECT name, id FROM sys.queries").await?;
    assert_eq!(identities.len(), 3);
    let mut runs = sorted(&client, "SELECT run_id FROM sys.queries WHERE is_active").await?;
    let mut kept = sorted(&client, "SELECT * FROM per_k").await?;
    assert_eq!(kept, ["a 2 1", "b 1 2"]);

    for (round, workers) in [1, 4, 2, 3].into_iter().enumerate() {
        if round % 2 == 1 {
            let ended = server.terminate(DEADLINE)?;
            assert!(
                ended.status.success(),
                "a graceful stop is a success: {:?}",
                ended.status
            );
        }
        server.restart(workers)?;
        let client = server.connect().await?;
        // Before anything new comes in, everything is as it was.
        assert_eq!(sorted(&client, "SELECT * FROM per_k").await?, kept);
        assert_eq!(
            sorted(&client, "SELECT name, id FROM sys.queries").await?,
            identities,
            "ids are for life"
        );
        let runs_now = sorted(&client, "SELECT run_id FROM sys.queries WHERE is_active").await?;
        assert!(
            runs_now.iter().all(|run| !runs.contains(run)),
            "each run has a new id"
        );
        runs = runs_now;
        assert_eq!(
            cell(&client, "SELECT is_active FROM sys.queries WHERE name = 'asleep'").await?,
            "f"
        );
        assert!(
            rows(&client, "SELECT * FROM dropped").await.is_err(),
            "what was dropped stays dropped"
        );

        run(&client, "INSERT INTO t VALUES ('b', 3), ('c', 0)").await?;
        run(&client, "FLUSH").await?;
        let n = round + 1;
        kept = vec![
            "a 2 1".to_owned(),
            format!("b {} {}", n + 1, 3 * n + 2),
            format!("c {n} 0"),
        ];
        assert_eq!(sorted(&client, "SELECT * FROM per_k").await?, kept);
        assert_eq!(
            sorted(&client, "SELECT * FROM top").await?,
            [format!("{} 3", 3 * n + 2)]
        );
    }

    // The paused view still knows where it stood: at the beginning.
    let client = server.connect().await?;
    run(&client, "ALTER STREAMING VIEW asleep RESUME; FLUSH").await?;
    assert_eq!(number(&client, "SELECT count(*) FROM asleep").await?, 11);
    Ok(())
}

/// Inserts numbers from `first` on, one by one, until the connection breaks; answers the first that is not acknowledged.
async fn insert_until_killed(client: Client, writer: i64) -> i64 {
    let mut next = 0;
    while client
        .simple_query(&format!("INSERT INTO t VALUES ({writer}, {next})"))
        .await
        .is_ok()
    {
        next += 1;
    }
    next
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_insert_survives_a_kill() -> Result<()> {
    const WRITERS: i64 = 4;
    let mut server = Server::start(ServerOptions::default())?;
    let client = server.connect().await?;
    run(&client, "CREATE TABLE t (writer int, n int)").await?;
    run(
        &client,
        "CREATE STREAMING VIEW v AS SELECT writer, count(*) AS n, max(n) AS top FROM t GROUP BY writer",
    )
    .await?;
    for round in 1..=5 {
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let client = server.connect().await?;
            writers.push(tokio::spawn(insert_until_killed(
                client,
                round * WRITERS + writer,
            )));
        }
        // Kill in the middle of it: when some rows of each writer have arrived.
        let watcher = server.connect().await?;
        let enough = format!("SELECT count(*) FROM t WHERE writer >= {}", round * WRITERS);
        millpond_tests::eventually("40 rows", async || {
            Ok((number(&watcher, &enough).await? >= 40).then_some(()))
        })
        .await?;
        server.restart(1 + (round as usize) % 3)?;
        let client = server.connect().await?;
        run(&client, "FLUSH").await?;
        for (writer, task) in writers.into_iter().enumerate() {
            let acknowledged = task.await?;
            let writer = round * WRITERS + writer as i64;
            let kept = number(
                &client,
                &format!("SELECT count(*) FROM t WHERE writer = {writer}"),
            )
            .await?;
            // The last one was cut off before its reply: it may be there or not.
            assert!(
                kept == acknowledged || kept == acknowledged + 1,
                "writer {writer}: {acknowledged} acknowledged, {kept} kept"
            );
        }
        let once = sorted(&client, "SELECT writer, count(*), max(n) FROM t GROUP BY writer").await?;
        assert_eq!(sorted(&client, "SELECT writer, n, top FROM v").await?, once);
    }
    Ok(())
}

#[tokio::test]
async fn ddl_is_whole_or_not_there_after_a_kill() -> Result<()> {
    let mut server = Server::start(ServerOptions::default())?;
    for round in 0..5 {
        let client = server.connect().await?;
        run(
            &client,
            &format!("CREATE TABLE t{round} (a int); INSERT INTO t{round} VALUES (1)"),
        )
        .await?;
        let create = format!("CREATE STREAMING VIEW v{round} AS SELECT count(*) AS n FROM t{round}");
        // Not awaited to its end: the kill comes while the view is being created.
        let _ = tokio::time::timeout(Duration::from_micros(500 * round), client.simple_query(&create)).await;
        server.restart(1)?;
        let client = server.connect().await?;
        let views = sorted(&client, "SELECT matviewname FROM pg_matviews").await?;
        let queries = sorted(&client, "SELECT name FROM sys.queries").await?;
        assert_eq!(views, queries, "each view in the catalog has its query");
        run(&client, &create.replace("VIEW", "VIEW IF NOT EXISTS")).await?;
        run(&client, "FLUSH").await?;
        assert_eq!(number(&client, &format!("SELECT n FROM v{round}")).await?, 1);
    }
    Ok(())
}
