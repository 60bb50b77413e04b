//! Dataflows on real workers: results do not depend on how many there are, failures end an epoch and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use hashbrown::HashMap;
use millpond_storage::ChangeBatch;

use super::*;
use crate::clock::SystemClock;
use crate::dataflow::{Distribution, Edge, EventTime, NodeId};
use crate::operator::{Operator, Output};
use crate::replay::{self, ReplaySource, Row};
use crate::source::{Slice, SliceReader, Source};

/// `SELECT k, sum(v) GROUP BY k`: old sums out as retractions, new ones as insertions, when the epoch is sealed. A value of
/// 13 is an error, 666 a panic.
#[derive(Default)]
pub(crate) struct SumByKey {
    sums: HashMap<String, i64>,
    touched: HashMap<String, i64>,
}

fn sums_batch(rows: Vec<(String, i64, i64)>) -> ChangeBatch {
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.0)));
    let sums: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    let weights = Int64Array::from_iter_values(rows.iter().map(|row| row.2));
    ChangeBatch::new(
        RecordBatch::try_from_iter([("k", keys), ("s", sums)]).unwrap(),
        weights,
    )
}

impl Operator for SumByKey {
    fn push(&mut self, _port: usize, changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        let (keys, values) = (
            changes.rows().column(0).as_string::<i32>(),
            changes.rows().column(1),
        );
        let values = values.as_primitive::<Int64Type>();
        for row in 0..changes.num_rows() {
            match values.value(row) {
                13 => {
                    let message = "13 is not allowed".to_owned();
                    return Err(Error::User {
                        message,
                        sqlstate: "22000",
                        hint: None,
                    });
                }
                666 => panic!("the beast"),
                value => *self.touched.entry_ref(keys.value(row)).or_default() += value * changes.weight(row),
            }
        }
        Ok(())
    }

    fn seal(&mut self, _context: &OperatorContext, output: &mut Output) -> Result<()> {
        let mut rows = Vec::new();
        for (key, change) in &self.touched {
            let old = self.sums.get(key).copied();
            rows.extend(old.map(|old| (key.clone(), old, -1)));
            let new = old.unwrap_or(0) + change;
            rows.push((key.clone(), new, 1));
            self.sums.insert(key.clone(), new);
        }
        output.send(sums_batch(rows));
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let touched = std::mem::take(&mut self.touched);
        let state = if full { self.sums.clone() } else { touched };
        let changes = sums_batch(state.into_iter().map(|(key, sum)| (key, sum, 1)).collect());
        Ok(if changes.is_empty() {
            Vec::new()
        } else {
            vec![StateBatch { port: 0, changes }]
        })
    }

    fn restore(&mut self, _context: &OperatorContext, state: StateBatch) -> Result<()> {
        let (keys, sums) = (
            state.changes.rows().column(0).as_string::<i32>(),
            state.changes.rows().column(1),
        );
        for (key, sum) in keys.iter().zip(sums.as_primitive::<Int64Type>().values()) {
            *self.sums.entry_ref(key.unwrap()).or_default() += sum;
        }
        Ok(())
    }
}

fn sum_plan() -> Arc<Plan> {
    let event_time = Some(EventTime {
        column: 2,
        delay_us: 0,
        max_future_us: Some(1_000),
        idle_timeout_us: None,
    });
    let edges = vec![Edge {
        from: NodeId(0),
        distribution: Distribution::Hash(vec![0]),
    }];
    Arc::new(Plan {
        inputs: vec![PlanInput {
            name: "rows".to_owned(),
            event_time,
            may_be_late: false,
        }],
        nodes: vec![
            PlanNode {
                name: "in".to_owned(),
                kind: PlanKind::Input(0),
                edges: Vec::new(),
            },
            PlanNode {
                name: "sum".to_owned(),
                kind: PlanKind::Operator(Arc::new(|| Ok(Box::new(SumByKey::default())))),
                edges,
            },
        ],
    })
}

fn start(workers: usize) -> Runtime {
    Runtime::start(workers, Arc::new(SystemClock::default())).unwrap()
}

fn input(epoch: u64, source: Arc<dyn Source>, from: u64, to: u64, full: bool) -> EpochInput {
    let slices = source
        .slices(&replay::position(from), &replay::position(to), 2)
        .unwrap();
    EpochInput {
        context: EpochContext {
            epoch: Epoch(epoch),
            processing_time_us: 5_000,
            watermarks: vec![None],
            watermarks_before: Vec::new(),
        },
        watermarks: vec![[Watermark::default(); 2]; 2],
        inputs: vec![InputQueue::of_source(source, vec![0, 1, 2], slices)],
        newest: vec![None],
        full: vec![full; 2],
    }
}

/// The sum of changes, as it would stand in a table.
fn apply(table: &mut HashMap<(String, i64), i64>, changes: &[ChangeBatch]) {
    for batch in changes {
        let keys = batch.rows().column(0).as_string::<i32>();
        let sums = batch.rows().column(1).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let count = table
                .entry((keys.value(row).to_owned(), sums.value(row)))
                .or_default();
            *count += batch.weight(row);
        }
    }
    table.retain(|_, count| *count != 0);
}

fn rows(n: i64) -> Vec<Row> {
    const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];
    (0..n)
        .map(|i| (KEYS[(i % 5) as usize], i * 7 + 1_000, i))
        .collect()
}

fn expected(rows: &[Row]) -> HashMap<(String, i64), i64> {
    let mut sums: HashMap<&str, i64> = HashMap::new();
    for row in rows {
        *sums.entry(row.0).or_default() += row.1;
    }
    sums.into_iter()
        .map(|(key, sum)| ((key.to_owned(), sum), 1))
        .collect()
}

#[test]
fn any_number_of_workers_gives_the_same_result() {
    let all = rows(1_000);
    let source = ReplaySource::with(&all);
    for workers in [1, 2, 4] {
        let runtime = start(workers);
        let deployment = runtime.install(sum_plan(), Epoch(7), None).unwrap();
        let mut table = HashMap::new();
        for (epoch, (from, to)) in [(0, 600), (600, 600), (600, 1_000)].into_iter().enumerate() {
            let input = input(7 + epoch as u64, source.clone(), from, to, false);
            let output = deployment.run(input, &Abandon::default()).unwrap().unwrap();
            assert_eq!(output.inputs[0].rows, to - from);
            assert_eq!(output.inputs[0].bytes, (to - from) * replay::ROW_BYTES);
            assert_eq!(output.operators.len(), 1);
            apply(&mut table, &output.changes);
        }
        assert_eq!(table, expected(&all), "{workers} workers");
        drop(deployment);
        runtime.stop();
    }
}

#[test]
fn state_moves_to_another_number_of_workers() {
    let all = rows(90);
    let source = ReplaySource::with(&all);
    let mut table = HashMap::new();
    let mut state: Vec<(usize, StateBatch)> = Vec::new();
    for (epoch, workers) in [1, 4, 2].into_iter().enumerate() {
        let epoch = epoch as u64;
        let runtime = start(workers);
        let checkpoint = (epoch > 0).then(|| Checkpoint {
            context: EpochContext {
                epoch: Epoch(epoch - 1),
                processing_time_us: 0,
                watermarks: vec![None],
                watermarks_before: Vec::new(),
            },
            watermarks: vec![[Watermark::default(); 2]; 2],
            state: std::mem::take(&mut state),
        });
        let deployment = runtime.install(sum_plan(), Epoch(epoch), checkpoint).unwrap();
        let input = input(epoch, source.clone(), epoch * 30, (epoch + 1) * 30, true);
        let output = deployment.run(input, &Abandon::default()).unwrap().unwrap();
        apply(&mut table, &output.changes);
        let (name, batches) = &output.state[0];
        assert_eq!(name, "sum");
        state = batches.iter().map(|batch| (1, batch.clone())).collect();
        runtime.stop();
    }
    assert_eq!(table, expected(&all));
}

#[test]
fn errors_and_panics_end_the_epoch_and_spare_the_workers() {
    let runtime = start(2);
    let mut bad = rows(50);
    bad[31].1 = 13;
    let mut worse = rows(50);
    worse[17].1 = 666;
    for (rows, reason) in [(bad, "13 is not allowed"), (worse, "the beast")] {
        let deployment = runtime.install(sum_plan(), Epoch(0), None).unwrap();
        let failure = deployment.run(
            input(0, ReplaySource::with(&rows), 0, 50, false),
            &Abandon::default(),
        );
        let message = failure.unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
    let deployment = runtime.install(sum_plan(), Epoch(0), None).unwrap();
    let good = rows(50);
    let output = deployment.run(
        input(0, ReplaySource::with(&good), 0, 50, false),
        &Abandon::default(),
    );
    let mut table = HashMap::new();
    apply(&mut table, &output.unwrap().unwrap().changes);
    assert_eq!(table, expected(&good));
    drop(deployment);
    runtime.stop();
}

#[test]
fn an_operator_that_cannot_be_built_is_told_and_numbers_stay_in_step() {
    let runtime = start(2);
    let built = Arc::new(AtomicU64::new(0));
    let mut plan = Arc::into_inner(sum_plan()).unwrap();
    plan.nodes[1].kind = PlanKind::Operator(Arc::new(move || {
        // Only one of the two workers fails.
        match built.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Error::Bug("no such operator".to_owned())),
            _ => Ok(Box::new(SumByKey::default())),
        }
    }));
    let refused = runtime.install(Arc::new(plan), Epoch(0), None).err().unwrap();
    assert!(refused.to_string().contains("no such operator"));
    let all = rows(50);
    let deployment = runtime.install(sum_plan(), Epoch(0), None).unwrap();
    let output = deployment.run(
        input(0, ReplaySource::with(&all), 0, 50, false),
        &Abandon::default(),
    );
    let mut table = HashMap::new();
    apply(&mut table, &output.unwrap().unwrap().changes);
    assert_eq!(table, expected(&all));
    drop(deployment);
    runtime.stop();
}

#[test]
fn event_times_are_measured_behind_the_guard() {
    let runtime = start(2);
    let mut rows = rows(10);
    rows[3].2 = 6_000;
    rows[4].2 = 6_001;
    rows[5].2 = -100;
    rows[6].1 = i64::MIN;
    let deployment = runtime.install(sum_plan(), Epoch(0), None).unwrap();
    let output = deployment.run(
        input(0, ReplaySource::with(&rows), 0, 10, false),
        &Abandon::default(),
    );
    let output = output.unwrap().unwrap();
    let metrics = &output.inputs[0];
    // The processing time is 5,000, the guard 1,000 ahead.
    assert_eq!((metrics.guarded_max, metrics.future_rows), (Some(6_000), 1));
    assert_eq!((metrics.max, metrics.min), (Some(6_001), Some(-100)));
    assert_eq!((metrics.rows, metrics.count, metrics.bad_rows), (9, 9, 1));
    assert_eq!(output.bad_rows[0].1.position, "row 6");
    drop(deployment);
    runtime.stop();
}

/// A source whose reader waits for the test before it goes on.
struct Stuck {
    inner: Arc<ReplaySource>,
    begun: Sender<()>,
    release: Arc<Mutex<Receiver<()>>>,
}

struct StuckReader {
    begun: Sender<()>,
    release: Arc<Mutex<Receiver<()>>>,
}

impl SliceReader for StuckReader {
    fn next(&mut self) -> Result<Option<crate::source::SourceBatch>, crate::source::SourceError> {
        self.begun.send(()).unwrap();
        self.release.lock().recv().unwrap();
        let rows = replay::batch(&[("late", 1, 1)]);
        Ok(Some(crate::source::SourceBatch {
            rows,
            bytes: 1,
            bad_rows: Vec::new(),
        }))
    }
}

impl Source for Stuck {
    fn description(&self) -> String {
        self.inner.description()
    }
    fn schema(&self) -> arrow::datatypes::SchemaRef {
        self.inner.schema()
    }
    fn start(&self) -> crate::source::Position {
        self.inner.start()
    }
    fn advance(
        &self,
        from: &crate::source::Position,
        until: Option<&crate::source::Position>,
        limit: crate::source::Limit<'_>,
    ) -> Result<Option<crate::source::Position>, crate::source::SourceError> {
        self.inner.advance(from, until, limit)
    }
    fn latest(&self, now_us: i64) -> Result<crate::source::Position, crate::source::SourceError> {
        self.inner.latest(now_us)
    }
    fn reached(&self, position: &crate::source::Position, target: &crate::source::Position) -> bool {
        self.inner.reached(position, target)
    }
    fn slices(
        &self,
        from: &crate::source::Position,
        to: &crate::source::Position,
        _workers: usize,
    ) -> Result<Vec<Slice>, crate::source::SourceError> {
        self.inner.slices(from, to, 1)
    }
    fn open(&self, _: &Slice, _: &[usize]) -> Result<Box<dyn SliceReader>, crate::source::SourceError> {
        Ok(Box::new(StuckReader {
            begun: self.begun.clone(),
            release: Arc::clone(&self.release),
        }))
    }
    fn forget(&self, _: &crate::source::Position) {}
    fn poll_interval_ms(&self) -> u64 {
        50
    }
}

#[test]
fn an_epoch_can_be_given_up_while_it_reads() {
    let runtime = start(2);
    let (begun, has_begun) = channel();
    let (release, released) = channel();
    let stuck: Arc<dyn Source> = Arc::new(Stuck {
        inner: ReplaySource::with(&rows(2)),
        begun,
        release: Arc::new(Mutex::new(released)),
    });
    let deployment = runtime.install(sum_plan(), Epoch(0), None).unwrap();
    let abandon = Arc::new(Abandon::default());
    let wish = Arc::clone(&abandon);
    let driver = thread::spawn(move || {
        let result = deployment.run(input(0, stuck, 0, 2, false), &abandon).unwrap();
        assert!(result.is_none());
    });
    has_begun.recv().unwrap();
    wish.wish();
    driver.join().unwrap();
    // The reader may go on now; its rows belong to a dataflow that is being taken down.
    drop(release);
    runtime.stop();
}
