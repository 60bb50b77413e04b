//! The rate source counts without gaps, also across a restart.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use millpond_catalog::SqlType;
use millpond_engine::source::{Limit, Position, Source};

use crate::memory_notes::{MemoryNotes, column, open, options};

const SECOND: i64 = 1_000_000;

fn read(source: &Arc<dyn Source>, from: &Position, to: &Position, workers: usize) -> Vec<(i64, i64)> {
    let mut rows = Vec::new();
    for slice in source.slices(from, to, workers).unwrap() {
        let mut reader = source.open(&slice, &[0, 1]).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            let times = batch.rows.column(0).as_primitive::<TimestampMicrosecondType>();
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

fn limit(now_us: i64) -> Limit<'static> {
    Limit {
        bytes: u64::MAX,
        columns: &[0],
        now_us,
    }
}

#[test]
fn values_have_no_gap_across_epochs_workers_and_restarts() {
    let notes = Arc::new(MemoryNotes::default());
    let columns = crate::default_columns("rate", &Vec::new()).unwrap().unwrap();
    let entries = [("rows_per_second", "30000")];
    let mut position = open("rate", &entries, &columns, &notes).unwrap().start();
    let mut rows = Vec::new();
    for (epoch, now) in [SECOND / 2, SECOND, SECOND, 3 * SECOND].into_iter().enumerate() {
        // Opened anew for each epoch, at another time than the first.
        let context = millpond_engine::source::SourceContext {
            notes: notes.clone(),
            now_us: now,
        };
        let source = crate::open_source("rate", &options(&entries), &columns, context).unwrap();
        let Some(to) = source.advance(&position, None, limit(now)).unwrap() else {
            assert_eq!(epoch, 2, "no time has passed only once");
            continue;
        };
        assert!(source.reached(&to, &source.latest(now).unwrap()));
        rows.extend(read(&source, &position, &to, epoch + 1));
        position = to;
    }
    let values: Vec<i64> = rows.iter().map(|(_, value)| *value).collect();
    assert_eq!(values, (0..=90_000).collect::<Vec<_>>());
    assert_eq!(rows[45_000].0, SECOND * 3 / 2);
}

#[test]
fn caps_and_cuts_are_kept() {
    let notes = Arc::new(MemoryNotes::default());
    let columns = crate::default_columns("rate", &Vec::new()).unwrap().unwrap();
    let source = open(
        "rate",
        &[("rowsPerSecond", "5")].map(|(_, v)| ("rows_per_second", v)),
        &columns,
        &notes,
    )
    .unwrap();
    let now = 100 * SECOND;
    let to = source
        .advance(
            &source.start(),
            None,
            Limit {
                bytes: 160,
                columns: &[0],
                now_us: now,
            },
        )
        .unwrap()
        .unwrap();
    assert_eq!(read(&source, &source.start(), &to, 3).len(), 10);
    let until = source.latest(SECOND).unwrap();
    let to = source
        .advance(&source.start(), Some(&until), limit(now))
        .unwrap()
        .unwrap();
    assert_eq!(read(&source, &source.start(), &to, 1).len(), 6);
    assert_eq!(source.advance(&to, Some(&until), limit(now)).unwrap(), None);
}

#[test]
fn partitions_are_slices_and_a_projection_may_be_empty() {
    let notes = Arc::new(MemoryNotes::default());
    let columns = [
        column("value", SqlType::Int8),
        column("timestamp", SqlType::TimestampTz),
    ];
    let source = open("rate", &[("num_partitions", "3")], &columns, &notes).unwrap();
    let to = source.latest(8 * SECOND).unwrap();
    let slices = source.slices(&source.start(), &to, 8).unwrap();
    assert_eq!(slices.len(), 3);
    let rows: usize = slices
        .iter()
        .map(|slice| {
            source
                .open(slice, &[])
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .rows
                .num_rows()
        })
        .sum();
    assert_eq!(rows, 9);
}

#[test]
fn other_columns_are_refused() {
    for columns in [
        vec![],
        vec![column("value", SqlType::Int4)],
        vec![column("page", SqlType::Text)],
    ] {
        let error = crate::validate("rate", &options(&[]), &columns).unwrap_err();
        assert!(error.hint().unwrap().contains("value bigint"), "{error}");
    }
}
