//! What a change costs: each TPC-H query as a view over loaded tables, brought up to date after one row in a hundred of
//! each large table has changed, beside the same SELECT run once. The cost is the time of the view's epochs, from their trigger
//! to the visible result with all that they write; the tables' own commit would be there without the view.

use anyhow::{Context, Result};
use millpond_sqllogictest::query_set::QuerySet;
use millpond_sqllogictest::tpch;

use crate::wire::Wire;

/// Unless `MILLPOND_TPCH_SCALE` tells another; 1 is six million lines.
const SCALE: f64 = 0.2;
const ROWS_PER_COPY: usize = 100_000;
const WORKERS: usize = 2;
const CHANGES: usize = 5;
/// A view is up to date cheaply when it takes at most this share of the time of its SELECT.
const SHARE: f64 = 0.1;

pub fn run() -> Result<()> {
    let set = QuerySet::read("tpch")?;
    let wire = Wire::start(WORKERS)?;
    wire.run(&set.schema)?;
    let scale = match std::env::var("MILLPOND_TPCH_SCALE") {
        Ok(scale) => scale.parse().context("MILLPOND_TPCH_SCALE")?,
        Err(_) => SCALE,
    };
    for table in tpch::tables(scale) {
        let copy = format!("COPY {} FROM STDIN (DELIMITER '|')", table.name);
        for lines in table.rows.chunks(ROWS_PER_COPY) {
            wire.copy(&copy, lines)?;
        }
    }
    let mut alone = Vec::new();
    for change in 0..CHANGES {
        alone.push(changed(&wire, change)?);
    }
    println!(
        "scale {scale}: {:.0} lines, {WORKERS} workers; a change is of 1 % of the rows of each large table, median of \
         {CHANGES}. To write it to the tables takes {:.3} s without a view.\n",
        6e6 * scale,
        median(alone)
    );
    println!("| query | first result s | SELECT once s | COMMIT and FLUSH s | the view's epochs s | share |");
    println!("|---|---|---|---|---|---|");
    let mut cheap = 0;
    for (name, query) in &set.queries {
        let mut first = wire.run(&format!("CREATE STREAMING VIEW {name} AS {query}"))?;
        first += wire.run("FLUSH")?;
        let once = median((0..3).map(|_| wire.run(query)).collect::<Result<_>>()?);
        let epochs = |what: &str, after: f64| {
            let epochs = format!("FROM sys.query_progress WHERE name = '{name}' AND batch_id > {after}");
            wire.number(&format!("SELECT {what} {epochs}"))
        };
        let (mut whole, mut upkeep) = (Vec::new(), Vec::new());
        for change in 0..CHANGES {
            let last = epochs("max(batch_id)", -1.0)?;
            whole.push(changed(&wire, change)?);
            upkeep.push(epochs("coalesce(sum(trigger_execution_ms), 0)", last)? / 1e3);
        }
        let (whole, upkeep) = (median(whole), median(upkeep));
        cheap += usize::from(upkeep <= SHARE * once);
        println!(
            "| {name} | {first:.3} | {once:.3} | {whole:.3} | {upkeep:.3} | {:.0} % |",
            upkeep / once * 100.0
        );
        wire.run(&format!("DROP STREAMING VIEW {name}"))?;
    }
    println!(
        "\n{cheap} of {} at or below {:.0} %",
        set.queries.len(),
        SHARE * 100.0
    );
    Ok(())
}

/// The seconds from COMMIT of a change of one row in a hundred of each large table until the views have it.
fn changed(wire: &Wire, change: usize) -> Result<f64> {
    let residue = change * 7 + 1;
    // All become visible together.
    wire.run(&format!(
        "BEGIN;
         UPDATE lineitem SET l_quantity = 51 - l_quantity, l_shipdate = l_shipdate + 1
           WHERE l_orderkey / 32 % 100 = {residue};
         UPDATE orders SET o_totalprice = o_totalprice + 1, o_orderdate = o_orderdate - 1
           WHERE o_orderkey / 32 % 100 = {residue};
         UPDATE partsupp SET ps_availqty = 10000 - ps_availqty, ps_supplycost = 1001 - ps_supplycost
           WHERE ps_partkey % 100 = {residue};
         UPDATE part SET p_size = 51 - p_size WHERE p_partkey % 100 = {residue};
         UPDATE customer SET c_acctbal = 9000 - c_acctbal WHERE c_custkey % 100 = {residue};
         UPDATE supplier SET s_acctbal = 9000 - s_acctbal WHERE s_suppkey % 100 = {residue}"
    ))?;
    Ok(wire.run("COMMIT")? + wire.run("FLUSH")?)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
