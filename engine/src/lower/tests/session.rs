//! Sessions under a watermark: what is final, what is late, what is forgotten, across restarts.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, TimestampMicrosecondArray, new_null_array};
use millpond_catalog::OutputMode;
use millpond_storage::ChangeBatch;

use crate::lower::tests::harness::{Harness, Random};
use crate::lower::tests::planner::{TIME, plan, test_schema};
use crate::lower::{LowerOptions, lower};

/// Rows of `(k, seconds)`.
fn rows(rows: &[(i32, i64)]) -> ChangeBatch {
    let schema = test_schema();
    let mut columns: Vec<ArrayRef> = schema
        .fields()
        .iter()
        .map(|field| new_null_array(field.data_type(), rows.len()))
        .collect();
    columns[0] = Arc::new(Int32Array::from_iter_values(rows.iter().map(|(k, _)| *k)));
    let times = rows.iter().map(|(_, seconds)| seconds * 1_000_000);
    columns[TIME] = Arc::new(TimestampMicrosecondArray::from_iter_values(times));
    ChangeBatch::insertions(RecordBatch::try_new(schema, columns).unwrap())
}

/// The watermark is ten seconds behind, the gap three seconds.
#[test]
fn sessions_close_once_and_are_forgotten() {
    let options = LowerOptions {
        output_mode: OutputMode::Append,
        ..LowerOptions::default()
    };
    for sql in [
        "SELECT k, window_end FROM e_session",
        "SELECT k, window_end, count(*) FROM e_session GROUP BY k, window_end",
    ] {
        for restarts in [false, true] {
            let mut random = Random::new(7);
            let mut harness = Harness::new(lower(&plan(sql), &options).unwrap(), 2);
            let mut step = |harness: &mut Harness, changes: &[(i32, i64)]| {
                let changes = rows(changes);
                harness.epoch(&|_| vec![changes.clone()], &mut random);
                if restarts {
                    let workers = 1 + harness.result.len() % 3;
                    harness.restart(workers);
                }
            };
            step(&mut harness, &[(1, 0), (1, 2), (2, 15)]);
            // W is 5 from here on: the session of 1 ended exactly there, so that a row may join it.
            step(&mut harness, &[(1, 5), (2, 19)]);
            assert!(harness.result.is_empty(), "{sql}");
            // W is 9: [0, 8] is final and out, and touching it is late.
            step(&mut harness, &[(1, 7), (3, 30)]);
            assert_eq!(harness.late, 1, "{sql}");
            let out: i64 = harness.result.values().sum();
            assert_eq!(out, if sql.contains("count") { 1 } else { 3 }, "{sql}");
            // W is 20: all but the session of 3 is final or forgotten.
            step(&mut harness, &[(4, 60)]);
            step(&mut harness, &[]);
            assert_eq!(harness.late, 1, "{sql}");
            assert!(harness.groups <= 2, "{sql}: {} rows are kept", harness.groups);
        }
    }
}
