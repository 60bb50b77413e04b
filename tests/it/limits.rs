//! What the server refuses, and how it stops.

use std::time::Duration;

use anyhow::{Context, Result};
use millpond_tests::{
    DEADLINE, Process, Server, ServerOptions, error_text, eventually, number, run, serve_on,
};
use tokio_postgres::NoTls;

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused_and_told_who_holds_it() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let log = server.scratch_dir().join("second.log");
    let mut second = Process::start(&mut server.command(), &log)?;
    let status = second.wait(DEADLINE)?;
    assert!(!status.success());
    let said = std::fs::read_to_string(&log)?;
    assert!(
        said.contains(&server.pid().to_string()),
        "the message names the pid {}: {said}",
        server.pid()
    );
    // The first one is not disturbed.
    let client = server.connect().await?;
    run(&client, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await?;
    assert_eq!(number(&client, "SELECT count(*) FROM t").await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_stop_is_graceful_and_bounded() -> Result<()> {
    let mut server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(&client, "CREATE TABLE t (a int); CREATE STREAMING VIEW v AS SELECT a % 10 AS k, count(*) AS n FROM t GROUP BY a % 10")
        .await?;
    run(&client, "INSERT INTO t SELECT * FROM generate_series(1, 20000)").await?;
    // Connections are open, a statement hangs about and views have work to do: none of them may hold the stop up.
    let busy = server.connect().await?;
    let sleeper = tokio::spawn(async move { busy.simple_query("SELECT pg_sleep(600)").await.is_err() });
    let ended = server.terminate(Duration::from_secs(20))?;
    assert!(ended.status.success(), "{:?}", ended.status);
    assert!(sleeper.await?, "the statement was ended with the server");
    server.restart(1)?;
    let client = server.connect().await?;
    run(&client, "FLUSH").await?;
    assert_eq!(number(&client, "SELECT sum(n) FROM v").await?, 20_000);
    Ok(())
}

#[tokio::test]
async fn more_clients_than_allowed_are_told_so_and_a_place_is_free_again() -> Result<()> {
    let server = Server::start(ServerOptions {
        arguments: vec!["--max-connections".into(), "2".into()],
        ..ServerOptions::default()
    })?;
    let (first, second) = (server.connect().await?, server.connect().await?);
    let refused = server.config().connect(NoTls).await.err();
    let text = error_text(&refused.context("a third client is one too many")?);
    assert!(text.starts_with("53300: "), "{text}");
    assert_eq!(number(&first, "SELECT 1").await?, 1);
    drop(second);
    eventually("the place is free", async || Ok(server.connect().await.ok())).await?;
    Ok(())
}

#[tokio::test]
async fn long_computations_end_with_their_time_limit_their_cancel_and_their_client() -> Result<()> {
    let server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(&client, "SET statement_timeout = '200ms'").await?;
    for endless in [
        "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 1000) b",
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT g FROM generate_series(1, 2000000000) AS s (g) ORDER BY g % 7 DESC LIMIT 1",
        "SELECT sum(length(repeat(g::text, 1000))) FROM generate_series(1, 2000000000) AS s (g)",
    ] {
        let begun = std::time::Instant::now();
        let error = client
            .simple_query(endless)
            .await
            .err()
            .context("it has no end")?;
        assert!(
            error_text(&error).starts_with("57014"),
            "{endless}: {}",
            error_text(&error)
        );
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{endless}: {:?}",
            begun.elapsed()
        );
    }
    // A client that goes away takes its statement along.
    let (gone, connection) = server.config().connect(NoTls).await?;
    let connection = tokio::spawn(connection);
    let endless = "SELECT count(*) FROM generate_series(1, 100000000) x, generate_series(1, 1000) y";
    let running =
        format!("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = '{endless}'");
    let asking = tokio::spawn(async move { gone.simple_query(endless).await.is_err() });
    eventually("the statement runs", async || {
        Ok((number(&client, &running).await? == 1).then_some(()))
    })
    .await?;
    connection.abort();
    assert!(asking.await?);
    eventually("the statement is gone", async || {
        Ok((number(&client, &running).await? == 0).then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_used_is_named() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let file = server.scratch_dir().join("not_a_folder");
    std::fs::write(&file, "a file")?;
    let log = server.scratch_dir().join("refused.log");
    let status = Process::start(&mut serve_on(&file), &log)?.wait(DEADLINE)?;
    assert!(!status.success());
    assert!(std::fs::read_to_string(&log)?.contains("not_a_folder"));
    Ok(())
}

#[test]
fn without_a_password_it_listens_on_loopback_only() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let mut command = std::process::Command::new(millpond_tests::millpond());
    command
        .args([
            "serve",
            "--listen",
            "0.0.0.0:0",
            "--http",
            "127.0.0.1:0",
            "--data-dir",
        ])
        .arg(folder.path().join("data"));
    let status = Process::start(&mut command, &log)?.wait(DEADLINE)?;
    assert!(!status.success());
    let said = std::fs::read_to_string(&log)?;
    assert!(said.contains("loopback") || said.contains("127.0.0.1"), "{said}");
    Ok(())
}

#[test]
fn help_teaches() -> Result<()> {
    for arguments in [vec!["--help"], vec!["serve", "--help"], vec!["demo", "--help"]] {
        let output = std::process::Command::new(millpond_tests::millpond())
            .args(&arguments)
            .output()?;
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout)?;
        assert!(text.lines().count() > 5, "{arguments:?}: {text}");
        if arguments[0] == "serve" {
            for flag in ["--listen", "--http", "--data-dir", "--workers"] {
                assert!(text.contains(flag), "{flag} is not in the help: {text}");
            }
        }
    }
    Ok(())
}
