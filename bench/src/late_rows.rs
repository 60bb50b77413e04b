//! What late rows cost: the same view over files in which all rows are in time, and over those in which one in a hundred is an
//! hour late. A late row is dropped, and kept with all columns of its source.

use anyhow::{Result, ensure};

use crate::stopwatch::{best, measure};
use crate::streaming_query::{Format, Input, Pond};
use crate::{files, nexmark, queries};

const BIDS: u64 = 5_000_000;
const FILES: u64 = 20;
const ROUNDS: usize = 3;
const LATE_EVERY: u64 = 100;
const HOUR_US: i64 = 3_600_000_000;

pub fn run() -> Result<()> {
    let (in_time, late) = (tempfile::tempdir()?, tempfile::tempdir()?);
    files::write_json(in_time.path(), BIDS, FILES)?;
    files::write_json_with(late.path(), BIDS, FILES, |number, text| {
        let mut bid = nexmark::bid(number);
        if number % LATE_EVERY == 0 {
            bid.date_time_us -= HOUR_US;
        }
        bid.write_json(text);
    })?;
    println!("{BIDS} bids in {FILES} files, 1 in {LATE_EVERY} late; best of {ROUNDS} turns\n");
    println!(
        "| query | workers | in time M rows/s | with late rows M rows/s | more time | more processor time |"
    );
    println!("|---|---|---|---|---|---|");
    for name in ["T1", "T2", "D1"] {
        for workers in [1, 2] {
            let (mut without, mut with) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                for (folder, has_late, spent) in [(&in_time, false, &mut without), (&late, true, &mut with)] {
                    let pond = Pond::start(workers)?;
                    let input = Input::Files(folder.path().to_owned(), Format::Json);
                    let (read, time) = measure(|| pond.run_with_late_rows(queries::find(name), &input))?;
                    pond.stop();
                    // Before the first watermark nothing is late.
                    let most = BIDS / LATE_EVERY;
                    ensure!(
                        read.late_rows <= most && (read.late_rows > most / 2) == has_late,
                        "up to {most} late rows expected: {read:?}"
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
