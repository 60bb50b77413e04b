//! A changed row must not cost more because there are many others: the same single changes after a short and a long history.

use anyhow::Result;

use crate::wire::Wire;

const HISTORIES: [u64; 3] = [10_000, 100_000, 1_000_000];
const CHANGES: u64 = 200;

const VIEWS: [(&str, &str); 5] = [
    ("group", "SELECT k, count(*) AS n, sum(v) AS s, max(v) AS m FROM t GROUP BY k"),
    ("total", "SELECT count(*) AS n, sum(v) AS s, max(v) AS m FROM t"),
    ("join", "SELECT t.id, t.v, d.name FROM t JOIN d ON t.k = d.k"),
    ("top", "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 10"),
    (
        "top of each group",
        "SELECT k, id, v FROM (SELECT k, id, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS n FROM t) AS q
         WHERE n <= 3",
    ),
];

pub fn run() -> Result<()> {
    println!("{CHANGES} times UPDATE of one row and FLUSH, 2 workers; groups have 10 rows at any size\n");
    println!("| view | rows before | ms for a change | of that for the shortest |");
    println!("|---|---|---|---|");
    for (name, query) in VIEWS {
        let mut shortest = None;
        for rows in HISTORIES {
            let wire = Wire::start(2)?;
            wire.run(&format!(
                "CREATE TABLE t (id bigint PRIMARY KEY, k bigint, v bigint);
                 CREATE TABLE d (k bigint PRIMARY KEY, name text);
                 INSERT INTO t SELECT i, i / 10, (i::bigint * 7919) % 1000003 FROM generate_series(0, {rows} - 1) AS g (i);
                 INSERT INTO d SELECT i, 'name ' || i FROM generate_series(0, {rows} / 10 - 1) AS g (i);
                 CREATE STREAMING VIEW v AS {query};
                 FLUSH"
            ))?;
            let mut seconds = 0.0;
            for change in 0..CHANGES {
                let id = change * 7919 % rows;
                wire.run(&format!("UPDATE t SET v = v + 1 WHERE id = {id}"))?;
                seconds += wire.run("FLUSH")?;
            }
            let each = seconds / CHANGES as f64 * 1e3;
            let shortest = *shortest.get_or_insert(each);
            println!("| {name} | {rows} | {each:.2} | {:.2} |", each / shortest);
        }
    }
    Ok(())
}
