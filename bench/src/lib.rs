//! Speed. `cargo run --release -p millpond-bench -- <suite>`; without a suite, all of them (`make bench`).
//!
//! Absolute figures drift between machines, so every figure stands beside that of DataFusion's one-off execution of the
//! same SELECT over the same data, taken in turns in the same process run.

mod bad_rows;
mod batch_query;
mod catch_up;
mod decode;
mod disturbed;
mod files;
mod history;
mod hopping;
mod late_rows;
mod latency;
mod memory_source;
mod nexmark;
mod nexmark_queries;
mod parquet_table;
mod queries;
mod stopwatch;
mod streaming_query;
mod throughput;
mod tpch;
mod wire;

use anyhow::{Result, bail};

/// Name, what it measures, and the code.
type Suite = (&'static str, &'static str, fn() -> Result<()>);

const SUITES: &[Suite] = &[
    (
        "decode",
        "JSON lines into columns on one thread, without the engine",
        decode::run,
    ),
    ("memory", "views over bids in memory", throughput::from_memory),
    ("json", "views over bids in JSON files", throughput::from_json),
    (
        "parquet",
        "views over bids in Parquet files",
        throughput::from_parquet,
    ),
    (
        "bad_rows",
        "what it costs when one row of a hundred cannot be decoded",
        bad_rows::run,
    ),
    (
        "hopping",
        "windows that slide by less and less of their size",
        hopping::run,
    ),
    (
        "late_rows",
        "what it costs when one row of a hundred is late",
        late_rows::run,
    ),
    (
        "catch_up",
        "peak memory of a view that catches up with 20 million bids",
        catch_up::run,
    ),
    (
        "nexmark",
        "the Nexmark queries as views of the real server",
        nexmark_queries::run,
    ),
    (
        "tpch",
        "the TPC-H queries brought up to date after a change of 1 %",
        tpch::run,
    ),
    (
        "history",
        "single changes after short and long histories",
        history::run,
    ),
    (
        "latency",
        "from INSERT's reply to the visible result, over the wire",
        latency::run,
    ),
];

/// Runs the suites named in `names`, or all of them.
pub fn run(names: Vec<String>) -> Result<()> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !SUITES.iter().any(|(suite, ..)| suite == name))
    {
        let suites: Vec<_> = SUITES
            .iter()
            .map(|(name, what, _)| format!("  {name:10} {what}"))
            .collect();
        bail!("unknown suite \"{unknown}\". Suites:\n{}", suites.join("\n"));
    }
    for (name, what, run) in SUITES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            println!("### {name}: {what}\n");
            run()?;
            println!();
        }
    }
    Ok(())
}
