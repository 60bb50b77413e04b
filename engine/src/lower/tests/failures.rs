//! Expressions that fail on some rows, results that cannot be represented, and the constants of an epoch.

use std::sync::Arc;

use arrow::array::{Int32Array, Int64Array, RecordBatch, StringArray, new_null_array};
use millpond_storage::ChangeBatch;

use crate::bound::Watermark;
use crate::epoch::{Epoch, OperatorContext};
use crate::error::Error;
use crate::expression::sqlstate;
use crate::lower::tests::harness::{Harness, Memory, Random, Rows, weighted};
use crate::lower::tests::planner::{E, T, plan, test_schema};
use crate::lower::{LowerOptions, lower};
use crate::oneoff::{OneoffOptions, execute};
use crate::operator::Output;

/// Rows with these values of k, s and x; the other columns are NULL.
fn rows(values: &[(i32, &str, i64)]) -> RecordBatch {
    let schema = test_schema();
    let mut columns: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| new_null_array(field.data_type(), values.len()))
        .collect();
    columns[0] = Arc::new(Int32Array::from_iter_values(values.iter().map(|row| row.0)));
    columns[1] = Arc::new(StringArray::from_iter_values(values.iter().map(|row| row.1)));
    columns[2] = Arc::new(Int64Array::from_iter_values(values.iter().map(|row| row.2)));
    RecordBatch::try_new(schema, columns).unwrap()
}

fn harness(sql: &str) -> Harness {
    Harness::new(lower(&plan(sql), &LowerOptions::default()).unwrap(), 2)
}

fn run(harness: &mut Harness, changes: ChangeBatch) {
    let changes = &changes;
    harness.epoch(&move |_| vec![changes.clone()], &mut Random::new(7));
}

fn result(rows: &[&str]) -> Rows {
    rows.iter().map(|row| ((*row).to_owned(), 1)).collect()
}

#[test]
fn a_row_that_fails_is_set_aside_and_the_others_go_on() {
    let mut view = harness("SELECT k, 10 / x AS q FROM t WHERE k > 0");
    let values = [
        (1, "", 5),
        (2, "", 0),
        (3, "", 2),
        (0, "", 0),
        (4, "", 0),
        (5, "", 1),
    ];
    run(&mut view, ChangeBatch::insertions(rows(&values)));
    assert_eq!(view.result, result(&["1 | 2", "3 | 5", "5 | 10"]));
    assert_eq!(view.bad_rows.len(), 2);
    let bad = view
        .bad_rows
        .iter()
        .find(|bad| bad.bytes.starts_with(b"{\"k\":2,"))
        .expect("the row as JSON");
    assert_eq!(
        (bad.position.as_str(), bad.error.as_str()),
        ("map0", "division by zero")
    );
    // Nothing of a failing row is in the result, so its retraction takes nothing away and is no news.
    run(&mut view, weighted(rows(&values), -1));
    assert_eq!(view.result, Rows::new());
    assert_eq!(view.bad_rows.len(), 2);
}

#[test]
fn a_guard_keeps_rows_from_failing() {
    let mut view = harness(
        "SELECT k, CASE WHEN x <> 0 THEN 10 / x END AS q FROM t WHERE x <> 0 AND 10 / x > 1 OR k = 9",
    );
    run(
        &mut view,
        ChangeBatch::insertions(rows(&[(1, "", 0), (2, "", 5), (9, "", 0)])),
    );
    assert_eq!(view.result, result(&["2 | 2", "9 | NULL"]));
    assert_eq!(view.bad_rows, []);
}

#[test]
fn on_error_fail_stops_with_the_sqlstate() {
    let cases = [
        ("SELECT 10 / x FROM t", "22012"),
        ("SELECT CAST(s AS INT) FROM t", "22P02"),
        ("SELECT x + 9223372036854775807 FROM t", "22003"),
        ("SELECT CAST(x + 3000000000 AS INT) FROM t", "22003"),
    ];
    for (sql, expected) in cases {
        let options = LowerOptions {
            fail_on_error: true,
            ..LowerOptions::default()
        };
        let dataflow = lower(&plan(sql), &options).unwrap();
        let crate::dataflow::NodeKind::Operator(spec) = &dataflow.root().kind else {
            panic!("{dataflow}")
        };
        let mut map = spec.build("map0").unwrap();
        let input = rows(&[(1, "12", 1), (1, "abc", 0), (1, "7", 1)])
            .project(&dataflow.inputs[0].projection)
            .unwrap();
        match map.push(0, ChangeBatch::insertions(input), &mut Output::default()) {
            Err(Error::User { sqlstate, .. }) => assert_eq!(sqlstate, expected, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn integers_do_not_wrap_in_one_off_queries_either() {
    let memory = Memory(vec![(T, vec![rows(&[(1, "", i64::MAX)])]), (E, vec![])]);
    let error = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(async {
            let stream = execute(
                plan("SELECT x + k FROM t"),
                Arc::new(memory),
                &OneoffOptions::default(),
            )
            .await
            .unwrap();
            futures::TryStreamExt::try_collect::<Vec<_>>(stream)
                .await
                .unwrap_err()
        });
    assert_eq!(sqlstate(&error), "22003");
    assert!(error.to_string().contains("bigint out of range"), "{error}");
}

#[test]
fn a_sum_out_of_range_is_set_aside_until_it_fits_again() {
    let mut view = harness("SELECT s, sum(k) AS total FROM t GROUP BY s");
    let (big, small) = (rows(&[(i32::MAX, "a", 0)]), rows(&[(1, "b", 0)]));
    run(&mut view, weighted(big.clone(), 1 << 33));
    assert_eq!((view.result.clone(), view.bad_rows.len()), (Rows::new(), 1));
    assert_eq!(view.bad_rows[0].error, "bigint out of range");
    run(&mut view, ChangeBatch::insertions(small));
    assert_eq!(view.result, result(&["b | 1"]));
    view.restart(3);
    run(&mut view, weighted(big.clone(), -(1 << 33) + 2));
    assert_eq!(view.result, result(&["a | 4294967294", "b | 1"]));
    run(&mut view, weighted(big, -2));
    assert_eq!(
        (view.result.clone(), view.bad_rows.len()),
        (result(&["b | 1"]), 1)
    );
}

#[test]
fn a_partition_that_cannot_be_computed_is_set_aside_until_it_can() {
    let mut view = harness(
        "SELECT s, sum(CAST(x AS DECIMAL(38,0)) * CAST('10000000000000000000' AS DECIMAL(20,0))) \
         OVER (PARTITION BY s) AS total FROM t",
    );
    let big = rows(&[(1, "a", i64::MAX)]);
    run(&mut view, weighted(big.clone(), 2));
    assert_eq!((view.result.clone(), view.bad_rows.len()), (Rows::new(), 1));
    let bad = &view.bad_rows[0];
    assert_eq!(
        (bad.position.as_str(), bad.bytes.as_slice(), bad.error.as_str()),
        (
            "recompute0",
            &b"{\"s\":\"a\"}"[..],
            "value overflows numeric format"
        )
    );
    run(&mut view, ChangeBatch::insertions(rows(&[(1, "b", 1)])));
    assert_eq!(view.result, result(&["b | 10000000000000000000"]));
    view.restart(3);
    run(&mut view, weighted(big.clone(), -1));
    assert_eq!(
        view.result,
        result(&[
            "a | 92233720368547758070000000000000000000",
            "b | 10000000000000000000"
        ])
    );
    run(&mut view, weighted(big, -1));
    assert_eq!(
        (view.result.clone(), view.bad_rows.len()),
        (result(&["b | 10000000000000000000"]), 1)
    );
}

#[test]
fn an_aggregate_of_nothing_has_one_row_from_the_first_epoch_on() {
    let mut view = harness("SELECT count(*), sum(x), max(s) FROM t");
    let nothing = ChangeBatch::insertions(rows(&[]));
    run(&mut view, nothing.clone());
    assert_eq!(view.result, result(&["0 | NULL | NULL"]));
    view.restart(4);
    run(&mut view, nothing);
    run(&mut view, ChangeBatch::insertions(rows(&[(1, "a", 7)])));
    assert_eq!(view.result, result(&["1 | 7 | a"]));
    view.restart(1);
    run(&mut view, weighted(rows(&[(1, "a", 7)]), -1));
    assert_eq!(view.result, result(&["0 | NULL | NULL"]));
}

#[test]
fn an_aggregate_of_nothing_that_is_computed_anew_has_one_row_too() {
    let mut view = harness("SELECT count(*), bit_or(x), array_agg(s ORDER BY s) FROM t");
    let nothing = ChangeBatch::insertions(rows(&[]));
    run(&mut view, nothing.clone());
    assert_eq!(view.result, result(&["0 | NULL | NULL"]));
    view.restart(4);
    run(&mut view, nothing);
    run(&mut view, ChangeBatch::insertions(rows(&[(1, "a", 7)])));
    assert_eq!(view.result, result(&["1 | 7 | [a]"]));
    view.restart(1);
    run(&mut view, weighted(rows(&[(1, "a", 7)]), -1));
    assert_eq!(view.result, result(&["0 | NULL | NULL"]));
}

#[test]
fn now_is_the_epochs_processing_time() {
    let dataflow = lower(
        &plan("SELECT k, processing_time() AS at FROM e"),
        &LowerOptions::default(),
    )
    .unwrap();
    let crate::dataflow::NodeKind::Operator(spec) = &dataflow.root().kind else {
        panic!("{dataflow}")
    };
    let (mut one, mut other) = (spec.build("map0").unwrap(), spec.build("map0").unwrap());
    let context = |time| OperatorContext {
        epoch: Epoch(0),
        processing_time_us: time,
        watermarks: [Watermark::default(); 2],
        worker: 0,
        workers: 2,
    };
    one.begin(&context(1_000_000)).unwrap();
    other.begin(&context(2_000_000)).unwrap();
    let input = rows(&[(1, "", 0)])
        .project(&dataflow.inputs[0].projection)
        .unwrap();
    let mut texts = Vec::new();
    for operator in [&mut one, &mut other] {
        let mut output = Output::default();
        operator
            .push(0, ChangeBatch::insertions(input.clone()), &mut output)
            .unwrap();
        texts.extend(crate::lower::tests::harness::texts(output.changes[0].rows()));
    }
    assert_eq!(texts, ["1 | 1970-01-01T00:00:01Z", "1 | 1970-01-01T00:00:02Z"]);
}
