//! What decoding costs: a file of bids through the file source on one thread, beside arrow-json over the same bytes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use millpond_engine::source::Source;

use crate::stopwatch::{best, measure};
use crate::streaming_query::{Format, Input, Pond};
use crate::{files, nexmark};

const BIDS: u64 = 500_000;
const ROUNDS: usize = 5;

pub fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bytes = files::write_json(folder.path(), BIDS, 1)?;
    println!(
        "{BIDS} bids of {} bytes; best of {ROUNDS} turns, by processor time\n",
        bytes / BIDS
    );
    println!("| columns | file source MB/s | M rows/s | arrow-json MB/s | ratio |\n|---|---|---|---|---|");
    let pond = Pond::start(1)?;
    for (name, projection) in [
        ("all", &[0, 1, 2, 3, 4, 5, 6][..]),
        ("auction, price, datetime", &[0, 2, 5]),
        ("auction, price", &[0, 2]),
        ("none", &[]),
    ] {
        let source = pond.open(&Input::Files(folder.path().to_owned(), Format::Json))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(measure(|| read(&source, projection))?.1);
            theirs.push(measure(|| read_arrow_json(&folder.path().join("bids-00000.json"), projection))?.1);
        }
        let (ours, theirs) = (best(&ours).processor, best(&theirs).processor);
        println!(
            "| {name} | {:.0} | {:.2} | {:.0} | {:.2} |",
            bytes as f64 / ours / 1e6,
            BIDS as f64 / ours / 1e6,
            bytes as f64 / theirs / 1e6,
            theirs / ours
        );
    }
    Ok(())
}

fn read(source: &Arc<dyn Source>, projection: &[usize]) -> Result<()> {
    let end = source.latest(0)?;
    let mut rows = 0;
    for slice in source.slices(&source.start(), &end, 1)? {
        let mut reader = source.open(&slice, projection)?;
        while let Some(batch) = reader.next()? {
            rows += batch.rows.num_rows() as u64;
        }
    }
    assert_eq!(rows, BIDS);
    Ok(())
}

fn read_arrow_json(path: &Path, projection: &[usize]) -> Result<()> {
    let schema = Arc::new(nexmark::schema().project(projection)?);
    let input = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut rows = 0;
    for batch in arrow::json::ReaderBuilder::new(schema)
        .with_batch_size(4096)
        .build(input)?
    {
        rows += batch?.num_rows() as u64;
    }
    assert_eq!(rows, BIDS);
    Ok(())
}
