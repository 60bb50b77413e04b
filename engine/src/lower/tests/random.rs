//! Random changes in random epochs on random numbers of workers, with restarts: the view equals its SELECT run once.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::{concat_batches, take_record_batch};
use millpond_storage::ChangeBatch;

use crate::lower::tests::harness::{Harness, Memory, Random, run_once, weighted};
use crate::lower::tests::planner::{E, T, plan, test_schema};
use crate::lower::{LowerOptions, lower};

fn maybe<T>(random: &mut Random, value: impl Fn(&mut Random) -> T) -> Option<T> {
    (!random.chance(15)).then(|| value(random))
}

/// Few distinct values, so that groups collide, and all the awkward ones.
pub(super) fn random_rows(count: usize, times: std::ops::Range<i64>, random: &mut Random) -> RecordBatch {
    const FLOATS: [f64; 12] = [
        0.0,
        -0.0,
        0.1,
        0.2,
        0.3,
        1e16,
        -1e16,
        1e-20,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    const INTS: [i64; 8] = [0, 1, 2, 3, -1, 7, i64::MAX, i64::MIN];
    let mut column = |make: &dyn Fn(&mut Random) -> ArrayRef| make(random);
    let columns = vec![
        column(&|r| {
            Arc::new(Int32Array::from_iter(
                (0..count).map(|_| maybe(r, |r| r.below(4) as i32)),
            ))
        }),
        column(&|r| {
            let text = |r: &mut Random| ["a", "b", "a longer text", ""][r.below(4)];
            Arc::new(StringArray::from_iter((0..count).map(|_| maybe(r, text))))
        }),
        column(&|r| {
            Arc::new(Int64Array::from_iter(
                (0..count).map(|_| maybe(r, |r| INTS[r.below(8)])),
            ))
        }),
        column(&|r| {
            Arc::new(Float64Array::from_iter(
                (0..count).map(|_| maybe(r, |r| FLOATS[r.below(12)])),
            ))
        }),
        column(&|r| {
            let decimals = (0..count).map(|_| maybe(r, |r| r.below(1999) as i128 - 999));
            Arc::new(
                Decimal128Array::from_iter(decimals)
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            )
        }),
        column(&|r| {
            Arc::new(BooleanArray::from_iter(
                (0..count).map(|_| maybe(r, |r| r.chance(50))),
            ))
        }),
        column(&|r| {
            let times = (0..count).map(|_| {
                maybe(r, |r| {
                    times.start + r.below((times.end - times.start) as usize) as i64
                })
            });
            Arc::new(TimestampMicrosecondArray::from_iter(times))
        }),
    ];
    RecordBatch::try_new(test_schema(), columns).unwrap()
}

/// Removes some of the rows of `live`; what was removed.
fn remove_some(live: &mut RecordBatch, random: &mut Random) -> RecordBatch {
    let (removed, kept): (Vec<u32>, Vec<u32>) = (0..live.num_rows() as u32).partition(|_| random.chance(30));
    let out = take_record_batch(live, &UInt32Array::from(removed)).unwrap();
    *live = take_record_batch(live, &UInt32Array::from(kept)).unwrap();
    out
}

pub(super) fn check(sql: &str, seed: u64) {
    let mut random = Random::new(seed);
    let plan = plan(sql);
    let dataflow = lower(&plan, &LowerOptions::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut harness = Harness::new(dataflow, random.below(4) + 1);
    let mut live = RecordBatch::new_empty(test_schema());
    let mut appended = RecordBatch::new_empty(test_schema());
    for epoch in 0..8 {
        let mut changes = Vec::new();
        if random.chance(80) {
            let added = random_rows(random.below(40), -40_000_000..40_000_000, &mut random);
            live = concat_batches(&test_schema(), [&live, &added]).unwrap();
            changes.push(ChangeBatch::insertions(added));
        }
        if random.chance(60) {
            // May take back what this very epoch added, and comes first or last.
            let removed = remove_some(&mut live, &mut random);
            let position = random.below(changes.len() + 1);
            changes.insert(position, weighted(removed, -1));
        }
        if random.chance(10) {
            let removed = std::mem::replace(&mut live, RecordBatch::new_empty(test_schema()));
            changes.push(weighted(removed, -1));
        }
        // Within the delay, so that nothing is late.
        let new = random_rows(random.below(20), 100_000_000..110_000_000, &mut random);
        appended = concat_batches(&test_schema(), [&appended, &new]).unwrap();
        harness.epoch(
            &|object| {
                if object == T {
                    changes.clone()
                } else {
                    vec![ChangeBatch::insertions(new.clone())]
                }
            },
            &mut random,
        );
        let relations = Memory(vec![(T, vec![live.clone()]), (E, vec![appended.clone()])]);
        let expected = run_once(plan.clone(), relations);
        assert_eq!(harness.result, expected, "{sql}\nseed {seed}, epoch {epoch}");
        assert_eq!(harness.late, 0, "{sql}\nseed {seed}, epoch {epoch}");
        if random.chance(30) {
            harness.restart(random.below(4) + 1);
        }
    }
}

const QUERIES: &[&str] = &[
    "SELECT k, s, x + 1 AS y FROM t WHERE x < 5 AND s <> 'b'",
    "SELECT k, count(*), count(x), sum(x), avg(x), min(x), max(x) FROM t GROUP BY k",
    "SELECT count(*), sum(f), avg(f), min(f), max(f), sum(k), avg(k) FROM t",
    "SELECT s, count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT d), sum(d), avg(d) FROM t GROUP BY s",
    "SELECT DISTINCT k, s FROM t",
    "SELECT DISTINCT f FROM e",
    "SELECT f, count(*) FROM t GROUP BY f",
    "SELECT k, sum(x) FILTER (WHERE x > 1), count(*) FILTER (WHERE s = 'a') FROM t GROUP BY k HAVING count(*) > 2",
    "SELECT c, count(*) FROM (SELECT k, count(*) AS c FROM t GROUP BY k) GROUP BY c",
    "SELECT s, count(*), sum(k) FROM (SELECT k, s FROM t WHERE x > 0 UNION ALL SELECT k + 1, s FROM e) GROUP BY s",
    "SELECT window_start, window_end, k, count(*), sum(x) FROM t_tumble GROUP BY window_start, window_end, k",
    "SELECT window_start, count(*), max(s) FROM t_hop GROUP BY window_start",
    "SELECT window_end, s, sum(d) FROM t_odd WHERE k > 0 GROUP BY s, window_end",
    "SELECT window_start, count(*), min(x), max(x), sum(f) FROM e_odd GROUP BY window_start",
    "SELECT k, window_start FROM t_hop WHERE x > 0",
    "SELECT k, count(*) FROM t_hop GROUP BY k",
    "SELECT window_start, max(c) FROM (SELECT window_start, k, count(*) AS c FROM t_tumble GROUP BY window_start, k) \
     GROUP BY window_start",
    "SELECT window_start, max(c) FROM (SELECT window_start, k, count(*) AS c FROM e_hop GROUP BY window_start, k) \
     GROUP BY window_start",
    "SELECT w, count(*) FROM (SELECT named_struct('start', window_start, 'end', window_end) AS w, k FROM t_hop) \
     WHERE k < 3 GROUP BY w",
    "SELECT window_end, count(*) FROM e_hop WHERE window_start > ts - INTERVAL '3 seconds' GROUP BY window_end",
    "SELECT window_start, k FROM (SELECT window_start, k, count(*) AS c FROM t_tumble GROUP BY window_start, k) \
     WHERE window_start >= TIMESTAMP '1970-01-01 00:00:00' AND c > 1",
    "SELECT k, window_start, window_end, count(*), sum(x), min(s) FROM t_session GROUP BY k, window_start, window_end",
    "SELECT k, window_start, window_end, count(*), max(d) FROM e_session GROUP BY k, window_start, window_end",
    "SELECT s, x, window_end FROM t_session WHERE x > 0",
    "SELECT k, count(*), max(n) FROM (SELECT k, window_end, count(*) AS n FROM e_session WHERE k > 0 \
     GROUP BY k, window_end) GROUP BY k",
    "SELECT date_trunc('minute', window_start) AS m, count(*) FROM t_tumble GROUP BY 1",
    "SELECT window_start, max(window_end), count(*) FROM t_hop GROUP BY window_start",
    "SELECT v, count(*) FROM (SELECT unnest(make_array(k, k + 1, 7)) AS v FROM t) GROUP BY v",
    "SELECT s, unnest(make_array(x, k)) AS u, unnest(make_array(k)) AS w FROM t",
    "SELECT k, bool_and(b), bool_or(b), min(s), max(s), min(d), max(ts) FROM t GROUP BY k",
    "SELECT k, bool_and(b), bool_or(b), min(s), max(s), min(d), max(ts), min(b) FROM e GROUP BY k",
    "SELECT d, ts, b, count(*) FROM t GROUP BY d, ts, b",
    "SELECT make_array(k, 1) AS l, count(*) FROM t GROUP BY 1",
];

/// Joins: the operator's cost grows with the pairs, and so does the oracle's.
const JOINS: &[&str] = &[
    "SELECT t.k, t.s, e.x, e.f FROM t JOIN e ON t.k = e.k",
    "SELECT a.k, a.f, b.x FROM t a JOIN t b ON a.k = b.k AND a.s = b.s",
    "SELECT a.k, b.k AS bk FROM t a JOIN t b ON a.k = b.k + 1 AND a.x < b.x",
    "SELECT t.k, t.s, e.s AS es, e.d FROM t LEFT JOIN e ON t.k = e.k AND t.s = e.s",
    "SELECT t.k, t.x, e.x AS ex FROM t LEFT JOIN e ON t.k = e.k AND t.x > 1",
    "SELECT t.k, t.x, e.x AS ex FROM t LEFT JOIN e ON t.k = e.k AND e.x > t.x",
    "SELECT e.k, e.x, t.x AS tx, t.f FROM t RIGHT JOIN e ON t.k = e.k AND e.x > t.x",
    "SELECT e.k, e.s, t.s AS ts FROM t RIGHT JOIN e ON t.s = e.s AND t.d = e.d",
    "SELECT t.k, t.d, e.k AS ek, e.d AS ed FROM t FULL JOIN e ON t.k = e.k AND t.d = e.d",
    "SELECT t.k, t.x, e.k AS ek, e.x AS ex FROM t FULL JOIN e ON t.k = e.k AND t.x < e.x",
    "SELECT t.s, e.s AS es FROM t JOIN e ON t.s IS NOT DISTINCT FROM e.s WHERE t.k = 1",
    "SELECT t.s, e.k AS ek FROM t LEFT JOIN e ON (t.s IS NOT DISTINCT FROM e.s) AND t.k = e.k",
    "SELECT t.k, e.k AS ek FROM t CROSS JOIN e WHERE t.x = 1 AND e.x = 2",
    "SELECT t.k, e.k AS ek FROM t JOIN e ON t.x < e.x AND t.k > e.k",
    "SELECT t.k, t.x, e.k AS ek FROM t LEFT JOIN e ON t.x < e.x AND t.k > e.k",
    "SELECT t.x, e.x AS ex FROM t FULL JOIN e ON t.x < e.x",
    "SELECT a.k, count(*), sum(b.x) FROM t a LEFT JOIN t b ON a.k = b.k GROUP BY a.k",
    "SELECT a.k, b.s, c.d FROM t a JOIN t b ON a.k = b.k JOIN e c ON b.s = c.s AND c.k = a.k",
    "SELECT a.k, b.c, c.m FROM t a LEFT JOIN (SELECT k, count(*) AS c FROM t GROUP BY k) b ON a.k = b.k \
     LEFT JOIN (SELECT s, max(k) AS m FROM e GROUP BY s) c ON a.s = c.s AND b.c > c.m",
    "SELECT k, x FROM t WHERE EXISTS (SELECT 1 FROM e WHERE e.k = t.k)",
    "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = t.k AND e.x > t.x)",
    "SELECT k, x FROM t WHERE EXISTS (SELECT 1 FROM e WHERE e.x > t.x AND e.k = t.k)",
    "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = t.k AND e.s = t.s)",
    "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = 3 AND e.x = 7)",
    "SELECT k, s FROM t WHERE k IN (SELECT k FROM e WHERE x > 1)",
    "SELECT k, s FROM t WHERE x > 2 OR k IN (SELECT k FROM e WHERE x > 1)",
    "SELECT k, s FROM t WHERE x > 2 OR NOT EXISTS (SELECT 1 FROM e WHERE e.x > t.x AND e.k = t.k)",
    "SELECT k, x FROM t WHERE x = (SELECT max(x) FROM t)",
    "SELECT k, x, (SELECT max(x) FROM e WHERE e.k = t.k) AS m FROM t",
    "SELECT k, (SELECT count(*) FROM e WHERE e.k = t.k) AS c FROM t",
    "SELECT k FROM t WHERE (SELECT count(*) FROM e WHERE e.k = t.k AND e.x = 1) = 0",
    "SELECT k, c FROM t, LATERAL (SELECT count(*) AS c FROM e WHERE e.k = t.k)",
    "SELECT t.k, v.name FROM t JOIN (VALUES (1, 'one'), (2, 'two')) AS v (k, name) ON t.k = v.k",
    "SELECT 1 AS one, 'a' AS a",
    "SELECT column1 + 1 AS c FROM (VALUES (1), (2), (NULL)) UNION ALL SELECT x FROM e WHERE x < 3",
    "SELECT window_start, count(*) FROM (SELECT w.window_start, e.k FROM t_tumble w JOIN e ON w.k = e.k) GROUP BY 1",
    "SELECT k, s FROM t INTERSECT SELECT k, s FROM e",
    "SELECT k, s FROM t EXCEPT SELECT k, s FROM e",
];

#[test]
fn joins_equal_their_select_run_once() {
    for (i, sql) in JOINS.iter().enumerate() {
        for seed in 0..4 {
            check(sql, seed * 1000 + i as u64);
        }
    }
}

#[test]
fn views_equal_their_select_run_once() {
    for (i, sql) in QUERIES.iter().enumerate() {
        for seed in 0..3 {
            check(sql, seed * 1000 + i as u64);
        }
    }
}
