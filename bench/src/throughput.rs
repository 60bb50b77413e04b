//! Rows per second of each query, or of those that `MILLPOND_BENCH_QUERIES` names (`T1,A1`), on one worker and on two.

use anyhow::{Result, ensure};

use crate::queries::QUERIES;
use crate::stopwatch::{best, measure};
use crate::streaming_query::{Format, Input, Pond};
use crate::{batch_query, files, memory_source};

const BIDS: u64 = 5_000_000;
const FILES: u64 = 20;
const ROUNDS: usize = 3;

pub fn from_memory() -> Result<()> {
    println!("{BIDS} bids in batches of 8192; best of {ROUNDS} turns\n");
    table(&Input::Memory(memory_source::bids(BIDS)))
}

pub fn from_json() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bytes = files::write_json(folder.path(), BIDS, FILES)?;
    println!(
        "{BIDS} bids in {FILES} files of {} MB; best of {ROUNDS} turns\n",
        bytes / FILES / 1_000_000
    );
    table(&Input::Files(folder.path().to_owned(), Format::Json))
}

pub fn from_parquet() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bytes = files::write_parquet(folder.path(), BIDS, FILES)?;
    println!(
        "{BIDS} bids in {FILES} files of {} MB; best of {ROUNDS} turns\n",
        bytes / FILES / 1_000_000
    );
    table(&Input::Files(folder.path().to_owned(), Format::Parquet))
}

fn table(input: &Input) -> Result<()> {
    println!(
        "| query | workers | Millpond M rows/s | DataFusion once M rows/s | ratio | ratio by processor time |"
    );
    println!("|---|---|---|---|---|---|");
    let wanted = std::env::var("MILLPOND_BENCH_QUERIES").unwrap_or_default();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.split(',').any(|wanted| wanted == name);
    for query in QUERIES.iter().filter(|query| is_wanted(query.name)) {
        for workers in [1, 2] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let pond = Pond::start(workers)?;
                let (read, spent) = measure(|| pond.run(query, input))?;
                pond.stop();
                ensure!(
                    read.input_rows == BIDS && read.bad_rows == 0,
                    "{} of {BIDS} rows: {read:?}",
                    query.name
                );
                ours.push(spent);
                theirs.push(measure(|| batch_query::run(query, input, workers))?.1);
            }
            let (ours, theirs) = (best(&ours), best(&theirs));
            let rate = |seconds: f64| BIDS as f64 / seconds / 1e6;
            println!(
                "| {} | {workers} | {:.2} | {:.2} | {:.2} | {:.2} |",
                query.name,
                rate(ours.wall),
                rate(theirs.wall),
                theirs.wall / ours.wall,
                theirs.processor / ours.processor
            );
        }
    }
    Ok(())
}
