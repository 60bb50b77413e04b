//! Joins of every kind, kept up to date when both sides change.
//!
//! Both sides are kept as rows with weights, in lists by join key. An epoch's changes are summed up per row while they
//! come in and applied when it is sealed, by the product rule: with dL and dR the changes,
//!
//! ```text
//! d(L x R) = dL x R_before + L_after x dR
//! ```
//!
//! gives the pairs to add and take away, of which the filter keeps some. What comes out for the rows of one side alone
//! (NULL-extended, semi, anti, mark) depends on whether a row has a match. Without a filter that is a property of its
//! key: the other side's rows there have a positive total. With a filter each row counts its matches. Rows that changed
//! and rows whose answer changed send the difference between what they gave before and give now, so the result is that
//! of the query over the new inputs whatever the order of changes within the epoch.
//!
//! A NULL key matches nothing, unless the join says otherwise: such rows are handed on or dropped as they come, and are
//! never part of the state. The same holds for a NULL time where matching rows are near each other in time; what that
//! means for the rest is in [`release`].

mod kept;
mod release;
mod rows;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::compute::{filter, filter_record_batch, not};
use arrow::datatypes::Int64Type;
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::expression::FailurePolicy;
use crate::operator::group_table::GroupTable;
use crate::operator::join::rows::{DEAD_MIN, Rows};
use crate::operator::map::record_batch;
use crate::operator::spec::JoinSpec;
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};

/// Pairs that are looked at together, and rows per batch that comes out.
const CHUNK_ROWS: usize = 8192;

/// Rows per batch of a full checkpoint.
const STATE_ROWS: usize = 16_384;

pub(crate) struct Join {
    spec: Arc<JoinSpec>,
    policy: FailurePolicy,
    /// Keys of both sides.
    keys: GroupTable,
    sides: [Rows; 2],
    /// Below these times the rows of each side were final when the last epoch ended.
    final_below: [Option<i64>; 2],
    /// Rows below these times are late in the running epoch.
    late_below: [Option<i64>; 2],
    /// Changes since the last checkpoint.
    delta: Vec<StateBatch>,
    metrics: OperatorMetrics,
}

/// Pairs of a row that changes on side `changing` and a living row of the other side.
struct Pairs {
    changing: usize,
    /// Row numbers by side.
    rows: [Vec<usize>; 2],
}

impl Join {
    pub fn new(spec: Arc<JoinSpec>, name: &str) -> Result<Self> {
        let key_types = spec.keys[0]
            .iter()
            .map(|column| spec.inputs[0].field(*column).data_type().clone());
        Ok(Self {
            policy: FailurePolicy {
                position: name.to_owned(),
                fail: spec.fail_on_error,
            },
            keys: GroupTable::new(&key_types.collect::<Vec<_>>())?,
            sides: [Rows::new(&spec.inputs[0])?, Rows::new(&spec.inputs[1])?],
            final_below: [None; 2],
            late_below: [None; 2],
            delta: Vec::new(),
            metrics: OperatorMetrics::default(),
            spec,
        })
    }

    /// Notes changes of one side; those that can match nothing come back.
    fn note(&mut self, side: usize, changes: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let (matchable, unmatchable) = self.split(side, changes)?;
        if !matchable.is_empty() {
            let columns = matchable.rows().columns();
            let key: Vec<ArrayRef> = self.spec.keys[side]
                .iter()
                .map(|column| Arc::clone(&columns[*column]))
                .collect();
            let mut keys = Vec::new();
            self.keys.intern(&key, matchable.num_rows(), &mut keys)?;
            let count = self.keys.len();
            self.sides[side].add(columns, matchable.weights(), &keys, count)?;
            if let Some(times) = &self.spec.times {
                self.sides[side].note_times(&columns[times.columns[side]]);
            }
            self.sides[1 - side].reserve_keys(count);
        }
        Ok(unmatchable)
    }

    /// Tells rows with a NULL among their keys, or with no time where it matters, from the others.
    fn split(&self, side: usize, changes: ChangeBatch) -> Result<(ChangeBatch, Option<ChangeBatch>)> {
        let keys = self.spec.keys[side].iter().filter(|_| !self.spec.nulls_match);
        let time = self.spec.times.iter().map(|times| &times.columns[side]);
        let nulls = keys
            .chain(time)
            .map(|column| changes.rows().column(*column).logical_nulls())
            .fold(None, |all, nulls| NullBuffer::union(all.as_ref(), nulls.as_ref()));
        match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => Ok((changes, None)),
            Some(valid) => {
                let valid = BooleanArray::new(valid.into_inner(), None);
                let unmatchable = chosen(&changes, &not(&valid)?)?;
                Ok((chosen(&changes, &valid)?, Some(unmatchable)))
            }
        }
    }

    /// Applies what was noted and sends what follows from it; without an output the state is only taken back.
    fn advance(&mut self, mut output: Option<&mut Output>) -> Result<()> {
        let changed = self.sides.each_mut().map(Rows::take_changed);
        if changed.iter().all(Vec::is_empty) {
            return Ok(());
        }
        if output.is_some() {
            self.note_delta(&changed)?;
        }
        let mut recounted = [Vec::new(), Vec::new()];
        // The left side is applied before the right one's changes are paired with it. Rows that only pass meet the other
        // side as it is after the epoch, and its changes meet none of them.
        let order = if self.spec.passing == Some(0) {
            [1, 0]
        } else {
            [0, 1]
        };
        for side in order {
            if self.spec.passing != Some(1 - side) {
                self.pair(side, &changed[side], &mut recounted, &mut output)?;
            }
            self.sides[side].apply(&changed[side]);
        }
        for side in [0, 1] {
            let role = self.spec.role(side).filter(|_| !self.spec.defers(side));
            if let (Some(role), Some(output)) = (role, &mut output) {
                let affected = self.affected(side, &changed, &recounted[side]);
                self.send_kept(side, role, &affected, output)?;
            }
        }
        for (side, rows) in self.sides.iter_mut().enumerate() {
            rows.settle(&changed[side], &recounted[side]);
        }
        if let Some(passing) = self.spec.passing {
            self.sides[passing].free(&changed[passing]);
        }
        Ok(())
    }

    /// Pairs the changes of one side with the rows of the other: the pairs that match come out, and are counted.
    fn pair(
        &mut self,
        side: usize,
        changed: &[usize],
        recounted: &mut [Vec<usize>; 2],
        output: &mut Option<&mut Output>,
    ) -> Result<()> {
        let sends = self.spec.has_pairs() && output.is_some();
        let counts = [0, 1].map(|side| self.spec.counts(side));
        let mut pairs = Pairs {
            changing: side,
            rows: [Vec::new(), Vec::new()],
        };
        for row in changed.iter().copied() {
            // A row that stays keeps its count, whatever its weight.
            let is_new = self.sides[side].weights[row] == 0;
            if !(sends || counts[1 - side] || counts[side] && is_new) {
                continue;
            }
            let mut other = self.sides[1 - side].first_of(self.sides[side].key[row]);
            while let Some(partner) = other {
                pairs.rows[side].push(row);
                pairs.rows[1 - side].push(partner);
                if pairs.rows[side].len() == CHUNK_ROWS {
                    self.match_pairs(&mut pairs, counts, recounted, output)?;
                }
                other = self.sides[1 - side].after(partner);
            }
        }
        self.match_pairs(&mut pairs, counts, recounted, output)
    }

    /// Counts and sends those of `pairs` that match, and empties it.
    fn match_pairs(
        &mut self,
        pairs: &mut Pairs,
        counts: [bool; 2],
        recounted: &mut [Vec<usize>; 2],
        output: &mut Option<&mut Output>,
    ) -> Result<()> {
        self.filter_pairs(pairs, output)?;
        let (side, other) = (pairs.changing, 1 - pairs.changing);
        let couples = || {
            pairs.rows[side]
                .iter()
                .copied()
                .zip(pairs.rows[other].iter().copied())
        };
        for (row, partner) in couples() {
            if counts[other] {
                self.sides[other].matches[partner] += self.sides[side].pending[row];
                recounted[other].push(partner);
            }
            if counts[side] && self.sides[side].weights[row] == 0 {
                self.sides[side].matches[row] += self.sides[other].weights[partner];
            }
        }
        if let Some(output) = output
            && self.spec.has_pairs()
            && !pairs.rows[0].is_empty()
        {
            let weights = couples().map(|pair| self.weight(side, pair)).collect();
            let mut columns = self.sides[0].columns(self.spec.widths[0], &pairs.rows[0])?;
            columns.extend(self.sides[1].columns(self.spec.widths[1], &pairs.rows[1])?);
            self.send(columns, weights, output)?;
        }
        pairs.rows.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// By how much a pair's weight changes, where the row of `side` changes.
    fn weight(&self, side: usize, (row, partner): (usize, usize)) -> i64 {
        self.sides[side].pending[row] * self.sides[1 - side].weights[partner]
    }

    fn send(&self, columns: Vec<ArrayRef>, weights: Vec<i64>, output: &mut Output) -> Result<()> {
        let rows = record_batch(&self.spec.output, columns, weights.len())?;
        output.send(changes(rows, weights));
        Ok(())
    }

    fn note_delta(&mut self, changed: &[Vec<usize>; 2]) -> Result<()> {
        for (port, changed) in changed.iter().enumerate() {
            if self.spec.passing == Some(port) {
                continue;
            }
            self.metrics.rows_updated += changed.len() as u64;
            for rows in changed.chunks(STATE_ROWS) {
                let side = &self.sides[port];
                let weights = rows.iter().map(|row| side.pending[*row]).collect();
                self.metrics.rows_removed += rows
                    .iter()
                    .filter(|row| side.weights[**row] + side.pending[**row] == 0)
                    .count() as u64;
                let state = self.state(port, rows, weights)?;
                self.delta.push(state);
            }
        }
        Ok(())
    }

    fn state(&self, port: usize, rows: &[usize], weights: Vec<i64>) -> Result<StateBatch> {
        let side = &self.sides[port];
        let columns = side.columns(side.width(), rows)?;
        let rows = record_batch(&self.spec.inputs[port], columns, rows.len())?;
        Ok(StateBatch {
            port,
            changes: changes(rows, weights),
        })
    }

    /// Clears dead rows and keys away where there are many.
    fn bury(&mut self) {
        let mut buried = false;
        for side in &mut self.sides {
            if side.has_many_dead() {
                side.bury();
                buried = true;
            }
        }
        if buried && self.keys.len() >= DEAD_MIN {
            let keep: Vec<usize> = (0..self.keys.len())
                .filter(|key| self.sides.iter().any(|side| side.first_of(*key).is_some()))
                .collect();
            if keep.len() <= self.keys.len() / 2 {
                self.keys.retain(&keep);
                self.sides.iter_mut().for_each(|side| side.retain_keys(&keep));
            }
        }
    }
}

impl Operator for Join {
    fn begin(&mut self, context: &OperatorContext) -> Result<()> {
        self.metrics = OperatorMetrics::default();
        for side in [0, 1] {
            let late = context.watermarks[side].late;
            self.late_below[side] = late.filter(|_| self.spec.drops_late(side));
        }
        Ok(())
    }

    fn push(&mut self, port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        let changes = self.without_late(port, changes, output)?;
        match (self.note(port, changes)?, self.spec.role(port)) {
            (Some(unmatchable), Some(role)) => self.send_unmatchable(port, role, &unmatchable, output),
            _ => Ok(()),
        }
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        self.advance(Some(output))?;
        self.release(context, Some(output))?;
        self.bury();
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        if !full {
            return Ok(delta);
        }
        let mut state = Vec::new();
        for (port, side) in self.sides.iter().enumerate() {
            let rows: Vec<usize> = side.living_rows().collect();
            for rows in rows.chunks(STATE_ROWS) {
                let weights = rows.iter().map(|row| side.weights[*row]).collect();
                state.push(self.state(port, rows, weights)?);
            }
        }
        Ok(state)
    }

    fn restore(&mut self, _context: &OperatorContext, state: StateBatch) -> Result<()> {
        self.note(state.port, state.changes).map(|_| ())
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        self.advance(None)?;
        self.release(context, None)?;
        self.bury();
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        let rows = self.sides.iter().map(|side| side.living).sum::<usize>();
        let memory = self.sides.iter().map(Rows::memory).sum::<usize>();
        OperatorMetrics {
            rows_total: rows as u64,
            memory_bytes: (memory + self.keys.memory()) as u64,
            ..self.metrics.clone()
        }
    }
}

/// Rows with weights, which are left out when all are one.
fn changes(rows: RecordBatch, weights: Vec<i64>) -> ChangeBatch {
    if weights.iter().all(|weight| *weight == 1) {
        ChangeBatch::insertions(rows)
    } else {
        ChangeBatch::new(rows, weights.into())
    }
}

/// The changes where `mask` is true.
pub(super) fn chosen(changes: &ChangeBatch, mask: &BooleanArray) -> Result<ChangeBatch> {
    let rows = filter_record_batch(changes.rows(), mask)?;
    Ok(match changes.weights() {
        None => ChangeBatch::insertions(rows),
        Some(weights) => {
            let weights: ArrayRef = filter(weights, mask)?;
            ChangeBatch::new(rows, weights.as_primitive::<Int64Type>().clone())
        }
    })
}
