//! Views with a condition on `now()`: rows go and come by the clock alone, also while the server was away.

use anyhow::Result;
use millpond_tests::{Server, ServerOptions, eventually, number, run};

const RECENT: &str = "SELECT count(*) FROM recent";

#[tokio::test]
async fn rows_go_when_they_are_too_old() -> Result<()> {
    let mut server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    for statement in [
        "CREATE TABLE t (id int, ts timestamptz)",
        "CREATE STREAMING VIEW recent AS SELECT id FROM t WHERE ts > now() - INTERVAL '1 hour'",
        "CREATE STREAMING VIEW counted AS SELECT count(*) AS n FROM recent",
        // Two are over within seconds, one stays.
        "INSERT INTO t VALUES (1, now() - INTERVAL '59 minutes 57 seconds'), (2, now()), (3, now() - INTERVAL '2 hours'),
           (4, now() - INTERVAL '59 minutes 55 seconds')",
        "FLUSH",
    ] {
        run(&client, statement).await?;
    }
    assert!(number(&client, RECENT).await? > 1);
    // No row comes and nobody asks for anything but the view.
    eventually("the first row goes", async || {
        Ok((number(&client, RECENT).await? == 2).then_some(()))
    })
    .await?;
    server.restart(1)?;
    let client = server.connect().await?;
    eventually("the last goes", async || {
        Ok((number(&client, RECENT).await? == 1).then_some(()))
    })
    .await?;
    run(&client, "FLUSH").await?;
    assert_eq!(number(&client, "SELECT n FROM counted").await?, 1);
    assert_eq!(number(&client, "SELECT id FROM recent").await?, 2);
    Ok(())
}
