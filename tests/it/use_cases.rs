//! The use cases in `examples/`, run by psql: each compares its views with a batch query over the rows that were not late.

use anyhow::{Context, Result};
use millpond_tests::{Server, ServerOptions, workspace};

/// What a script of `examples/` prints, without alignment.
fn printed(script: &str) -> Result<Vec<String>> {
    let server = Server::start(ServerOptions::workers(2))?;
    let mut command = server.psql();
    let script = format!("examples/{script}.sql");
    command
        .args(["-X", "-A", "-t", "-f", &script])
        .current_dir(workspace());
    let output = command
        .output()
        .context("psql is needed for this test: `make test` installs it (package postgresql-client)")?;
    let error = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{script}: {error}");
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .map(str::to_owned)
        .collect())
}

#[test]
fn etl_equals_a_batch_query() -> Result<()> {
    assert_eq!(printed("etl")?, ["2028|87914|4391992.50", "0"]);
    Ok(())
}

#[test]
fn planted_frauds_are_found_and_nobody_else() -> Result<()> {
    let expected = [
        "1001|many transactions|5|2024-01-01 00:51:00|2024-01-01 00:55:00",
        "1002|much money|7|2024-01-01 00:50:00|2024-01-01 00:56:00",
        "1003|many locations|10|2024-01-01 00:48:00|2024-01-01 00:57:00",
        "0",
    ];
    assert_eq!(printed("fraud")?, expected);
    Ok(())
}

#[test]
fn click_through_rates_equal_a_batch_query() -> Result<()> {
    assert_eq!(printed("ctr")?, ["216|21600|2469", "0"]);
    Ok(())
}
