//! How much input there is that has not been read: what a query that gathers waits for.

use std::collections::BTreeSet;

use super::record::InputPosition;
use super::report;
use super::step::{QueryInput, ReadFrom};
use crate::error::Result;
use crate::progress::offsets_between;

/// Rows of relations, and offsets of sources as their connectors count them; an input that is read twice counts once.
pub(super) fn pending(inputs: &[QueryInput], positions: &[InputPosition], now_us: i64) -> Result<u64> {
    let mut counted = BTreeSet::new();
    let mut pending = 0;
    for (input, position) in inputs.iter().zip(positions) {
        if !counted.insert(input.object) {
            continue;
        }
        pending += match (&input.from, position) {
            (ReadFrom::Source(source), InputPosition::Source(at)) => {
                offsets_between(&at.0, &source.latest(now_us)?.0)
            }
            (ReadFrom::Relation(_) | ReadFrom::Source(_), _) => {
                report::latest(input, position, now_us).1.unwrap_or(0)
            }
        };
    }
    Ok(pending)
}
