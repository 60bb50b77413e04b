//! Values, expressions and aggregates compared with a real PostgreSQL: `MILLPOND_GENERATOR_SECONDS` (25) of expressions, at
//! most `MILLPOND_GENERATOR_CASES` (8000) of them, from `MILLPOND_SEED` (1), starting at `MILLPOND_GENERATOR_CASE` (0);
//! then a table that changes, with views over it.

use std::time::Duration;

use anyhow::{Result, ensure};
use millpond_sqllogictest::postgres::Postgres;
use millpond_sqllogictest::{setting, values};
use millpond_tests::{Server, ServerOptions};
use tokio_postgres::{Client, NoTls};

async fn connect(postgres: &Postgres) -> Result<Client> {
    let (client, connection) = postgres.config().connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::test]
async fn expressions_mean_what_they_mean_in_postgres() -> Result<()> {
    let seed = setting("MILLPOND_SEED", 1);
    let first = setting("MILLPOND_GENERATOR_CASE", 0);
    let cases = first..first + setting("MILLPOND_GENERATOR_CASES", 8000);
    let time = Duration::from_secs(setting("MILLPOND_GENERATOR_SECONDS", 25));
    let postgres = Postgres::start().await?;
    let server = Server::start(ServerOptions::workers(1))?;
    let report = values::run(
        &server.connect().await?,
        &connect(&postgres).await?,
        seed,
        cases,
        time,
    )
    .await?;
    println!(
        "MILLPOND_SEED={seed}: {} cases, {} with rows, {} refused, {} not compared",
        report.cases, report.rows, report.errors, report.skipped
    );
    ensure!(report.rows > 0, "a run without a comparison proves nothing");
    ensure!(
        report.differences.is_empty(),
        "MILLPOND_SEED={seed}: {} templates differ\n{}\n{}",
        report.differences.len(),
        report.explain(),
        server.log_tail()
    );
    Ok(())
}

#[tokio::test]
async fn views_over_changing_values_say_what_postgres_says() -> Result<()> {
    let seed = setting("MILLPOND_SEED", 1);
    let steps = setting("MILLPOND_VALUE_STEPS", 8);
    let postgres = Postgres::start().await?;
    let server = Server::start(ServerOptions::workers(2))?;
    let report = values::kept::run(&server.connect().await?, &connect(&postgres).await?, seed, steps).await?;
    println!("MILLPOND_SEED={seed}: {report:?}");
    ensure!(
        report.comparisons > 0,
        "a run without a comparison proves nothing"
    );
    Ok(())
}
