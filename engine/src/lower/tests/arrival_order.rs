//! Rows in random orders of arrival, some of them late: every row is counted or late and never both, what comes out in append
//! mode is the result of one SELECT over the rows that were not late, and once everything is final nothing is kept. The server
//! restarts between epochs, each time with another number of workers.
//!
//! `MILLPOND_ARRIVAL_ORDERS` is the number of orders, `MILLPOND_SEED` the first.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use millpond_catalog::{ObjectId, OutputMode};
use millpond_storage::ChangeBatch;

use crate::lower::tests::harness::{Harness, Memory, Random, run_once};
use crate::lower::tests::planner::{DELAY_US, E, G, G_DELAY_US, TIME, plan, test_schema};
use crate::lower::tests::random::random_rows;
use crate::lower::{LowerOptions, lower};

const SECOND: i64 = 1_000_000;
/// Of a row: its number, which is in every row that is late.
const NUMBER: usize = 2;
/// Of a row: the watermark when it came.
const WATERMARK: usize = 3;

/// When a row is late that came at a watermark.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// Its last window has ended; seconds.
    Windows { size: i64, slide: i64, offset: i64 },
    /// It is below the watermark.
    Below,
    /// What is open decides; a row at the watermark or above it never is.
    Session,
}

impl Rule {
    /// Whether what is said of a row may be so.
    fn allows(self, is_late: bool, time_us: i64, watermark_us: Option<i64>) -> bool {
        let Some(watermark_us) = watermark_us else {
            return !is_late;
        };
        match self {
            Rule::Windows { size, slide, offset } => {
                let (size, slide, offset) = (size * SECOND, slide * SECOND, offset * SECOND);
                let latest = (time_us - offset).div_euclid(slide) * slide + offset;
                is_late == (latest + size <= watermark_us)
            }
            Rule::Below => is_late == (time_us < watermark_us),
            Rule::Session => !is_late || time_us < watermark_us,
        }
    }
}

struct Case {
    view: &'static str,
    /// Where the view's own text does not know that a row counts only in those of its windows that are open.
    batch: Option<&'static str>,
    rule: Rule,
}

const TUMBLE: Rule = Rule::Windows {
    size: 10,
    slide: 10,
    offset: 0,
};

const CASES: &[Case] = &[
    Case {
        view: "SELECT window_start, k, count(*), sum(x) FROM e_tumble GROUP BY window_start, k",
        batch: None,
        rule: TUMBLE,
    },
    Case {
        view: "SELECT window_start, count(*), sum(x) FROM e_hop GROUP BY window_start",
        batch: Some(
            "SELECT window_start, count(*), sum(x) FROM e_hop WHERE f IS NULL OR CAST(window_end AS BIGINT) > f \
             GROUP BY window_start",
        ),
        rule: Rule::Windows {
            size: 10,
            slide: 5,
            offset: 0,
        },
    },
    Case {
        view: "SELECT window_start, k, count(*), max(x) FROM e_odd GROUP BY window_start, k",
        batch: Some(
            "SELECT window_start, k, count(*), max(x) FROM e_odd WHERE f IS NULL OR CAST(window_end AS BIGINT) > f \
             GROUP BY window_start, k",
        ),
        rule: Rule::Windows {
            size: 7,
            slide: 3,
            offset: 1,
        },
    },
    Case {
        view: "SELECT e.k, e.x, g.x AS y FROM e JOIN g ON e.k = g.k \
               AND g.ts BETWEEN e.ts - INTERVAL '2 seconds' AND e.ts + INTERVAL '5 seconds'",
        batch: None,
        rule: Rule::Below,
    },
    Case {
        view: "SELECT e.k, e.x, g.x AS y FROM e LEFT JOIN g ON e.k = g.k \
               AND g.ts BETWEEN e.ts AND e.ts + INTERVAL '3 seconds'",
        batch: None,
        rule: Rule::Below,
    },
    Case {
        view: "SELECT e.k, e.x, g.x AS y FROM e FULL JOIN g ON e.k = g.k \
               AND g.ts BETWEEN e.ts - INTERVAL '1 second' AND e.ts + INTERVAL '1 second'",
        batch: None,
        rule: Rule::Below,
    },
    Case {
        view: "SELECT k, window_start, window_end, count(*), sum(x) FROM e_session GROUP BY k, window_start, window_end",
        batch: None,
        rule: Rule::Session,
    },
    // An aggregation over an aggregation, and over a join.
    Case {
        view: "SELECT window_start, max(c), sum(s) FROM (SELECT window_start, k, count(*) AS c, sum(x) AS s FROM e_tumble \
               GROUP BY window_start, k) GROUP BY window_start",
        batch: None,
        rule: TUMBLE,
    },
    Case {
        view: "SELECT k, window_start, count(*), sum(x), sum(y) FROM (SELECT e.k, e.x, e.window_start, g.x AS y \
               FROM e_tumble AS e LEFT JOIN g_tumble AS g ON e.k = g.k AND e.window_start = g.window_start) \
               GROUP BY k, window_start",
        batch: None,
        rule: TUMBLE,
    },
    Case {
        view: "SELECT window_start, k, x FROM (SELECT window_start, k, x, \
               row_number() OVER (PARTITION BY window_start ORDER BY x) AS r FROM e_tumble) WHERE r <= 2",
        batch: None,
        rule: TUMBLE,
    },
];

/// One stream: how far it has come.
struct Stream {
    object: ObjectId,
    delay_us: i64,
    base: i64,
    watermark: Option<i64>,
    greatest: Option<i64>,
    /// All rows that came.
    rows: Vec<RecordBatch>,
}

impl Stream {
    fn new(object: ObjectId, delay_us: i64) -> Self {
        Self {
            object,
            delay_us,
            base: 0,
            watermark: None,
            greatest: None,
            rows: Vec::new(),
        }
    }

    /// The rows of the next epoch, up to twice the delay behind.
    fn next(&mut self, numbers: &mut i64, random: &mut Random) -> RecordBatch {
        self.watermark = self.greatest.map(|greatest| greatest - self.delay_us);
        self.base += random.below(7) as i64;
        let count = match random.chance(25) {
            true => 0,
            false => random.below(9) + 1,
        };
        let behind = self.delay_us / SECOND * 2;
        // Half seconds, so that bounds are met exactly.
        let rows = random_rows(count, (self.base - behind) * 2..self.base * 2 + 1, random);
        let times = rows.column(TIME).as_primitive::<TimestampMicrosecondType>();
        let times: TimestampMicrosecondArray = times.unary(|half| half * SECOND / 2);
        self.greatest = self.greatest.max(arrow::compute::max(&times));
        let mut columns = rows.columns().to_vec();
        let first = *numbers;
        *numbers += count as i64;
        columns[NUMBER] = Arc::new(Int64Array::from_iter_values(first..*numbers));
        columns[WATERMARK] = Arc::new(Float64Array::from_iter(
            (0..count).map(|_| self.watermark.map(|watermark| watermark as f64)),
        ));
        columns[TIME] = Arc::new(times) as ArrayRef;
        let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
        self.rows.push(rows.clone());
        rows
    }
}

/// Watermarks at which rows were late, by the number of the row.
fn late_rows(harness: &Harness, case: &str) -> BTreeMap<i64, i64> {
    let mut late = BTreeMap::new();
    for row in &harness.late_rows {
        let json: serde_json::Value = serde_json::from_slice(&row.json()).unwrap();
        let number = json["x"]
            .as_i64()
            .unwrap_or_else(|| panic!("{case}: no number in {json}"));
        assert_eq!(row.count, 1, "{case}");
        assert_eq!(
            late.insert(number, row.watermark_us),
            None,
            "{case}: {number} twice"
        );
    }
    late
}

/// The rows of a stream that were not late, having checked that the others rightly were.
fn counted(stream: &Stream, late: &BTreeMap<i64, i64>, rule: Rule, case: &str) -> RecordBatch {
    let all = concat_batches(&test_schema(), &stream.rows).unwrap();
    let numbers = all.column(NUMBER).as_primitive::<Int64Type>();
    let times = all.column(TIME).as_primitive::<TimestampMicrosecondType>();
    let watermarks = all
        .column(WATERMARK)
        .as_primitive::<arrow::datatypes::Float64Type>();
    let mut kept = Vec::with_capacity(all.num_rows());
    for row in 0..all.num_rows() {
        let is_late = late.contains_key(&numbers.value(row));
        let watermark = watermarks.is_valid(row).then(|| watermarks.value(row) as i64);
        let at = watermark.filter(|_| times.is_valid(row));
        assert!(
            rule.allows(is_late, times.value(row), at),
            "{case}: row {} late {is_late} at {watermark:?}",
            numbers.value(row)
        );
        if is_late {
            let told = late.get(&numbers.value(row)).copied();
            // Where windows are joined, the watermark is that of their starts.
            let of_start = watermark.map(|watermark| watermark - (10 * SECOND - 1));
            assert!(
                told == watermark || told == of_start,
                "{case}: {told:?} at {watermark:?}"
            );
        }
        kept.push(!is_late);
    }
    arrow::compute::filter_record_batch(&all, &kept.into()).unwrap()
}

fn check(case: &Case, seed: u64) -> u64 {
    let name = format!("{}, seed {seed}", case.view);
    let mut random = Random::new(seed);
    let options = LowerOptions {
        output_mode: OutputMode::Append,
        fail_on_error: false,
        ..LowerOptions::default()
    };
    let dataflow = lower(&plan(case.view), &options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let reads = |object| dataflow.inputs.iter().any(|input| input.object == object);
    let mut streams = vec![Stream::new(E, DELAY_US), Stream::new(G, G_DELAY_US)];
    streams.retain(|stream| reads(stream.object));
    let workers = |random: &mut Random| [1, 2, 4][random.below(3)];
    let mut harness = Harness::new(dataflow, workers(&mut random));
    let mut numbers = 0;
    for _ in 0..random.below(12) + 4 {
        let rows: BTreeMap<ObjectId, RecordBatch> = { streams.iter_mut() }
            .map(|stream| (stream.object, stream.next(&mut numbers, &mut random)))
            .collect();
        let changes = |object| vec![ChangeBatch::insertions(rows[&object].clone())];
        harness.epoch(&changes, &mut random);
        if random.chance(25) {
            harness.restart(workers(&mut random));
        }
    }
    // Everything becomes final; what waits below waits for one epoch more.
    harness.reach(1_000_000 * SECOND);
    for _ in 0..4 {
        harness.epoch(&|_| Vec::new(), &mut random);
    }
    let late = late_rows(&harness, &name);
    assert_eq!(harness.late, late.len() as u64, "{name}: counted and kept");
    let counted = { streams.iter() }
        .map(|stream| (stream.object, vec![counted(stream, &late, case.rule, &name)]))
        .collect();
    let expected = run_once(plan(case.batch.unwrap_or(case.view)), Memory(counted));
    assert_eq!(harness.result, expected, "{name}");
    assert_eq!(harness.groups, 0, "{name}: rows are kept that nothing needs");
    harness.late
}

#[test]
fn every_row_is_counted_or_late() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let (first, orders) = (number("MILLPOND_SEED", 1), number("MILLPOND_ARRIVAL_ORDERS", 216));
    let mut late = vec![0; CASES.len()];
    for order in 0..orders {
        let case = (order % CASES.len() as u64) as usize;
        late[case] += check(&CASES[case], first + order);
    }
    println!(
        "{orders} orders of arrival, {} rows late",
        late.iter().sum::<u64>()
    );
    if orders >= 200 {
        assert!(
            late.iter().all(|late| *late > 0),
            "each query has late rows: {late:?}"
        );
    }
}
