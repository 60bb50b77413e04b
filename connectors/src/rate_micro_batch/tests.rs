//! The same rows in every run.

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};

use super::*;
use crate::memory_notes::{self, MemoryNotes};

const ANY: Limit<'_> = Limit {
    bytes: 1,
    columns: &[],
    now_us: 0,
};

fn source(entries: &[(&str, &str)]) -> Arc<dyn Source> {
    let notes = Arc::<MemoryNotes>::default();
    memory_notes::open("rate-micro-batch", entries, &rate::columns(), &notes).unwrap()
}

fn rows(source: &Arc<dyn Source>, from: &Position, to: &Position, workers: usize) -> Vec<(i64, i64)> {
    let mut rows = Vec::new();
    for slice in source.slices(from, to, workers).unwrap() {
        let mut reader = source.open(&slice, &[0, 1]).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            let times = batch
                .rows
                .column(0)
                .as_primitive::<TimestampMicrosecondType>()
                .clone();
            let values = batch.rows.column(1).as_primitive::<Int64Type>();
            rows.extend(
                times
                    .values()
                    .iter()
                    .copied()
                    .zip(values.values().iter().copied()),
            );
        }
    }
    rows
}

#[test]
fn a_batch_per_epoch_whatever_the_workers() {
    let source = source(&[
        ("rows_per_batch", "3"),
        ("start_timestamp", "-5"),
        ("advance_millis_per_batch", "10"),
    ]);
    let first = source.advance(&source.start(), None, ANY).unwrap().unwrap();
    let second = source.advance(&first, None, ANY).unwrap().unwrap();
    assert_eq!(
        rows(&source, &source.start(), &first, 1),
        [(-5_000, 0), (-5_000, 1), (-5_000, 2)]
    );
    for workers in [1, 2, 5] {
        assert_eq!(
            rows(&source, &first, &second, workers),
            [(5_000, 3), (5_000, 4), (5_000, 5)]
        );
        let both = rows(&source, &source.start(), &second, workers);
        assert_eq!(both.len(), 6);
        assert_eq!(both[3], (5_000, 3));
    }
    assert_eq!(source.latest(0).unwrap(), second);
    assert!(source.advance(&first, Some(&first), ANY).unwrap().is_none());
}

#[test]
fn rows_per_batch_has_to_be_said() {
    let error = validate(&Vec::new(), &rate::columns()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "option \"rows_per_batch\" is required for connector \"rate-micro-batch\""
    );
}
