//! The second phase for sliding windows that come out once.
//!
//! A partial row is in consecutive windows: it enters with the first and leaves behind the last. So instead of a group per
//! window, the *steps* between neighbours are kept: the row is added to the step at the first window's start, and taken
//! back from the step behind the last. When the watermark closes windows, one after the other, the steps at their starts are
//! added to the *running* groups, which then are the result. A row costs two steps however many windows it is in, and a
//! window costs the steps at its start and the keys that it has.
//!
//! What is kept on disk are partial rows, as for other windows. State that is restored enters with the first open window.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Int32Type, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::{Error, Result};
use crate::expression::FailurePolicy;
use crate::operator::accumulator::negated;
use crate::operator::aggregate::emit::Shown;
use crate::operator::aggregate::{Groups, PartialLayout, checkpointed, consolidate, timestamps};
use crate::operator::map::record_batch;
use crate::operator::spec::{AggregateSpec, WindowSource};
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};
use crate::window::WindowRule;

/// Steps that were taken are not cleared away before there are this many.
const TAKEN_MIN: usize = 4096;

pub(crate) struct SlidingAggregate {
    spec: Arc<AggregateSpec>,
    rule: WindowRule,
    layout: PartialLayout,
    policy: FailurePolicy,
    /// By start of the window and key.
    steps: Groups,
    starts: Vec<i64>,
    /// Steps to come by the start of their window.
    by_window: BTreeMap<i64, Vec<usize>>,
    /// How many steps were taken.
    taken: usize,
    /// The groups of the window that was closed last, by key.
    running: Groups,
    /// Windows that end here or before are closed.
    closed: Option<i64>,
    incoming: Vec<RecordBatch>,
    /// Partial rows since the last checkpoint.
    delta: Vec<RecordBatch>,
    metrics: OperatorMetrics,
}

impl SlidingAggregate {
    pub fn new(spec: Arc<AggregateSpec>, name: &str) -> Result<Self> {
        let Some(WindowSource::Rule(rule)) = spec.window.as_ref().map(|window| window.assign) else {
            return Err(Error::Bug("sliding windows have a rule".to_owned()));
        };
        let keys = spec.keys.iter();
        let keys: Vec<DataType> = keys
            .map(|column| spec.input.field(*column).data_type().clone())
            .collect();
        let with_start: Vec<DataType> = std::iter::once(DataType::Int64).chain(keys.clone()).collect();
        Ok(Self {
            rule,
            layout: PartialLayout::of(&spec),
            policy: FailurePolicy {
                position: name.to_owned(),
                fail: spec.fail_on_error,
            },
            steps: Groups::new(&spec, &with_start)?,
            starts: Vec::new(),
            by_window: BTreeMap::new(),
            taken: 0,
            running: Groups::new(&spec, &keys)?,
            closed: None,
            incoming: Vec::new(),
            delta: Vec::new(),
            metrics: OperatorMetrics::default(),
            spec,
        })
    }

    /// The start of the first window that does not end at `watermark` or before.
    fn first_open(&self, watermark: Option<i64>) -> Option<i64> {
        let after = watermark?.checked_sub(self.rule.size())?;
        let (slide, offset) = (self.rule.slide(), self.rule.offset());
        let steps = after.checked_sub(offset)?.div_euclid(slide).checked_add(1)?;
        steps.checked_mul(slide)?.checked_add(offset)
    }

    /// Adds partial rows to the steps, without windows that end at the watermark or before: those are closed, or about to be
    /// and the rows are late for them.
    fn add(&mut self, batch: &RecordBatch, watermark: Option<i64>) -> Result<()> {
        let latest = batch
            .column(0)
            .as_primitive::<TimestampMicrosecondType>()
            .values();
        let counts = batch.column(1).as_primitive::<Int32Type>().values();
        let (slide, first_open) = (self.rule.slide(), self.first_open(watermark));
        let (mut entries, mut exits, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (latest, count)) in latest.iter().zip(counts).enumerate() {
            if first_open.is_some_and(|open| *latest < open) {
                continue;
            }
            let first = latest - i64::from(count - 1) * slide;
            entries.push(first_open.map_or(first, |open| first.max(open)));
            exits.push(latest.saturating_add(slide));
            rows.push(row as u32);
        }
        let rows = UInt32Array::from(rows);
        let chosen = |columns: &[ArrayRef]| {
            let columns = columns.iter();
            columns
                .map(|column| Ok(take(column, &rows, None)?))
                .collect::<Result<Vec<ArrayRef>>>()
        };
        let keys = chosen(&batch.columns()[self.layout.first_key()..self.layout.keys])?;
        let state = chosen(&batch.columns()[self.layout.keys..])?;
        self.add_steps(entries, &keys, &state)?;
        let back = state.iter().map(negated::negated).collect::<Result<Vec<_>>>()?;
        self.add_steps(exits, &keys, &back)
    }

    fn add_steps(&mut self, starts: Vec<i64>, keys: &[ArrayRef], state: &[ArrayRef]) -> Result<()> {
        let (count, known) = (starts.len(), self.starts.len());
        let starts: ArrayRef = Arc::new(Int64Array::from(starts));
        let all: Vec<ArrayRef> = std::iter::once(starts).chain(keys.iter().cloned()).collect();
        let mut groups = Vec::new();
        self.steps.intern(&all, count, &mut groups)?;
        self.steps.merge(&groups, state)?;
        let new: Vec<usize> = (known..self.steps.len()).collect();
        let new_keys = self.steps.table.keys(&new)?;
        let new_starts = new_keys[0].as_primitive::<arrow::datatypes::Int64Type>();
        self.starts.extend_from_slice(new_starts.values());
        for step in new {
            self.by_window.entry(self.starts[step]).or_default().push(step);
        }
        Ok(())
    }

    /// Closes the windows that the watermark has made final, in their order, and lets them out.
    fn close(&mut self, watermark: i64, output: &mut Output) -> Result<()> {
        let last = watermark.saturating_sub(self.rule.size());
        loop {
            let step = self.by_window.first_key_value().map(|(start, _)| *start);
            // Without groups that run on, the windows in between are empty.
            let start = match (self.running.len() > 0, self.first_open(self.closed)) {
                (true, Some(open)) => Some(step.map_or(open, |step| step.min(open))),
                _ => step,
            };
            let Some(start) = start.filter(|start| *start <= last) else {
                break;
            };
            let steps = self.by_window.remove(&start).unwrap_or_default();
            self.take_steps(&steps)?;
            self.closed = Some(start.saturating_add(self.rule.size()));
            self.let_out(start, output)?;
        }
        self.closed = self.closed.max(Some(watermark));
        let open = self.first_open(self.closed);
        if self.by_window.last_key_value().map(|(start, _)| *start) <= open {
            // All that is left leaves with the last closed window.
            return self.clear();
        }
        self.bury()
    }

    fn take_steps(&mut self, steps: &[usize]) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        let keys = self.steps.table.keys(steps)?;
        let mut groups = Vec::new();
        self.running.intern(&keys[1..], steps.len(), &mut groups)?;
        self.running.merge(&groups, &self.steps.state(steps)?)?;
        self.taken += steps.len();
        self.metrics.rows_updated += steps.len() as u64;
        // A key without rows is in no window any more.
        let living: Vec<usize> = (0..self.running.len())
            .filter(|group| self.running.rows[*group] != 0)
            .collect();
        if living.len() < self.running.len() {
            self.metrics.rows_removed += (self.running.len() - living.len()) as u64;
            self.running.retain(&living)?;
        }
        Ok(())
    }

    /// The running groups are the result of the window that begins at `start`.
    fn let_out(&self, start: i64, output: &mut Output) -> Result<()> {
        let shown = Shown {
            spec: &self.spec,
            policy: &self.policy,
            groups: &self.running,
            first_key: 0,
            start: &|_| start,
            final_below: self.closed,
        };
        let groups: Vec<usize> = (0..self.running.len()).collect();
        let results = shown.results(&groups)?;
        shown.send_results(&results, output)
    }

    fn clear(&mut self) -> Result<()> {
        self.metrics.rows_removed += self.running.len() as u64;
        self.by_window.clear();
        self.starts.clear();
        self.taken = 0;
        self.steps.clear()?;
        self.running.clear()
    }

    /// Clears away steps that were taken when they outnumber the others.
    fn bury(&mut self) -> Result<()> {
        let to_come = self.steps.len() - self.taken;
        if self.taken < TAKEN_MIN || self.taken < to_come {
            return Ok(());
        }
        let mut keep: Vec<usize> = self.by_window.values().flatten().copied().collect();
        keep.sort_unstable();
        self.steps.retain(&keep)?;
        self.starts = keep.iter().map(|step| self.starts[*step]).collect();
        self.taken = 0;
        self.by_window.clear();
        for (step, start) in self.starts.iter().enumerate() {
            self.by_window.entry(*start).or_default().push(step);
        }
        Ok(())
    }

    /// All that is kept, as partial rows: what runs or enters is in all windows up to that at which everything has left.
    fn full_state(&self) -> Result<RecordBatch> {
        let Some((end, _)) = self.by_window.last_key_value() else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.spec.partial)));
        };
        let slide = self.rule.slide();
        let mut batches = Vec::new();
        let mut add = |starts: Vec<i64>, keys: &[ArrayRef], state: Vec<ArrayRef>| -> Result<()> {
            // A partial row counts its windows in 32 bits, so one that is in more becomes several.
            let (mut rows, mut latest, mut counts) = (Vec::new(), Vec::new(), Vec::new());
            for (row, start) in starts.iter().enumerate() {
                let mut windows = (end - start) / slide;
                while windows > 0 {
                    let count = windows.min(i64::from(i32::MAX));
                    rows.push(row as u32);
                    latest.push(start + (windows - 1) * slide);
                    counts.push(count as i32);
                    windows -= count;
                }
            }
            let (length, rows) = (rows.len(), UInt32Array::from(rows));
            let latest = timestamps(latest, self.spec.partial.field(0).data_type());
            let mut columns = vec![latest, Arc::new(Int32Array::from(counts))];
            for column in keys.iter().chain(&state) {
                columns.push(take(column, &rows, None)?);
            }
            batches.push(record_batch(&self.spec.partial, columns, length)?);
            Ok(())
        };
        let to_come = self.by_window.range(..*end).flat_map(|(_, steps)| steps);
        let steps: Vec<usize> = to_come.copied().collect();
        let starts = steps.iter().map(|step| self.starts[*step]).collect();
        add(
            starts,
            &self.steps.table.keys(&steps)?[1..],
            self.steps.state(&steps)?,
        )?;
        if let Some(open) = self.first_open(self.closed).filter(|open| open < end) {
            let running: Vec<usize> = (0..self.running.len()).collect();
            let keys = self.running.table.keys(&running)?;
            add(vec![open; running.len()], &keys, self.running.state(&running)?)?;
        }
        consolidate(&self.spec, &batches)
    }

    fn watermark(&self, watermark: Option<i64>) -> Option<i64> {
        watermark.filter(|_| self.spec.window.as_ref().is_some_and(|window| window.watermark))
    }

    /// When the clock closes the next window.
    fn due_us(&self) -> Option<i64> {
        self.spec.window.as_ref().filter(|window| window.by_clock)?;
        let step = self.by_window.first_key_value().map(|(start, _)| *start)?;
        let open = self.first_open(self.closed).filter(|_| self.running.len() > 0);
        let start = open.unwrap_or(step);
        Some(start.saturating_add(self.rule.size()))
    }
}

impl Operator for SlidingAggregate {
    fn begin(&mut self, _context: &OperatorContext) -> Result<()> {
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        debug_assert!(changes.weights().is_none(), "partial rows are never retracted");
        self.incoming.push(changes.into_parts().0);
        Ok(())
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        let late = self.closed.max(self.watermark(context.late()));
        for batch in std::mem::take(&mut self.incoming) {
            self.add(&batch, late)?;
            self.delta.push(batch);
        }
        match self.watermark(context.closes()) {
            Some(watermark) => self.close(watermark, output),
            None => Ok(()),
        }
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        checkpointed(&self.spec, delta, full.then(|| self.full_state()))
    }

    fn restore(&mut self, context: &OperatorContext, state: StateBatch) -> Result<()> {
        self.closed = self.watermark(context.closes());
        self.add(&state.changes.into_parts().0, self.closed)
    }

    fn metrics(&self) -> OperatorMetrics {
        let own = self.starts.capacity() * size_of::<i64>();
        OperatorMetrics {
            rows_total: (self.steps.len() - self.taken + self.running.len()) as u64,
            due_us: self.due_us(),
            memory_bytes: (self.steps.memory() + self.running.memory() + own) as u64,
            ..self.metrics.clone()
        }
    }
}
