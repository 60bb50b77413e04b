//! Watermarks: which rows are late, which windows are freed, and what comes out when they are final. The model keeps every
//! (row, window) pair that was not late and groups them once.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
use millpond_catalog::OutputMode;
use millpond_storage::ChangeBatch;

use crate::lower::tests::harness::{Harness, Random, Rows};
use crate::lower::tests::planner::{TIME, plan};
use crate::lower::tests::random::random_rows;
use crate::lower::{LowerOptions, lower};

const SECOND: i64 = 1_000_000;

/// Window start and k.
type GroupKey = (i64, Option<i32>);

#[derive(Default)]
struct Model {
    /// Count and sum of x by window start and k.
    groups: BTreeMap<GroupKey, (i64, Option<i128>)>,
    late: u64,
    null_time: u64,
}

impl Model {
    fn add(&mut self, rows: &RecordBatch, rule: (i64, i64, i64), watermark: Option<i64>) {
        let (size, slide, offset) = (rule.0 * SECOND, rule.1 * SECOND, rule.2 * SECOND);
        let keys = rows.column(0).as_primitive::<Int32Type>();
        let values = rows.column(2).as_primitive::<Int64Type>();
        let times = rows.column(TIME).as_primitive::<TimestampMicrosecondType>();
        for row in 0..rows.num_rows() {
            if times.is_null(row) {
                self.null_time += 1;
                continue;
            }
            let time = times.value(row);
            let latest = (time - offset).div_euclid(slide) * slide + offset;
            let windows = (0..)
                .map(|k| latest - k * slide)
                .take_while(|start| start + size > time);
            let open: Vec<i64> = windows
                .filter(|start| watermark.is_none_or(|w| start + size > w))
                .collect();
            self.late += u64::from(open.is_empty());
            for start in open {
                let key = keys.is_valid(row).then(|| keys.value(row));
                let (count, sum) = self.groups.entry((start, key)).or_default();
                *count += 1;
                if values.is_valid(row) {
                    *sum = Some(sum.unwrap_or(0) + i128::from(values.value(row)));
                }
            }
        }
    }

    fn rows(&self, is_out: impl Fn(i64) -> bool) -> Rows {
        let text = |group: (&GroupKey, &(i64, Option<i128>))| {
            let ((start, key), (count, sum)) = group;
            let start = chrono::DateTime::from_timestamp_micros(*start)
                .unwrap()
                .naive_utc();
            let start = start.format("%Y-%m-%dT%H:%M:%S");
            let key = key.map_or("NULL".to_owned(), |key| key.to_string());
            let sum = sum.map_or("NULL".to_owned(), |sum| sum.to_string());
            format!("{start} | {key} | {count} | {sum}")
        };
        let groups = self.groups.iter().filter(|((start, _), _)| is_out(*start));
        groups.map(|group| (text(group), 1)).collect()
    }
}

fn check(table: &str, rule: (i64, i64, i64), output_mode: OutputMode, seed: u64) {
    let sql = format!("SELECT window_start, k, count(*), sum(x) FROM {table} GROUP BY window_start, k");
    check_query(&sql, rule, output_mode, seed, true);
}

/// `counts_groups`: the operators keep groups, of which the model knows the number, not rows.
fn check_query(sql: &str, rule: (i64, i64, i64), output_mode: OutputMode, seed: u64, counts_groups: bool) {
    let mut random = Random::new(seed);
    let dataflow = lower(
        &plan(sql),
        &LowerOptions {
            output_mode,
            fail_on_error: false,
            ..LowerOptions::default()
        },
    )
    .unwrap();
    let mut harness = Harness::new(dataflow, random.below(4) + 1);
    let mut model = Model::default();
    let mut base = -50 * SECOND;
    for epoch in 0..30 {
        let case = format!("{sql} {output_mode:?}, seed {seed}, epoch {epoch}");
        base += random.below(8) as i64 * SECOND;
        let count = if random.chance(20) {
            0
        } else {
            random.below(29) + 1
        };
        // Up to twice the delay behind, so that some rows are late.
        let rows = random_rows(count, base - 20 * SECOND..base, &mut random);
        harness.epoch(&|_| vec![ChangeBatch::insertions(rows.clone())], &mut random);
        let watermark = harness.watermark();
        model.add(
            &rows,
            rule,
            watermark.filter(|_| output_mode != OutputMode::Complete),
        );
        let is_final = |start: i64| watermark.is_some_and(|w| start + rule.0 * SECOND <= w);
        let expected = model.rows(|start| output_mode != OutputMode::Append || is_final(start));
        assert_eq!(harness.result, expected, "{case}");
        assert_eq!(
            (harness.late, harness.null_time),
            (model.late, model.null_time),
            "{case}"
        );
        let open = model
            .groups
            .keys()
            .filter(|(start, _)| output_mode == OutputMode::Complete || !is_final(*start));
        let open = open.count() as u64;
        let kept = (harness.groups, harness.groups == 0);
        // Of windows that come out from the one before, steps are kept.
        let steps = output_mode == OutputMode::Append && rule.0 > rule.1;
        let expected = if counts_groups && !steps { open } else { kept.0 };
        assert_eq!(kept, (expected, open == 0), "{case}: only open windows are kept");
        if random.chance(30) {
            harness.restart(random.below(4) + 1);
        }
    }
    assert!(
        output_mode == OutputMode::Complete || model.late > 0,
        "the test has late rows"
    );
}

#[test]
fn windows_close_and_late_rows_are_counted() {
    for mode in [OutputMode::Update, OutputMode::Append, OutputMode::Complete] {
        for (table, rule) in [
            ("e_tumble", (10, 10, 0)),
            ("e_hop", (10, 5, 0)),
            ("e_odd", (7, 3, 1)),
        ] {
            for seed in 0..8 {
                check(table, rule, mode, seed);
            }
        }
    }
}

#[test]
fn expanded_windows_close_alike_and_count_input_rows() {
    // The predicate mixes row and window, so windows are assigned row by row before the aggregation; it is always true.
    let from = "(SELECT * FROM e_odd WHERE window_start <= ts) AS e_odd";
    for mode in [OutputMode::Update, OutputMode::Append] {
        for seed in 0..8 {
            check(from, (7, 3, 1), mode, seed);
        }
    }
}

#[test]
fn windows_that_are_computed_anew_close_alike() {
    let aggregate = "SELECT window_start, k, count(*), sum(x) FROM e_odd GROUP BY window_start, k \
                     HAVING k IS NULL OR bit_or(k) = k";
    let ranked = |bound: &str| {
        format!(
            "SELECT window_start, k, n, s FROM (SELECT window_start, k, n, s, \
             row_number() OVER (PARTITION BY window_start ORDER BY k) AS r FROM \
             (SELECT window_start, k, count(*) AS n, sum(x) AS s FROM e_odd GROUP BY window_start, k)) WHERE {bound}"
        )
    };
    for mode in [OutputMode::Update, OutputMode::Append, OutputMode::Complete] {
        for seed in 0..6 {
            check_query(aggregate, (7, 3, 1), mode, seed, false);
            check_query(&ranked("r >= 1"), (7, 3, 1), mode, seed, false);
            check_query(&ranked("r <= 100"), (7, 3, 1), mode, seed, false);
        }
    }
}
