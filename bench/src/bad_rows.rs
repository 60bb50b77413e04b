//! What rows that cannot be decoded cost: they are cut off in their middle.

use anyhow::{Result, ensure};

use crate::disturbed::{DISTURBED, Disturbance};
use crate::nexmark;

pub fn run() -> Result<()> {
    let bad = Disturbance {
        name: "cut off",
        rates: ["without", "with"],
        queries: &["P1", "T1"],
        line: |number, text| {
            nexmark::bid(number).write_json(text);
            text.truncate(text.len() / 2);
            text.push('\n');
        },
        check: |totals, is_disturbed| {
            let expected = if is_disturbed { DISTURBED } else { 0 };
            ensure!(
                totals.bad_rows == expected && totals.late_rows == 0,
                "{expected} bad rows expected: {totals:?}"
            );
            Ok(())
        },
    };
    bad.run()
}
