//! A dataflow run epoch by epoch on any number of workers, in one thread, with checkpoints and restarts.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{take, take_record_batch};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};
use millpond_catalog::ObjectId;
use millpond_storage::ChangeBatch;

use crate::bound::Watermark;
use crate::dataflow::{Dataflow, Distribution, NodeKind};
use crate::epoch::{Epoch, EpochContext, OperatorContext};
use crate::hash::{hash_rows, worker_of};
use crate::oneoff::{OneoffOptions, Readable, execute};
use crate::operator::{LateRow, Operator, Output, StateBatch};
use crate::source::BadRow;

/// A sequence of numbers that a seed fixes.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Rows as text, each with how often it is there.
pub(super) type Rows = BTreeMap<String, i64>;

pub(super) struct Harness {
    dataflow: Arc<Dataflow>,
    /// By worker, then by node.
    workers: Vec<Vec<Option<Box<dyn Operator>>>>,
    /// What checkpoints left, by node.
    state: Vec<Vec<StateBatch>>,
    epoch: u64,
    /// Greatest event time seen so far by each input, and the watermark of the last epoch.
    seen: Vec<Option<i64>>,
    watermarks: Vec<Option<i64>>,
    /// Those of the epoch before.
    before: Vec<Option<i64>>,
    pub result: Rows,
    pub bad_rows: Vec<BadRow>,
    pub late: u64,
    pub late_rows: Vec<LateRow>,
    pub null_time: u64,
    pub groups: u64,
}

impl Harness {
    pub fn new(dataflow: Dataflow, workers: usize) -> Self {
        let inputs = dataflow.inputs.len();
        let mut harness = Self {
            state: vec![Vec::new(); dataflow.nodes.len()],
            dataflow: Arc::new(dataflow),
            workers: Vec::new(),
            epoch: 0,
            seen: vec![None; inputs],
            watermarks: vec![None; inputs],
            before: vec![None; inputs],
            result: Rows::new(),
            bad_rows: Vec::new(),
            late: 0,
            late_rows: Vec::new(),
            null_time: 0,
            groups: 0,
        };
        harness.build(workers);
        harness
    }

    fn build(&mut self, workers: usize) {
        let instance = |node: &crate::dataflow::Node| match &node.kind {
            NodeKind::Input(_) | NodeKind::Empty => None,
            NodeKind::Operator(spec) => Some(spec.build(&node.name).unwrap()),
        };
        self.workers = (0..workers)
            .map(|_| self.dataflow.nodes.iter().map(instance).collect())
            .collect();
    }

    pub fn watermark(&self) -> Option<i64> {
        self.watermarks[0]
    }

    /// The watermarks of the inputs that read these objects.
    pub fn watermarks_of(&self, objects: [ObjectId; 2]) -> [Option<i64>; 2] {
        objects.map(|object| {
            let input = self
                .dataflow
                .inputs
                .iter()
                .position(|input| input.object == object);
            self.watermarks[input.expect("an input of the query")]
        })
    }

    fn contexts(&self, epoch: u64) -> Vec<Vec<OperatorContext>> {
        let constants = EpochContext {
            epoch: Epoch(epoch),
            processing_time_us: 1_700_000_000_000_000 + epoch as i64,
            watermarks: self.watermarks.clone(),
            watermarks_before: self.before.clone(),
        };
        let by_node = self.dataflow.node_watermarks(&constants);
        let workers = self.workers.len();
        let context =
            |watermarks: &[Watermark; 2], worker| constants.of_operator(*watermarks, worker, workers);
        (0..workers)
            .map(|worker| by_node.iter().map(|w| context(w, worker)).collect())
            .collect()
    }

    /// Stops without warning and starts again with another number of workers.
    pub fn restart(&mut self, workers: usize) {
        self.build(workers);
        if self.epoch == 0 {
            return;
        }
        let contexts = self.contexts(self.epoch - 1);
        for (index, node) in self.dataflow.nodes.iter().enumerate() {
            for batch in &self.state[index] {
                let distribution = &node.edges[batch.port].distribution;
                for (worker, changes) in route(&batch.changes, distribution, 0, workers) {
                    let operator = self.workers[worker][index]
                        .as_mut()
                        .expect("only operators have state");
                    operator
                        .restore(
                            &contexts[worker][index],
                            StateBatch {
                                port: batch.port,
                                changes,
                            },
                        )
                        .unwrap();
                }
            }
            for (operators, contexts) in self.workers.iter_mut().zip(&contexts) {
                if let Some(operator) = &mut operators[index] {
                    operator.restored(&contexts[index]).unwrap();
                }
            }
        }
    }

    /// Runs one epoch over `changes` of each object, in pieces spread over the workers; checkpoints, at times in full.
    pub fn epoch(&mut self, changes: &dyn Fn(ObjectId) -> Vec<ChangeBatch>, random: &mut Random) {
        self.advance_watermarks();
        let contexts = self.contexts(self.epoch);
        let workers = self.workers.len();
        let dataflow = Arc::clone(&self.dataflow);
        for (worker, operators) in self.workers.iter_mut().enumerate() {
            for (index, operator) in operators.iter_mut().enumerate() {
                if let Some(operator) = operator {
                    operator.begin(&contexts[worker][index]).unwrap();
                }
            }
        }
        // By node, then by worker.
        let mut outputs: Vec<Vec<Vec<ChangeBatch>>> = Vec::new();
        for (index, node) in dataflow.nodes.iter().enumerate() {
            let mut out = vec![Vec::new(); workers];
            match &node.kind {
                NodeKind::Input(input) => self.read(*input, changes, &mut out, random),
                NodeKind::Empty => {}
                NodeKind::Operator(_) => {
                    let mut outs: Vec<Output> = (0..workers).map(|_| Output::default()).collect();
                    for (port, edge) in node.edges.iter().enumerate() {
                        for (from, batches) in outputs[edge.from.0].iter().enumerate() {
                            for batch in batches {
                                for (worker, changes) in route(batch, &edge.distribution, from, workers) {
                                    let operator = self.workers[worker][index].as_mut().expect("an operator");
                                    operator.push(port, changes, &mut outs[worker]).unwrap();
                                }
                            }
                        }
                    }
                    for (worker, mut output) in outs.into_iter().enumerate() {
                        let operator = self.workers[worker][index].as_mut().expect("an operator");
                        operator.seal(&contexts[worker][index], &mut output).unwrap();
                        self.bad_rows.extend(output.bad_rows);
                        self.late_rows.extend(output.late_rows);
                        for changes in &output.changes {
                            assert_eq!(changes.schema(), node.schema, "{}", node.name);
                            let negative = changes
                                .weights()
                                .is_some_and(|w| w.values().iter().any(|w| *w < 0));
                            assert!(
                                !(negative && node.properties.append_only),
                                "{} is append-only",
                                node.name
                            );
                        }
                        out[worker] = output.changes;
                    }
                }
            }
            outputs.push(out);
        }
        for batch in outputs.last().expect("a node").iter().flatten() {
            add_rows(&mut self.result, batch);
        }
        self.checkpoint(random.chance(20));
        self.epoch += 1;
    }

    /// As if each input had brought a row of this time.
    pub fn reach(&mut self, time_us: i64) {
        self.seen.fill(Some(time_us));
    }

    /// As the query driver does: event times of the epochs before count.
    fn advance_watermarks(&mut self) {
        self.before.clone_from(&self.watermarks);
        for (input, (seen, watermark)) in self
            .dataflow
            .inputs
            .iter()
            .zip(self.seen.iter().zip(&mut self.watermarks))
        {
            if let (Some(time), Some(seen)) = (&input.event_time, seen) {
                *watermark = Some(watermark.unwrap_or(i64::MIN).max(seen - time.delay_us));
            }
        }
    }

    fn read(
        &mut self,
        input: usize,
        changes: &dyn Fn(ObjectId) -> Vec<ChangeBatch>,
        out: &mut [Vec<ChangeBatch>],
        random: &mut Random,
    ) {
        let description = &self.dataflow.inputs[input];
        for batch in changes(description.object) {
            let rows = batch.rows().project(&description.projection).unwrap();
            if let Some(time) = &description.event_time {
                let times = rows
                    .column(time.column)
                    .as_primitive::<TimestampMicrosecondType>();
                self.seen[input] = self.seen[input].max(arrow::compute::max(times));
            }
            let batch = batch.with_rows(rows.with_schema(Arc::clone(&description.schema)).unwrap());
            let mut offset = 0;
            while offset < batch.num_rows() {
                let length = random.below(batch.num_rows() - offset) + 1;
                let worker = random.below(out.len());
                out[worker].push(batch.slice(offset, length));
                offset += length;
            }
        }
    }

    fn checkpoint(&mut self, full: bool) {
        (self.late, self.null_time, self.groups) = (self.late, self.null_time, 0);
        for index in 0..self.dataflow.nodes.len() {
            if full {
                self.state[index].clear();
            }
            for operators in &mut self.workers {
                if let Some(operator) = &mut operators[index] {
                    self.state[index].extend(operator.checkpoint(full).unwrap());
                    let metrics = operator.metrics();
                    self.late += metrics.rows_dropped_by_watermark;
                    self.null_time += metrics.null_event_time;
                    self.groups += metrics.rows_total;
                }
            }
        }
    }
}

/// Splits a batch by worker.
fn route(
    batch: &ChangeBatch,
    distribution: &Distribution,
    from: usize,
    workers: usize,
) -> Vec<(usize, ChangeBatch)> {
    let columns = match distribution {
        Distribution::Local => return vec![(from, batch.clone())],
        Distribution::Single => return vec![(0, batch.clone())],
        Distribution::Hash(columns) => columns,
    };
    let keys: Vec<_> = columns
        .iter()
        .map(|column| Arc::clone(batch.rows().column(*column)))
        .collect();
    let mut hashes = Vec::new();
    hash_rows(&keys, batch.num_rows(), &mut hashes).unwrap();
    let part = |worker: usize| {
        let rows = (0..batch.num_rows()).filter(|row| worker_of(hashes[*row], workers) == worker);
        let rows = UInt32Array::from_iter_values(rows.map(|row| row as u32));
        let picked = take_record_batch(batch.rows(), &rows).unwrap();
        let changes = match batch.weights() {
            None => ChangeBatch::insertions(picked),
            Some(weights) => {
                let weights = take(weights, &rows, None).unwrap();
                ChangeBatch::new(picked, weights.as_primitive::<Int64Type>().clone())
            }
        };
        (worker, changes)
    };
    (0..workers)
        .map(part)
        .filter(|(_, changes)| !changes.is_empty())
        .collect()
}

/// Each row as text.
pub(super) fn texts(rows: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = rows
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
        .collect();
    let row = |row: usize| {
        columns
            .iter()
            .map(|column| column.value(row).to_string())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    (0..rows.num_rows()).map(row).collect()
}

pub(super) fn add_rows(result: &mut Rows, changes: &ChangeBatch) {
    for (row, text) in texts(changes.rows()).into_iter().enumerate() {
        let weight = result.entry(text.clone()).or_default();
        *weight += changes.weight(row);
        if *weight == 0 {
            result.remove(&text);
        }
    }
}

/// Relations held in memory.
pub(super) struct Memory(pub Vec<(ObjectId, Vec<RecordBatch>)>);

impl Readable for Memory {
    fn scan(
        &self,
        object: ObjectId,
        projection: Option<&[usize]>,
    ) -> crate::error::Result<SendableRecordBatchStream> {
        let (_, batches) = self
            .0
            .iter()
            .find(|(id, _)| *id == object)
            .expect("a relation of the test");
        let all: Vec<usize> = (0..super::planner::test_schema().fields().len()).collect();
        let projection = projection.unwrap_or(&all).to_vec();
        let schema = Arc::new(super::planner::test_schema().project(&projection).unwrap());
        let batches: Vec<_> = batches
            .iter()
            .map(|batch| Ok(batch.project(&projection).unwrap()))
            .collect();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            schema,
            stream::iter(batches).boxed(),
        )))
    }
}

/// The result of running a plan once.
pub(super) fn run_once(plan: LogicalPlan, relations: Memory) -> Rows {
    let options = OneoffOptions {
        parallelism: 1,
        ..OneoffOptions::default()
    };
    let batches: Vec<RecordBatch> = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(async {
            execute(plan, Arc::new(relations), &options)
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap()
        });
    let mut rows = Rows::new();
    batches
        .into_iter()
        .for_each(|batch| add_rows(&mut rows, &ChangeBatch::insertions(batch)));
    rows
}

/// A batch of weights for rows that are all of one sign.
pub(super) fn weighted(rows: RecordBatch, weight: i64) -> ChangeBatch {
    let weights = Int64Array::from(vec![weight; rows.num_rows()]);
    ChangeBatch::new(rows, weights)
}
