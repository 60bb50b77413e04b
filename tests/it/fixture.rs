//! Data directories of earlier builds are opened as they are: `fixtures/` has one of each version of the format.
//!
//! `MILLPOND_REWRITE=1` makes the one of the present version again. That is for the day on which the version changes, and
//! the old file stays.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use millpond_tests::{Server, ServerOptions, cell, number, run, sorted, workspace};

/// What stands in the directory's file `FORMAT`.
const VERSION: u32 = 1;

fn fixture(version: u32) -> PathBuf {
    workspace().join(format!("tests/fixtures/data-format-{version}.tar.gz"))
}

fn tar(arguments: &[&str]) -> Result<()> {
    let status = Command::new("tar").args(arguments).status().context("tar")?;
    ensure!(status.success(), "tar {arguments:?}");
    Ok(())
}

/// One of each kind of object, and queries in each state that lasts.
const OBJECTS: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, customer text NOT NULL DEFAULT 'nobody', amount numeric(10,2), CHECK (id > 0));
    CREATE STREAM clicks (page text, at timestamp, WATERMARK FOR at AS at - INTERVAL '1 minute');
    CREATE VIEW large AS SELECT id, amount FROM orders WHERE amount > 100;
    CREATE STREAMING VIEW totals AS SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer;
    CREATE STREAMING VIEW per_window AS SELECT window_start, page, count(*) AS n
        FROM tumble(clicks, at, INTERVAL '5 minutes') GROUP BY window_start, page EMIT ON WINDOW CLOSE;
    CREATE STREAMING VIEW named AS SELECT o.id, t.total FROM orders o JOIN totals t ON t.customer = o.customer;
    CREATE STREAMING VIEW ratios AS SELECT id, 100 / (id - 2) AS r FROM orders;
    CREATE STREAMING VIEW held WITH (trigger = '1 second') AS SELECT count(*) AS n FROM orders;
    INSERT INTO orders SELECT i, 'c' || i % 7, i * 1.25 FROM generate_series(1, 300) AS s (i);
    INSERT INTO clicks VALUES ('home', '2024-05-01 12:00:30'), ('home', '2024-05-01 12:01:00'), ('cart', '2024-05-01 12:07:00');
    FLUSH;
    ALTER STREAMING VIEW held PAUSE;
    CREATE STREAMING VIEW ended WITH (trigger = 'availableNow') AS SELECT count(*) AS n FROM orders;
    SELECT sys.await_termination('ended');
    UPDATE orders SET customer = 'big' WHERE id > 290;
    DELETE FROM orders WHERE id <= 10;
    FLUSH";

async fn make() -> Result<()> {
    let mut server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(&client, OBJECTS).await?;
    let ended = server.terminate(Duration::from_secs(20))?;
    ensure!(ended.status.success(), "{:?}", ended.status);
    let (file, data) = (fixture(VERSION), server.data_dir());
    std::fs::create_dir_all(file.parent().context("a folder")?)?;
    let (file, data) = (file.display().to_string(), data.display().to_string());
    tar(&["-czf", &file, "-C", &data, "--exclude=LOCK", "."])
}

#[tokio::test]
async fn data_of_every_version_of_the_format_is_opened_and_goes_on() -> Result<()> {
    if std::env::var_os("MILLPOND_REWRITE").is_some() {
        make().await?;
    }
    for version in 1..=VERSION {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        let (file, to) = (fixture(version).display().to_string(), data.display().to_string());
        tar(&["-xzf", &file, "-C", &to])?;
        opens(data).await.with_context(|| format!("format {version}"))?;
    }
    Ok(())
}

async fn opens(data: PathBuf) -> Result<()> {
    let server = Server::start(ServerOptions {
        data_dir: Some(data),
        ..ServerOptions::workers(4)
    })?;
    let client = server.connect().await?;
    run(&client, "FLUSH").await?;
    assert_eq!(number(&client, "SELECT count(*) FROM orders").await?, 290);
    let differences = "SELECT count(*) FROM (
        (SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer EXCEPT ALL SELECT * FROM totals)
        UNION ALL (SELECT * FROM totals EXCEPT ALL
                   SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer)) d";
    assert_eq!(number(&client, differences).await?, 0);
    let states = sorted(&client, "SELECT name, state FROM sys.queries").await?;
    assert_eq!(
        states,
        [
            "ended terminated",
            "held paused",
            "named running",
            "per_window running",
            "ratios running",
            "totals running"
        ]
    );
    assert_eq!(
        sorted(&client, "SELECT window_start, page, n FROM per_window").await?,
        ["2024-05-01 12:00:00 home 2"]
    );
    assert_eq!(number(&client, "SELECT n FROM ended").await?, 300);
    assert_eq!(number(&client, "SELECT n FROM held").await?, 300);
    assert_eq!(
        cell(&client, "SELECT error FROM sys.bad_rows WHERE query = 'ratios'").await?,
        "division by zero"
    );
    assert_eq!(number(&client, "SELECT count(*) FROM large").await?, 220);
    // It goes on where it was.
    run(
        &client,
        "ALTER STREAMING VIEW ended RESUME; ALTER STREAMING VIEW held RESUME;
         INSERT INTO orders VALUES (1000, 'big', 5);
         INSERT INTO clicks VALUES ('late', '2024-05-01 12:02:00'), ('home', '2024-05-01 12:20:00');
         FLUSH",
    )
    .await?;
    assert_eq!(number(&client, differences).await?, 0);
    assert_eq!(number(&client, "SELECT n FROM held").await?, 291);
    assert_eq!(number(&client, "SELECT count(*) FROM named").await?, 291);
    assert_eq!(
        sorted(&client, "SELECT window_start, page, n FROM per_window").await?,
        ["2024-05-01 12:00:00 home 2", "2024-05-01 12:05:00 cart 1"]
    );
    Ok(())
}
