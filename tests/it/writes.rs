//! Tables under many writers, and under a kill: no change is lost, none is done twice, keys hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use millpond_tests::{Server, ServerOptions, number, rows, run, sorted};
use tokio_postgres::error::SqlState;

const WRITERS: usize = 6;
const CHANGES: usize = 15;

async fn server_with_accounts() -> Result<Server> {
    let server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(&client, "CREATE TABLE accounts (id int PRIMARY KEY, amount int)").await?;
    run(&client, "CREATE TABLE journal (id int, amount int)").await?;
    run(
        &client,
        "CREATE STREAMING VIEW total AS SELECT sum(amount) AS total, count(*) AS n FROM accounts",
    )
    .await?;
    run(&client, "INSERT INTO accounts VALUES (0, 0), (1, 0), (2, 0)").await?;
    Ok(server)
}

#[tokio::test]
async fn updates_at_the_same_time_all_count() -> Result<()> {
    let server = server_with_accounts().await?;
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let client = server.connect().await?;
        writers.push(tokio::spawn(async move {
            for change in 0..CHANGES {
                let id = (writer + change) % 3;
                let update = format!("UPDATE accounts SET amount = amount + 1 WHERE id = {id}");
                ensure!(client.execute(update.as_str(), &[]).await? == 1);
            }
            Ok(())
        }));
    }
    for writer in writers {
        writer.await??;
    }
    let client = server.connect().await?;
    let sum = i64::try_from(WRITERS * CHANGES)?;
    assert_eq!(number(&client, "SELECT sum(amount) FROM accounts").await?, sum);
    run(&client, "FLUSH").await?;
    assert_eq!(
        sorted(&client, "SELECT * FROM total").await?,
        [format!("{sum} 3")]
    );
    Ok(())
}

/// Transfers in blocks that take two tables in either order: some close a circle and are refused, and are run again.
#[tokio::test]
async fn transactions_are_whole_and_end_in_no_deadlock() -> Result<()> {
    let server = server_with_accounts().await?;
    let client = server.connect().await?;
    run(&client, "INSERT INTO journal VALUES (0, 0)").await?;
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let mut client = server.connect().await?;
        writers.push(tokio::spawn(async move {
            let mut statements = [
                "UPDATE accounts SET amount = amount + 1 WHERE id = 0",
                "UPDATE journal SET amount = amount - 1",
            ];
            if writer % 2 == 1 {
                statements.reverse();
            }
            for _ in 0..CHANGES {
                loop {
                    let transaction = client.transaction().await?;
                    let mut done = transaction.execute(statements[0], &[]).await;
                    if done.is_ok() {
                        done = transaction.execute(statements[1], &[]).await;
                    }
                    match done {
                        Ok(_) => transaction.commit().await?,
                        Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {
                            transaction.rollback().await?;
                            continue;
                        }
                        Err(error) => return Err(error.into()),
                    }
                    break;
                }
            }
            anyhow::Ok(())
        }));
    }
    for writer in writers {
        writer.await??;
    }
    let sum = i64::try_from(WRITERS * CHANGES)?;
    assert_eq!(number(&client, "SELECT sum(amount) FROM accounts").await?, sum);
    assert_eq!(number(&client, "SELECT sum(amount) FROM journal").await?, -sum);
    Ok(())
}

#[tokio::test]
async fn of_equal_keys_at_the_same_time_one_goes_in() -> Result<()> {
    let server = server_with_accounts().await?;
    let won = Arc::new(AtomicU64::new(0));
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let (client, won) = (server.connect().await?, won.clone());
        writers.push(tokio::spawn(async move {
            for id in 100..110 {
                let insert = format!("INSERT INTO accounts VALUES ({id}, 1)");
                match client.execute(insert.as_str(), &[]).await {
                    Ok(_) => drop(won.fetch_add(1, Ordering::Relaxed)),
                    Err(error) => ensure!(error.code() == Some(&SqlState::UNIQUE_VIOLATION), "{error}"),
                }
            }
            Ok(())
        }));
    }
    for writer in writers {
        writer.await??;
    }
    assert_eq!(won.load(Ordering::Relaxed), 10);
    let client = server.connect().await?;
    assert_eq!(number(&client, "SELECT count(*) FROM accounts").await?, 13);
    Ok(())
}

/// A client adds to a counter, moves the row and deletes others until the server is killed under it. What was answered is
/// there afterwards; the change under way is there or not.
#[tokio::test]
async fn answered_changes_survive_a_kill() -> Result<()> {
    let mut server = server_with_accounts().await?;
    let client = server.connect().await?;
    let mut answered = 0;
    for round in 0..4 {
        let (client, done) = (server.connect().await?, Arc::new(AtomicU64::new(0)));
        let counting = done.clone();
        let writer = tokio::spawn(async move {
            loop {
                let script = "BEGIN; UPDATE accounts SET amount = amount + 1 WHERE id = 0;
                              DELETE FROM accounts WHERE id = 1;
                              INSERT INTO accounts SELECT 1, amount FROM accounts WHERE id = 0; COMMIT";
                if client.batch_execute(script).await.is_err() {
                    return;
                }
                counting.fetch_add(1, Ordering::SeqCst);
            }
        });
        while done.load(Ordering::SeqCst) < 5 + round {
            tokio::task::yield_now().await;
        }
        server.restart(1 + usize::try_from(round % 2)?)?;
        writer.await?;
        answered += i64::try_from(done.load(Ordering::SeqCst))?;
        let client = server.connect().await?;
        let seen = number(&client, "SELECT amount FROM accounts WHERE id = 0").await?;
        assert!(
            seen == answered || seen == answered + 1,
            "{seen} changes are there, {answered} were answered"
        );
        // The block is whole or not there at all.
        assert_eq!(
            number(&client, "SELECT amount FROM accounts WHERE id = 1").await?,
            seen
        );
        answered = seen;
        run(&client, "FLUSH").await?;
        assert_eq!(
            sorted(&client, "SELECT * FROM total").await?,
            [format!("{} 3", 2 * seen)]
        );
    }
    assert!(
        rows(&client, "SELECT 1").await.is_err(),
        "the first connection ended with the first kill"
    );
    Ok(())
}
