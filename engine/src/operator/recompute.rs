//! The generic operator: it keeps the input rows of each group and computes the results of the groups that an epoch
//! touched anew, before and after, and hands on the difference.
//!
//! It serves whatever has no incremental form of its own: window functions, aggregates such as `array_agg` and `stddev`,
//! DISTINCT ON and LIMIT. Nothing can drift or be forgotten, since a result is always a function of the rows that are
//! there. The price is that a group is looked at as a whole, except for its first rows, which are read off its order.

mod evaluation;
mod first_rows;
mod keyed_rows;
pub mod spec;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::{filter, filter_record_batch};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use hashbrown::HashMap;
use millpond_storage::{ChangeBatch, consolidate};

use crate::epoch::{Epoch, OperatorContext};
use crate::error::Result;
use crate::expression::row_as_json;
use crate::operator::recompute::evaluation::{Evaluated, Evaluation, GroupRows};
use crate::operator::recompute::keyed_rows::{KeyedRows, Row};
use crate::operator::recompute::spec::{Computation, RecomputeSpec};
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};
use crate::source::BadRow;

pub(crate) struct Recompute {
    spec: Arc<RecomputeSpec>,
    /// The node, as the position of bad rows.
    name: String,
    state: KeyedRows,
    /// `None` where the result is read off the state.
    evaluation: Option<Evaluation>,
    incoming: Vec<ChangeBatch>,
    /// Changes since the last checkpoint.
    delta: Vec<ChangeBatch>,
    /// When the clock closes the groups that there are.
    ends: BTreeSet<i64>,
    metrics: OperatorMetrics,
}

/// The result of some groups, and the keys of those that failed as JSON, with the error.
#[derive(Default)]
struct Results {
    changes: Vec<ChangeBatch>,
    failures: HashMap<Vec<u8>, String>,
}

impl Recompute {
    pub fn new(spec: Arc<RecomputeSpec>, name: &str) -> Result<Self> {
        let evaluation = match &spec.computation {
            Computation::Plan { plan, .. } => Some(Evaluation::new(plan)?),
            Computation::First(_) => None,
        };
        Ok(Self {
            state: KeyedRows::new(&spec)?,
            evaluation,
            spec,
            name: name.to_owned(),
            incoming: Vec::new(),
            delta: Vec::new(),
            ends: BTreeSet::new(),
            metrics: OperatorMetrics::default(),
        })
    }

    /// Whether there is a result even without rows.
    fn of_nothing(&self) -> bool {
        matches!(self.spec.computation, Computation::Plan { of_nothing: true, .. })
    }

    /// Below this first key groups are closed at `watermark`.
    fn closed_below(&self, watermark: Option<i64>) -> Option<i64> {
        let closing = self.spec.closing?;
        Some(watermark?.saturating_sub(closing.to_end).saturating_add(1))
    }

    /// The epoch's changes, summed, without those of closed groups.
    fn take_incoming(&mut self, watermark: Option<i64>) -> Result<Option<ChangeBatch>> {
        let Some(changes) = consolidate(&std::mem::take(&mut self.incoming))? else {
            return Ok(None);
        };
        let (Some(bound), Some(closing)) = (self.closed_below(watermark), self.spec.closing) else {
            return Ok(Some(changes));
        };
        let times = changes
            .rows()
            .column(closing.column)
            .as_primitive::<TimestampMicrosecondType>();
        let open: BooleanArray = times
            .iter()
            .map(|time| Some(time.is_none_or(|time| time >= bound)))
            .collect();
        if open.true_count() == open.len() {
            return Ok(Some(changes));
        }
        let rows = filter_record_batch(changes.rows(), &open)?;
        let changes = match changes.weights() {
            None => ChangeBatch::insertions(rows),
            Some(weights) => {
                let weights = filter(weights, &open)?;
                ChangeBatch::new(rows, weights.as_primitive::<Int64Type>().clone())
            }
        };
        Ok(Some(changes).filter(|changes| !changes.is_empty()))
    }

    /// The results of groups as they are now.
    fn results(&self, groups: &[Box<[u8]>]) -> Result<Results> {
        self.results_of(groups.iter().map(|key| self.state.group(key)))
    }

    fn results_of<'a>(&self, groups: impl Iterator<Item = impl Iterator<Item = Row<'a>>>) -> Result<Results> {
        let Some(evaluation) = &self.evaluation else {
            let Computation::First(first) = &self.spec.computation else {
                return Ok(Results::default());
            };
            let changes = first.of(&self.spec, &self.state, groups)?;
            return Ok(Results {
                changes: vec![changes],
                ..Results::default()
            });
        };
        let (mut rows, mut lengths) = (Vec::new(), Vec::new());
        for group in groups {
            let before = rows.len();
            for row in group {
                rows.extend(std::iter::repeat_n(
                    row,
                    usize::try_from(row.weight()).unwrap_or(0),
                ));
            }
            if rows.len() > before || self.of_nothing() {
                lengths.push(rows.len() - before);
            }
        }
        let groups = GroupRows {
            rows: self.state.decode(rows.into_iter())?,
            lengths,
        };
        let evaluated = match groups.lengths.is_empty() {
            true => Evaluated::nothing(),
            false => evaluation.run(&self.spec, &groups)?,
        };
        let mut failures = HashMap::new();
        for (group, message) in evaluated.failures {
            let offset = groups.lengths[..group].iter().sum();
            failures.insert(self.key_as_json(&groups.rows, offset)?, message);
        }
        Ok(Results {
            changes: evaluated.rows.into_iter().map(ChangeBatch::insertions).collect(),
            failures,
        })
    }

    fn key_as_json(&self, rows: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        Ok(match self.spec.keys.is_empty() {
            true => b"{}".to_vec(),
            false => row_as_json(&rows.project(&self.spec.keys)?, row),
        })
    }

    fn report(&self, results: &Results, before: Option<&Results>, output: &mut Output) {
        for (bytes, error) in &results.failures {
            // A group that failed before and still does is no news.
            if before.is_none_or(|before| !before.failures.contains_key(bytes)) {
                output.bad_rows.push(BadRow {
                    position: self.name.clone(),
                    bytes: bytes.clone(),
                    error: error.clone(),
                });
            }
        }
    }

    /// Hands on what turns the results `before` into those `after`.
    fn send_difference(&self, before: Results, after: Results, output: &mut Output) -> Result<()> {
        self.report(&after, Some(&before), output);
        if before.changes.iter().all(ChangeBatch::is_empty) {
            after.changes.into_iter().for_each(|changes| output.send(changes));
            return Ok(());
        }
        let mut changes: Vec<ChangeBatch> = before.changes.into_iter().map(negated).collect();
        changes.extend(after.changes);
        changes.retain(|changes| !changes.is_empty());
        if let Some(difference) = consolidate(&changes)? {
            output.send(difference);
        }
        Ok(())
    }

    fn apply(&mut self, changes: &ChangeBatch) -> Result<()> {
        let (touched, removed) = self.state.apply(changes)?;
        self.metrics.rows_updated += touched as u64;
        self.metrics.rows_removed += removed as u64;
        Ok(())
    }

    /// Frees the groups that the watermark has closed; they come out now if they do only once.
    fn close(&mut self, watermark: Option<i64>, output: &mut Output) -> Result<()> {
        let Some(bound) = self.closed_below(watermark) else {
            return Ok(());
        };
        let before = self.state.len();
        let closed = self.state.take_below(bound)?;
        self.metrics.rows_removed += (before - self.state.len()) as u64;
        if self.spec.final_only && !closed.is_empty() {
            let results = self.results_of(closed.iter().map(|group| group.rows()))?;
            self.report(&results, None, output);
            results
                .changes
                .into_iter()
                .for_each(|changes| output.send(changes));
        }
        Ok(())
    }

    /// Forgets rows that can never come first again.
    fn forget(&mut self, groups: &[Box<[u8]>]) {
        let Computation::First(first) = &self.spec.computation else {
            return;
        };
        if !self.spec.append_only {
            return;
        }
        for group in groups {
            for row in first.beyond(self.state.group(group)) {
                self.state.remove(&row);
            }
        }
    }
}

impl Recompute {
    /// Takes down when the clock closes the groups of `rows`.
    fn note_ends(&mut self, rows: &RecordBatch) {
        if let Some(closing) = self.spec.closing.as_ref().filter(|_| self.spec.by_clock) {
            let times = rows
                .column(closing.column)
                .as_primitive::<TimestampMicrosecondType>();
            let ends = times.iter().flatten();
            self.ends
                .extend(ends.map(|time| time.saturating_add(closing.to_end)));
        }
    }

    fn forget_ends(&mut self, closes: Option<i64>) {
        while closes
            .zip(self.ends.first())
            .is_some_and(|(closes, end)| *end <= closes)
        {
            self.ends.pop_first();
        }
    }
}

impl Operator for Recompute {
    fn begin(&mut self, _context: &OperatorContext) -> Result<()> {
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        if !changes.is_empty() {
            self.incoming.push(changes);
        }
        Ok(())
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        let first = self.of_nothing() && context.worker == 0 && context.epoch == Epoch(0);
        let changes = self.take_incoming(context.late())?;
        if changes.is_some() || first {
            let groups = match &changes {
                Some(changes) => self.state.groups(changes.rows())?,
                None => vec![Box::default()],
            };
            let before = match self.spec.final_only || first {
                true => Results::default(),
                false => self.results(&groups)?,
            };
            if let Some(changes) = changes {
                self.apply(&changes)?;
                self.note_ends(changes.rows());
                self.delta.push(changes);
            }
            if !self.spec.final_only {
                let after = self.results(&groups)?;
                self.send_difference(before, after, output)?;
            }
            self.forget(&groups);
        }
        self.forget_ends(context.closes());
        self.close(context.closes(), output)
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        let changes = match full {
            true => Some(self.state.all()?),
            false => consolidate(&delta)?,
        };
        Ok(StateBatch::of_input(changes, full))
    }

    fn restore(&mut self, _context: &OperatorContext, state: StateBatch) -> Result<()> {
        self.apply(&state.changes)
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        if let Some(bound) = self.closed_below(context.closes()) {
            self.state.take_below(bound)?;
        }
        if self.spec.by_clock {
            let rows = self.state.all()?;
            self.note_ends(rows.rows());
        }
        if self.spec.append_only && matches!(self.spec.computation, Computation::First(_)) {
            self.forget(&self.state.all_groups());
        }
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        OperatorMetrics {
            rows_total: self.state.len() as u64,
            due_us: self.ends.first().copied(),
            memory_bytes: self.state.memory() as u64,
            ..self.metrics.clone()
        }
    }
}

fn negated(changes: ChangeBatch) -> ChangeBatch {
    let (rows, weights) = changes.into_parts();
    match weights {
        None => ChangeBatch::retractions(rows),
        Some(weights) => ChangeBatch::new(rows, weights.unary(|weight: i64| -weight)),
    }
}
