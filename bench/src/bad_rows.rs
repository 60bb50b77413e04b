//! What rows that cannot be decoded cost: the same view over files without them and with one in a hundred.

use anyhow::{Result, ensure};

use crate::stopwatch::{best, measure};
use crate::streaming_query::{Format, Input, Pond};
use crate::{files, nexmark, queries};

const BIDS: u64 = 5_000_000;
const FILES: u64 = 20;
const ROUNDS: usize = 3;
/// One row in so many is cut off in its middle.
const BAD_EVERY: u64 = 100;

pub fn run() -> Result<()> {
    let (good, bad) = (tempfile::tempdir()?, tempfile::tempdir()?);
    files::write_json(good.path(), BIDS, FILES)?;
    files::write_json_with(bad.path(), BIDS, FILES, |number, text| {
        nexmark::bid(number).write_json(text);
        if number % BAD_EVERY == 0 {
            text.truncate(text.len() / 2);
            text.push('\n');
        }
    })?;
    println!("{BIDS} bids in {FILES} files, 1 in {BAD_EVERY} cut off; best of {ROUNDS} turns\n");
    println!("| query | workers | without M rows/s | with M rows/s | more time | more processor time |");
    println!("|---|---|---|---|---|---|");
    for name in ["P1", "T1"] {
        for workers in [1, 2] {
            let (mut without, mut with) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                for (folder, bad_rows, spent) in
                    [(&good, 0, &mut without), (&bad, BIDS / BAD_EVERY, &mut with)]
                {
                    let pond = Pond::start(workers)?;
                    let input = Input::Files(folder.path().to_owned(), Format::Json);
                    let (read, time) = measure(|| pond.run(queries::find(name), &input))?;
                    pond.stop();
                    ensure!(
                        read.bad_rows == bad_rows,
                        "{bad_rows} bad rows expected: {read:?}"
                    );
                    spent.push(time);
                }
            }
            let (without, with) = (best(&without), best(&with));
            println!(
                "| {name} | {workers} | {:.2} | {:.2} | {:.0} % | {:.0} % |",
                BIDS as f64 / without.wall / 1e6,
                BIDS as f64 / with.wall / 1e6,
                (with.wall / without.wall - 1.0) * 100.0,
                (with.processor / without.processor - 1.0) * 100.0
            );
        }
    }
    Ok(())
}
