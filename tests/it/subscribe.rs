//! SUBSCRIBE: each change once and in order, to any number of clients, until they or the relation go.

use anyhow::{Context, Result};
use futures::StreamExt;
use millpond_tests::{DEADLINE, Server, ServerOptions, cell, error_text, eventually, number, rows, run};
use tokio_postgres::{Client, SimpleQueryMessage};

/// `diff` and the columns behind it, without the times.
async fn changes(client: &Client, fetch: &str) -> Result<Vec<String>> {
    let fetched = rows(client, fetch).await?;
    Ok(fetched.iter().map(|row| joined(&row[1..])).collect())
}

fn joined(cells: &[Option<String>]) -> String {
    let cells = cells.iter().map(|cell| cell.as_deref().unwrap_or("NULL"));
    cells.collect::<Vec<_>>().join("|")
}

async fn server() -> Result<(Server, Client)> {
    let server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(
        &client,
        "CREATE TABLE t (k text, n int);
         CREATE STREAMING VIEW v AS SELECT k, sum(n) AS total FROM t GROUP BY k;
         INSERT INTO t VALUES ('a', 1), ('b', 2); FLUSH",
    )
    .await?;
    Ok((server, client))
}

#[tokio::test]
async fn a_cursor_fetches_the_snapshot_and_then_what_changes() -> Result<()> {
    let (server, writer) = server().await?;
    let reader = server.connect().await?;
    run(&reader, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE TO v").await?;
    let mut snapshot = changes(&reader, "FETCH 2 FROM c WITH (timeout = '20s')").await?;
    snapshot.sort();
    assert_eq!(snapshot, ["1|a|1", "1|b|2"]);
    run(&writer, "INSERT INTO t VALUES ('a', 10); FLUSH").await?;
    let mut first = changes(&reader, "FETCH 2 FROM c WITH (timeout = '20s')").await?;
    first.sort();
    assert_eq!(first, ["-1|a|1", "1|a|11"]);
    // Nothing is there: with a time it comes back, and the cursor goes on.
    assert!(
        changes(&reader, "FETCH 5 FROM c WITH (timeout = '10ms')")
            .await?
            .is_empty()
    );
    run(&writer, "DELETE FROM t WHERE k = 'b'; FLUSH").await?;
    assert_eq!(changes(&reader, "FETCH NEXT FROM c").await?, ["-1|b|2"]);
    run(&reader, "COMMIT").await?;
    Ok(())
}

#[tokio::test]
async fn without_a_snapshot_only_news_come_and_progress_says_that_a_cut_is_complete() -> Result<()> {
    let (server, writer) = server().await?;
    let reader = server.connect().await?;
    run(
        &reader,
        "DECLARE c CURSOR WITH HOLD FOR SUBSCRIBE t WITH (SNAPSHOT = false, PROGRESS)",
    )
    .await?;
    run(
        &writer,
        "INSERT INTO t VALUES ('c', 3), ('c', 3); UPDATE t SET n = 4 WHERE k = 'a'; FLUSH",
    )
    .await?;
    let (mut last, mut seen) = (0, Vec::new());
    while seen.len() < 4 {
        for row in rows(&reader, "FETCH 1 FROM c WITH (timeout = '20s')").await? {
            let ts: i64 = row[0].as_deref().context("a time")?.parse()?;
            assert!(ts > last, "nothing comes late: {ts} after {last}");
            if row[1].as_deref() == Some("t") {
                assert_eq!(joined(&row[2..]), "NULL|NULL|NULL");
                last = ts;
            } else {
                seen.push(joined(&row[2..]));
            }
        }
    }
    seen.sort();
    // Two equal rows may come as one with a weight of two.
    let seen: Vec<_> = seen.iter().map(String::as_str).collect();
    assert!(seen == ["-1|a|1", "1|a|4", "1|c|3", "1|c|3"], "{seen:?}");
    Ok(())
}

#[tokio::test]
async fn psql_copies_the_changes_up_to_a_cut() -> Result<()> {
    let (server, client) = server().await?;
    let cut = number(&client, "SELECT cut FROM sys.queries WHERE name = 'v'").await?;
    let copy = format!("COPY (SUBSCRIBE v UP TO {cut}) TO STDOUT");
    let output = server.psql().args(["-c", &copy]).output();
    let output = output.context("psql is needed for this test")?;
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [format!("{cut}\t1\ta\t1"), format!("{cut}\t1\tb\t2")]);
    Ok(())
}

#[tokio::test]
async fn a_copy_brings_each_change_when_it_happens_until_its_client_is_gone() -> Result<()> {
    let (server, writer) = server().await?;
    let (reader, connection) = server.config().connect(tokio_postgres::NoTls).await?;
    let connection = tokio::spawn(connection);
    {
        let copied = reader.copy_out("COPY (SUBSCRIBE v) TO STDOUT").await?;
        let mut copied = std::pin::pin!(copied);
        let mut next = async || -> Result<String> {
            let line = tokio::time::timeout(DEADLINE, copied.next()).await?;
            let line = String::from_utf8(line.context("it has no end")??.to_vec())?;
            Ok(line.trim_end().split_once('\t').context("a time")?.1.to_owned())
        };
        let mut snapshot = [next().await?, next().await?];
        snapshot.sort();
        assert_eq!(snapshot, ["1\ta\t1", "1\tb\t2"]);
        run(&writer, "INSERT INTO t VALUES ('z', 7)").await?;
        assert_eq!(next().await?, "1\tz\t7");
    }
    connection.abort();
    // The server notices that nobody listens.
    eventually("the subscription is gone", async || {
        let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY (SUBSCRIBE%'";
        Ok((number(&writer, running).await? == 0).then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_cancel_ends_a_subscription_and_not_its_connection() -> Result<()> {
    let (server, writer) = server().await?;
    let reader = server.connect().await?;
    let token = reader.cancel_token();
    let cancel = async {
        eventually("the subscription runs", async || {
            let running =
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = 'SUBSCRIBE v'";
            Ok((number(&writer, running).await? == 1).then_some(()))
        })
        .await?;
        Ok::<_, anyhow::Error>(token.cancel_query(tokio_postgres::NoTls).await?)
    };
    let (ended, cancelled) = tokio::join!(reader.simple_query("SUBSCRIBE v"), cancel);
    cancelled?;
    let error = ended.err().context("it has no end")?;
    assert!(error_text(&error).starts_with("57014"), "{}", error_text(&error));
    run(&reader, "SET statement_timeout = '100ms'").await?;
    let error = reader
        .simple_query("SUBSCRIBE v")
        .await
        .err()
        .context("it has no end")?;
    assert!(error_text(&error).starts_with("57014"), "{}", error_text(&error));
    assert_eq!(cell(&reader, "SELECT 1").await?, "1");
    Ok(())
}

#[tokio::test]
async fn many_subscribers_see_the_same_and_a_slow_one_holds_nobody_up() -> Result<()> {
    let (server, writer) = server().await?;
    let mut readers = Vec::new();
    for _ in 0..5 {
        let reader = server.connect().await?;
        run(
            &reader,
            "DECLARE c CURSOR WITH HOLD FOR SUBSCRIBE t WITH (SNAPSHOT = false)",
        )
        .await?;
        readers.push(reader);
    }
    // Far more than is buffered for a client, while none of them reads.
    for _ in 0..20 {
        run(
            &writer,
            "INSERT INTO t SELECT 'x', i FROM generate_series(1, 20000) AS g(i)",
        )
        .await?;
    }
    run(&writer, "FLUSH").await?;
    assert_eq!(
        number(&writer, "SELECT total FROM v WHERE k = 'x'").await?,
        20 * 200_010_000
    );
    for reader in &readers {
        let fetched = reader
            .simple_query("FETCH 400000 FROM c WITH (timeout = '60s')")
            .await?;
        let count = fetched
            .iter()
            .filter(|message| matches!(message, SimpleQueryMessage::Row(_)))
            .count();
        assert_eq!(count, 400_000);
    }
    Ok(())
}

#[tokio::test]
async fn dropping_the_relation_ends_its_subscriptions() -> Result<()> {
    let (server, writer) = server().await?;
    let reader = server.connect().await?;
    run(
        &reader,
        "DECLARE c CURSOR WITH HOLD FOR SUBSCRIBE v WITH (SNAPSHOT = false)",
    )
    .await?;
    run(&writer, "DROP STREAMING VIEW v").await?;
    let error = reader
        .simple_query("FETCH 1 FROM c")
        .await
        .err()
        .context("it is gone")?;
    assert!(error_text(&error).contains("dropped"), "{}", error_text(&error));
    assert_eq!(cell(&reader, "SELECT 1").await?, "1");
    Ok(())
}
