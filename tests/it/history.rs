//! Work follows the change, not the history (S5): the same changes touch as many rows of state, and give as many rows of
//! output, after a short and after a long history.

use anyhow::Result;
use millpond_tests::{Server, ServerOptions, number, rows, run};

/// Groups have ten rows whatever the number of rows.
const VIEWS: [(&str, &str); 10] = [
    ("groups", "SELECT k, count(*) AS n, sum(v) AS s, max(v) AS m FROM t GROUP BY k"),
    ("total", "SELECT count(*) AS n, sum(v) AS s FROM t"),
    ("distinct_groups", "SELECT k, count(DISTINCT v % 3) AS n FROM t GROUP BY k"),
    ("inner_join", "SELECT t.id, t.v, d.name FROM t JOIN d ON t.k = d.k"),
    ("full_join", "SELECT t.id, d.name FROM t FULL JOIN d ON t.k = d.k AND t.v % 2 = 0"),
    ("semi_join", "SELECT name FROM d WHERE k IN (SELECT k FROM t WHERE v % 2 = 0)"),
    (
        "top_of_groups",
        "SELECT k, id, v FROM (SELECT k, id, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS n FROM t) AS q
         WHERE n <= 3",
    ),
    ("top", "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 10"),
    ("running", "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) AS s FROM t"),
    ("set_difference", "SELECT v FROM t EXCEPT SELECT k FROM d"),
];

#[tokio::test]
async fn work_follows_the_change() -> Result<()> {
    let (short, long) = (work_after(300).await?, work_after(30_000).await?);
    for (view, (short, long)) in short.iter().zip(&long).enumerate() {
        assert_eq!(short, long, "{} after 300 and after 30,000 rows", VIEWS[view].0);
    }
    Ok(())
}

/// Per view: rows of input, of state and of output of each of the same changes.
async fn work_after(count: i64) -> Result<Vec<Vec<Vec<Option<String>>>>> {
    let server = Server::start(ServerOptions::workers(2))?;
    let client = server.connect().await?;
    run(
        &client,
        &format!(
            "CREATE TABLE t (id bigint PRIMARY KEY, k bigint, v bigint);
             CREATE TABLE d (k bigint PRIMARY KEY, name text);
             INSERT INTO t SELECT i, i / 10, 1000000 + i FROM generate_series(0, {count} - 1) AS g(i);
             INSERT INTO d SELECT i, 'name ' || i FROM generate_series(0, {count} / 10 - 1) AS g(i)"
        ),
    )
    .await?;
    for (name, query) in VIEWS {
        run(&client, &format!("CREATE STREAMING VIEW {name} AS {query}")).await?;
    }
    run(&client, "FLUSH").await?;
    let mut before = Vec::new();
    for (name, _) in VIEWS {
        let last = format!("SELECT max(batch_id) FROM sys.query_progress WHERE name = '{name}'");
        before.push(number(&client, &last).await?);
    }
    for change in [
        "UPDATE t SET v = v + 1 WHERE id = 17",
        "INSERT INTO t VALUES (-1, 2, 5)",
        "DELETE FROM t WHERE id IN (21, 22)",
        "UPDATE d SET name = 'other' WHERE k = 3",
    ] {
        run(&client, change).await?;
        run(&client, "FLUSH").await?;
    }
    let mut work = Vec::new();
    for ((name, _), before) in VIEWS.iter().zip(before) {
        let epochs = format!(
            "SELECT num_input_rows, num_rows_updated, num_output_rows FROM sys.query_progress
             WHERE name = '{name}' AND batch_id > {before} ORDER BY batch_id"
        );
        work.push(rows(&client, &epochs).await?);
    }
    Ok(work)
}
