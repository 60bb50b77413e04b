//! Joins of streams with bounds between their times, against pairs of rows tried one by one: rows come in any order, some
//! late; the model keeps those that are not and joins them anew after every epoch.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
use millpond_catalog::OutputMode;
use millpond_storage::ChangeBatch;

use crate::lower::tests::harness::{Harness, Memory, Random, Rows, run_once};
use crate::lower::tests::planner::{DELAY_US, E, G, G_DELAY_US, TIME, plan};
use crate::lower::tests::random::random_rows;
use crate::lower::{LowerOptions, lower};

const SECOND: i64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
}

const KINDS: [Kind; 6] = [
    Kind::Inner,
    Kind::Left,
    Kind::Right,
    Kind::Full,
    Kind::Semi,
    Kind::Anti,
];

/// What a condition says about the right time minus the left one, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Condition {
    sql: &'static str,
    least: Option<i64>,
    most: Option<i64>,
}

const CONDITIONS: [Condition; 5] = [
    Condition {
        sql: "g.ts BETWEEN e.ts - INTERVAL '2 seconds' AND e.ts + INTERVAL '5 seconds'",
        least: Some(-2 * SECOND),
        most: Some(5 * SECOND),
    },
    Condition {
        sql: "e.ts < g.ts AND g.ts - INTERVAL '4 seconds' < e.ts",
        least: Some(1),
        most: Some(4 * SECOND - 1),
    },
    Condition {
        sql: "e.ts - INTERVAL '3 seconds' = g.ts",
        least: Some(-3 * SECOND),
        most: Some(-3 * SECOND),
    },
    Condition {
        sql: "g.ts <= INTERVAL '1 second' + e.ts",
        least: None,
        most: Some(SECOND),
    },
    Condition {
        sql: "e.ts <= g.ts + INTERVAL '1 second'",
        least: Some(-SECOND),
        most: None,
    },
];

#[derive(Debug, Clone, PartialEq)]
struct Row {
    k: Option<i32>,
    x: Option<i64>,
    ts: Option<i64>,
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let keys = batch.column(0).as_primitive::<Int32Type>();
    let values = batch.column(2).as_primitive::<Int64Type>();
    let times = batch.column(TIME).as_primitive::<TimestampMicrosecondType>();
    (0..batch.num_rows())
        .map(|row| Row {
            k: keys.is_valid(row).then(|| keys.value(row)),
            x: values.is_valid(row).then(|| values.value(row)),
            ts: times.is_valid(row).then(|| times.value(row)),
        })
        .collect()
}

fn sql(kind: Kind, condition: &str) -> String {
    match kind {
        Kind::Semi | Kind::Anti => {
            let not = if kind == Kind::Anti { "NOT " } else { "" };
            format!(
                "SELECT e.k, e.x FROM e WHERE {not}EXISTS (SELECT 1 FROM g WHERE e.k = g.k AND {condition})"
            )
        }
        _ => format!("SELECT e.k, e.x, g.x FROM e {kind:?} JOIN g ON e.k = g.k AND {condition}"),
    }
}

struct Model {
    kind: Kind,
    condition: Condition,
    sides: [Vec<Row>; 2],
    late: u64,
}

impl Model {
    /// Whether rows of a side that come after its watermark are dropped: the other side forgets by it.
    fn drops_late(&self, side: usize, append: bool) -> bool {
        let (least, most) = (self.condition.least.is_some(), self.condition.most.is_some());
        let alone = |side: usize| match self.kind {
            Kind::Inner => false,
            Kind::Left | Kind::Anti => side == 0,
            Kind::Semi => side == 0,
            Kind::Right => side == 1,
            Kind::Full => true,
        };
        let becomes_final = |side: usize| if side == 0 { most } else { least };
        let frees = |side: usize| becomes_final(side) && (!alone(1 - side) || (least && most));
        let defers = |side: usize| append && alone(side) && self.kind != Kind::Semi;
        frees(1 - side) || defers(1 - side)
    }

    fn add(&mut self, side: usize, rows: Vec<Row>, watermark: Option<i64>, append: bool) {
        let below = watermark.filter(|_| self.drops_late(side, append));
        for row in rows {
            if row.ts.zip(below).is_some_and(|(ts, below)| ts < below) {
                self.late += 1;
            } else {
                self.sides[side].push(row);
            }
        }
    }

    fn matches(&self, l: &Row, r: &Row) -> bool {
        let distance = r.ts.zip(l.ts).map(|(r, l)| r - l);
        l.k.is_some()
            && l.k == r.k
            && distance.is_some_and(|distance| {
                self.condition.least.is_none_or(|least| distance >= least)
                    && self.condition.most.is_none_or(|most| distance <= most)
            })
    }

    /// The join of all rows; with watermarks, rows without a match only where none can come.
    fn join(&self, final_by: Option<[Option<i64>; 2]>) -> Rows {
        let [left, right] = &self.sides;
        let is_final = |side: usize, row: &Row| {
            let (Some(watermarks), Some(_), Some(ts)) = (final_by, row.k, row.ts) else {
                return true;
            };
            let other = watermarks[1 - side];
            match side {
                0 => other.is_some_and(|other| ts < other - self.condition.most.unwrap()),
                _ => other.is_some_and(|other| ts < other + self.condition.least.unwrap()),
            }
        };
        let number = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
        let key = |row: &Row| number(row.k.map(i64::from));
        let mut rows = Rows::new();
        let mut out = |text: String| *rows.entry(text).or_default() += 1;
        for l in left {
            let partners: Vec<&Row> = right.iter().filter(|r| self.matches(l, r)).collect();
            match self.kind {
                Kind::Semi if !partners.is_empty() => out(format!("{} | {}", key(l), number(l.x))),
                Kind::Anti if partners.is_empty() && is_final(0, l) => {
                    out(format!("{} | {}", key(l), number(l.x)));
                }
                Kind::Semi | Kind::Anti => {}
                _ => {
                    for r in &partners {
                        out(format!("{} | {} | {}", key(l), number(l.x), number(r.x)));
                    }
                }
            }
            if matches!(self.kind, Kind::Left | Kind::Full) && partners.is_empty() && is_final(0, l) {
                out(format!("{} | {} | NULL", key(l), number(l.x)));
            }
        }
        if matches!(self.kind, Kind::Right | Kind::Full) {
            for r in right {
                if !left.iter().any(|l| self.matches(l, r)) && is_final(1, r) {
                    out(format!("NULL | NULL | {}", number(r.x)));
                }
            }
        }
        rows
    }
}

/// Both streams move on at their own pace; every now and then the server is gone.
fn check(kind: Kind, condition: Condition, output_mode: OutputMode, seed: u64) {
    let append = output_mode == OutputMode::Append;
    let sql = sql(kind, condition.sql);
    let options = LowerOptions {
        output_mode,
        fail_on_error: false,
        ..LowerOptions::default()
    };
    let Ok(dataflow) = lower(&plan(&sql), &options) else {
        let needed = match kind {
            Kind::Left | Kind::Anti => condition.most,
            Kind::Right => condition.least,
            Kind::Full => condition.most.and(condition.least),
            Kind::Inner | Kind::Semi => panic!("{sql} was refused"),
        };
        assert!(append && needed.is_none(), "{sql} was refused");
        return;
    };
    let mut random = Random::new(seed);
    let mut harness = Harness::new(dataflow, random.below(4) + 1);
    let mut model = Model {
        kind,
        condition,
        sides: [Vec::new(), Vec::new()],
        late: 0,
    };
    let mut bases = [0, 0];
    for epoch in 0..25 {
        let mut inputs: Vec<RecordBatch> = Vec::new();
        for base in &mut bases {
            *base += random.below(6) as i64 * SECOND;
            let count = if random.chance(30) {
                0
            } else {
                random.below(12) + 1
            };
            // Whole and half seconds, so that bounds are met exactly.
            let rows = random_rows(
                count,
                *base / SECOND * 2 - 36..*base / SECOND * 2 + 1,
                &mut random,
            );
            inputs.push(on_half_seconds(&rows));
        }
        let changes = |object| {
            let side = usize::from(object == G);
            vec![ChangeBatch::insertions(inputs[side].clone())]
        };
        harness.epoch(&changes, &mut random);
        let watermarks = harness.watermarks_of([E, G]);
        for side in [0, 1] {
            model.add(side, rows_of(&inputs[side]), watermarks[side], append);
        }
        let case = format!("{sql} {output_mode:?}, seed {seed}, epoch {epoch}");
        assert_eq!(harness.result, model.join(append.then_some(watermarks)), "{case}");
        assert_eq!(harness.late, model.late, "{case}");
        if random.chance(30) {
            harness.restart(random.below(4) + 1);
        }
    }
    // Far ahead nothing is kept, where both sides are bounded.
    if condition.least.is_some() && condition.most.is_some() {
        for _ in 0..3 {
            let far = random_rows(4, 100_000..100_001, &mut random);
            harness.epoch(
                &|_| vec![ChangeBatch::insertions(on_half_seconds(&far))],
                &mut random,
            );
        }
        assert!(harness.groups <= 24, "{sql}: {} rows are kept", harness.groups);
    }
}

fn on_half_seconds(rows: &RecordBatch) -> RecordBatch {
    let times = rows.column(TIME).as_primitive::<TimestampMicrosecondType>();
    let times = times.unary::<_, TimestampMicrosecondType>(|half| half * SECOND / 2);
    let mut columns = rows.columns().to_vec();
    columns[TIME] = std::sync::Arc::new(times);
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[test]
fn joins_of_streams_equal_the_joins_of_their_rows() {
    for kind in KINDS {
        for condition in CONDITIONS {
            for mode in [OutputMode::Update, OutputMode::Append] {
                for seed in 0..6 {
                    check(kind, condition, mode, seed);
                }
            }
        }
    }
}

/// A window above a join closes only when the join has no more rows for it: nothing is late there, whatever the order.
fn check_chain(sql: &str, output_mode: OutputMode, seed: u64) {
    let mut random = Random::new(seed);
    let options = LowerOptions {
        output_mode,
        fail_on_error: false,
        ..LowerOptions::default()
    };
    let plan = plan(sql);
    let dataflow = lower(&plan, &options).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut harness = Harness::new(dataflow, random.below(4) + 1);
    let mut kept: BTreeMap<bool, Vec<RecordBatch>> = BTreeMap::new();
    let mut bases = [0, 0];
    for _ in 0..25 {
        let mut inputs: Vec<RecordBatch> = Vec::new();
        for (base, delay_us) in bases.iter_mut().zip([DELAY_US, G_DELAY_US]) {
            let count = if random.chance(30) {
                0
            } else {
                random.below(12) + 1
            };
            // At most the delay behind: no row is late.
            let halves = *base * 2;
            let rows = random_rows(count, halves - delay_us / SECOND * 2..halves + 1, &mut random);
            inputs.push(on_half_seconds(&rows));
            *base += random.below(6) as i64;
        }
        let changes = |object| vec![ChangeBatch::insertions(inputs[usize::from(object == G)].clone())];
        harness.epoch(&changes, &mut random);
        for (side, rows) in inputs.into_iter().enumerate() {
            kept.entry(side == 1).or_default().push(rows);
        }
        if random.chance(30) {
            harness.restart(random.below(4) + 1);
        }
    }
    // Everything becomes final; what is far ahead has no time, so that it is in no window.
    for object_far in 0..4 {
        let mut far = random_rows(2, 100_000 + object_far..100_001 + object_far, &mut random);
        let times = arrow::array::TimestampMicrosecondArray::from_value((50_000 + object_far) * SECOND, 2);
        let mut columns = far.columns().to_vec();
        columns[0] = std::sync::Arc::new(arrow::array::Int32Array::from(vec![1000 + object_far as i32; 2]));
        columns[TIME] = std::sync::Arc::new(times);
        far = RecordBatch::try_new(far.schema(), columns).unwrap();
        harness.epoch(&|_| vec![ChangeBatch::insertions(far.clone())], &mut random);
    }
    assert_eq!(harness.late, 0, "{sql} {output_mode:?}, seed {seed}");
    let memory = |is_g: bool| kept.get(&is_g).cloned().unwrap_or_default();
    let expected = run_once(plan, Memory(vec![(E, memory(false)), (G, memory(true))]));
    let mut result = harness.result;
    result.retain(|row, _| !row.starts_with("100") && !row.contains("T13:53"));
    assert_eq!(result, expected, "{sql} {output_mode:?}, seed {seed}");
}

#[test]
fn nothing_is_lost_between_operators() {
    for sql in [
        // A join below an aggregation per key and window of one side.
        "SELECT k, window_start, count(*), count(y) FROM (SELECT e.k, e.window_start, g.x AS y FROM e_tumble AS e \
         LEFT JOIN g_tumble AS g ON e.k = g.k AND e.window_start = g.window_start) GROUP BY k, window_start",
        // Two windows joined by their bounds.
        "SELECT l.k, l.window_start, l.n, r.n FROM (SELECT k, window_start, count(*) AS n FROM e_tumble GROUP BY k, \
         window_start) AS l FULL JOIN (SELECT k, window_start, count(*) AS n FROM g_tumble GROUP BY k, window_start) AS r \
         ON l.k = r.k AND l.window_start = r.window_start",
        // Two joins in a row.
        "SELECT a.k, a.x, b.x, c.x FROM e AS a LEFT JOIN g AS b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL \
         '3 seconds' LEFT JOIN e AS c ON a.k = c.k AND c.ts > a.ts AND c.ts < a.ts + INTERVAL '2 seconds'",
        // A relation with itself.
        "SELECT a.k, a.x, b.x FROM e AS a JOIN e AS b ON a.k = b.k AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '4 seconds'",
    ] {
        for mode in [OutputMode::Update, OutputMode::Append] {
            for seed in 0..6 {
                check_chain(sql, mode, seed);
            }
        }
    }
}
