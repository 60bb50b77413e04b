//! What rows cost that are an hour late: each is dropped, and kept with all columns of its source.

use anyhow::{Result, ensure};

use crate::disturbed::{DISTURBED, Disturbance};
use crate::nexmark;

const HOUR_US: i64 = 3_600_000_000;

pub fn run() -> Result<()> {
    let late = Disturbance {
        name: "late",
        rates: ["in time", "with late rows"],
        queries: &["T1", "T2", "D1"],
        line: |number, text| {
            let mut bid = nexmark::bid(number);
            bid.date_time_us -= HOUR_US;
            bid.write_json(text);
        },
        check: |totals, is_disturbed| {
            // Before the first watermark nothing is late.
            ensure!(
                totals.late_rows <= DISTURBED && (totals.late_rows > DISTURBED / 2) == is_disturbed,
                "up to {DISTURBED} late rows expected: {totals:?}"
            );
            Ok(())
        },
    };
    late.run()
}
