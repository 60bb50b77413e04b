//! Windows of ten seconds that slide by ten seconds, one, and a tenth: what a row costs that is in one window, ten, a hundred.

use anyhow::{Result, ensure};

use crate::memory_source;
use crate::queries::Query;
use crate::stopwatch::{best, measure};
use crate::streaming_query::{Input, Pond};

const BIDS: u64 = 5_000_000;
const ROUNDS: usize = 3;

const fn counted(name: &'static str, view: &'static str) -> Query {
    Query {
        name,
        options: "WITH (output_mode = 'append')",
        view,
        batch: "",
    }
}

/// All bids together, so that what comes out is little, and by a hundred keys.
const QUERIES: [Query; 6] = [
    counted(
        "10 s",
        "SELECT window_start, count(*) AS n, sum(price) AS total \
         FROM hop(bid, datetime, INTERVAL '10 seconds', INTERVAL '10 seconds') GROUP BY window_start",
    ),
    counted(
        "1 s",
        "SELECT window_start, count(*) AS n, sum(price) AS total \
         FROM hop(bid, datetime, INTERVAL '1 second', INTERVAL '10 seconds') GROUP BY window_start",
    ),
    counted(
        "100 ms",
        "SELECT window_start, count(*) AS n, sum(price) AS total \
         FROM hop(bid, datetime, INTERVAL '100 milliseconds', INTERVAL '10 seconds') GROUP BY window_start",
    ),
    counted(
        "10 s, per auction % 100",
        "SELECT window_start, auction % 100 AS a, count(*) AS n, sum(price) AS total \
         FROM hop(bid, datetime, INTERVAL '10 seconds', INTERVAL '10 seconds') GROUP BY window_start, auction % 100",
    ),
    counted(
        "1 s, per auction % 100",
        "SELECT window_start, auction % 100 AS a, count(*) AS n, sum(price) AS total \
         FROM hop(bid, datetime, INTERVAL '1 second', INTERVAL '10 seconds') GROUP BY window_start, auction % 100",
    ),
    counted(
        "100 ms, per auction % 100",
        "SELECT window_start, auction % 100 AS a, count(*) AS n, sum(price) AS total \
         FROM hop(bid, datetime, INTERVAL '100 milliseconds', INTERVAL '10 seconds') GROUP BY window_start, auction % 100",
    ),
];

pub fn run() -> Result<()> {
    let input = Input::Memory(memory_source::bids(BIDS));
    println!("{BIDS} bids in batches of 8192, windows of 10 seconds; best of {ROUNDS} turns\n");
    println!("| slide | workers | M rows/s | time by that of the first slide |");
    println!("|---|---|---|---|");
    for queries in QUERIES.chunks(3) {
        for workers in [1, 2] {
            let mut first = None;
            for query in queries {
                let mut spent = Vec::new();
                for _ in 0..ROUNDS {
                    let pond = Pond::start(workers)?;
                    let (read, time) = measure(|| pond.run(query, &input))?;
                    pond.stop();
                    ensure!(read.input_rows == BIDS, "{} of {BIDS} rows: {read:?}", query.name);
                    spent.push(time);
                }
                let wall = best(&spent).wall;
                let first = *first.get_or_insert(wall);
                println!(
                    "| {} | {workers} | {:.2} | {:.2} |",
                    query.name,
                    BIDS as f64 / wall / 1e6,
                    wall / first
                );
            }
        }
    }
    Ok(())
}
