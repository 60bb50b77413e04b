//! How much memory a new view takes to catch up with a long history.

use anyhow::{Result, ensure};

use crate::stopwatch::{measure, peak_memory, reset_peak_memory};
use crate::streaming_query::{Format, Input, Pond};
use crate::{files, queries};

const BIDS: u64 = 20_000_000;
const FILES: u64 = 40;

pub fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bytes = files::write_json(folder.path(), BIDS, FILES)?;
    println!(
        "{BIDS} bids in {FILES} files, {} MB in all, on 2 workers\n",
        bytes / 1_000_000
    );
    println!("| query | peak memory MB | M rows/s |\n|---|---|---|");
    let input = Input::Files(folder.path().to_owned(), Format::Json);
    for name in ["P0", "T1", "T2", "A1"] {
        let pond = Pond::start(2)?;
        reset_peak_memory()?;
        let (read, spent) = measure(|| pond.run(queries::find(name), &input))?;
        let peak = peak_memory()?;
        pond.stop();
        ensure!(
            read.input_rows == BIDS && read.bad_rows == 0,
            "{name} of {BIDS} rows: {read:?}"
        );
        println!(
            "| {name} | {:.0} | {:.2} |",
            peak as f64 / 1e6,
            BIDS as f64 / spent.wall / 1e6
        );
    }
    Ok(())
}
