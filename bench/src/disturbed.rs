//! What it costs when one row in a hundred is not as it should be: the same views over files without such rows and with them.

use anyhow::Result;
use millpond_engine::query::status::Totals;

use crate::stopwatch::{best, measure};
use crate::streaming_query::{Format, Input, Pond};
use crate::{files, nexmark, queries};

const BIDS: u64 = 5_000_000;
const FILES: u64 = 20;
const ROUNDS: usize = 3;
const EVERY: u64 = 100;
/// How many rows are not as they should be.
pub const DISTURBED: u64 = BIDS / EVERY;

pub struct Disturbance {
    pub name: &'static str,
    /// Headings of the rates without and with such rows.
    pub rates: [&'static str; 2],
    pub queries: &'static [&'static str],
    /// Appends the line of such a row.
    pub line: fn(u64, &mut String),
    /// Fails if a run without, or with, such rows did not meet as many as it must.
    pub check: fn(&Totals, bool) -> Result<()>,
}

impl Disturbance {
    pub fn run(&self) -> Result<()> {
        let (plain, disturbed) = (tempfile::tempdir()?, tempfile::tempdir()?);
        files::write_json(plain.path(), BIDS, FILES)?;
        files::write_json_with(disturbed.path(), BIDS, FILES, |number, text| {
            if number % EVERY == 0 {
                (self.line)(number, text);
            } else {
                nexmark::bid(number).write_json(text);
            }
        })?;
        let [without, with] = self.rates;
        println!(
            "{BIDS} bids in {FILES} files, 1 in {EVERY} {}; best of {ROUNDS} turns\n",
            self.name
        );
        println!(
            "| query | workers | {without} M rows/s | {with} M rows/s | more time | more processor time |"
        );
        println!("|---|---|---|---|---|---|");
        for name in self.queries {
            for workers in [1, 2] {
                let (mut without, mut with) = (Vec::new(), Vec::new());
                for _ in 0..ROUNDS {
                    for (folder, is_disturbed, spent) in
                        [(&plain, false, &mut without), (&disturbed, true, &mut with)]
                    {
                        let pond = Pond::start(workers)?;
                        let input = Input::Files(folder.path().to_owned(), Format::Json);
                        let (totals, time) =
                            measure(|| pond.run_with_late_rows(queries::find(name), &input))?;
                        pond.stop();
                        (self.check)(&totals, is_disturbed)?;
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
}
