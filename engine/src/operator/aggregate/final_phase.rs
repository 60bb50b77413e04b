//! The second phase: groups for good, and what changes about their results.
//!
//! At the end of an epoch the partial rows that came in are merged, and each touched group's result before and after is
//! compared. Where groups come out only when final, they come out when the watermark passes the end of their window.
//! Groups of final windows, and groups without rows, are dead; the dead are cleared away when they outnumber the living.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Int32Type, Int64Type, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

use crate::epoch::{Epoch, OperatorContext};
use crate::error::Result;
use crate::expression::FailurePolicy;
use crate::operator::aggregate::emit::{Results, Shown};
use crate::operator::aggregate::{Groups, PartialLayout, checkpointed, timestamps};
use crate::operator::map::record_batch;
use crate::operator::spec::{AggregateSpec, WindowSource};
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};

/// The dead are not cleared away before there are this many.
const DEAD_GROUPS_MIN: usize = 4096;

pub(crate) struct FinalAggregate {
    pub(super) spec: Arc<AggregateSpec>,
    layout: PartialLayout,
    pub(super) policy: FailurePolicy,
    pub(super) groups: Groups,
    /// Start of each group's window, if there is one.
    pub(super) starts: Vec<i64>,
    /// Groups by window start, where windows become final.
    by_window: BTreeMap<i64, Vec<usize>>,
    /// Windows that end here or before were closed, and have come out where they do once, before this epoch.
    emitted: Option<i64>,
    /// Windows that end here or before are shown as final.
    final_below: Option<i64>,
    /// Groups that have rows.
    living: usize,
    /// Partial rows of the running epoch.
    incoming: Vec<RecordBatch>,
    /// Partial rows since the last checkpoint.
    delta: Vec<RecordBatch>,
    /// The last seal in which each group was touched, counted from 1.
    touched: Vec<u64>,
    seals: u64,
    metrics: OperatorMetrics,
}

/// Partial rows with their groups: `rows[i]` belongs to `groups[i]`.
struct Located {
    batch: RecordBatch,
    groups: Vec<usize>,
    /// `None` when every row stands once and in order.
    rows: Option<UInt32Array>,
}

impl FinalAggregate {
    pub fn new(spec: Arc<AggregateSpec>, name: &str) -> Result<Self> {
        let keys = spec
            .keys
            .iter()
            .map(|column| spec.input.field(*column).data_type().clone());
        let key_types: Vec<DataType> = spec.window.iter().map(|_| DataType::Int64).chain(keys).collect();
        Ok(Self {
            layout: PartialLayout::of(&spec),
            policy: FailurePolicy {
                position: name.to_owned(),
                fail: spec.fail_on_error,
            },
            groups: Groups::new(&spec, &key_types)?,
            spec,
            starts: Vec::new(),
            by_window: BTreeMap::new(),
            emitted: None,
            final_below: None,
            living: 0,
            incoming: Vec::new(),
            delta: Vec::new(),
            touched: Vec::new(),
            seals: 0,
            metrics: OperatorMetrics::default(),
        })
    }

    /// The results of groups as they are now.
    fn results(&self, groups: &[usize]) -> Result<Results> {
        self.shown(|shown| shown.results(groups))
    }

    fn shown<T>(&self, show: impl FnOnce(&Shown<'_>) -> T) -> T {
        show(&Shown {
            spec: &self.spec,
            policy: &self.policy,
            groups: &self.groups,
            first_key: usize::from(self.spec.window.is_some()),
            start: &|group| self.starts.get(group).copied().unwrap_or(0),
            final_below: self.final_below,
        })
    }

    /// The watermark, if it makes windows of this operator final.
    fn effective(&self, watermark: Option<i64>) -> Option<i64> {
        watermark.filter(|_| self.spec.window.as_ref().is_some_and(|window| window.watermark))
    }

    /// Without keys there is one group, and it is there even without rows.
    pub(super) fn is_global(&self) -> bool {
        self.spec.window.is_none() && self.spec.keys.is_empty()
    }

    /// Whether the group is part of the result.
    fn is_there(&self, group: usize) -> bool {
        self.groups.rows[group] > 0 || self.is_global()
    }

    /// Finds the groups of partial rows, without those of windows that are final.
    fn locate(&mut self, batch: RecordBatch, watermark: Option<i64>) -> Result<Located> {
        let own_keys = &batch.columns()[self.layout.first_key()..self.layout.keys];
        let mut groups = Vec::new();
        let Some(assign) = self.spec.window.as_ref().map(|window| window.assign) else {
            self.groups.intern(own_keys, batch.num_rows(), &mut groups)?;
            self.note_new_groups()?;
            return Ok(Located {
                batch,
                groups,
                rows: None,
            });
        };
        let latest = batch
            .column(0)
            .as_primitive::<TimestampMicrosecondType>()
            .values();
        let counts = self
            .layout
            .windows
            .then(|| batch.column(1).as_primitive::<Int32Type>().values());
        let slide = if let WindowSource::Rule(rule) = assign {
            rule.slide()
        } else {
            0
        };
        let (mut starts, mut rows) = (Vec::with_capacity(latest.len()), Vec::with_capacity(latest.len()));
        for (row, latest) in latest.iter().enumerate() {
            for back in 0..counts.map_or(1, |counts| i64::from(counts[row])) {
                let start = latest - back * slide;
                if watermark.is_some_and(|watermark| start.saturating_add(assign.size()) <= watermark) {
                    break;
                }
                starts.push(start);
                rows.push(row as u32);
            }
        }
        let rows = (counts.is_some() || rows.len() < latest.len()).then(|| UInt32Array::from(rows));
        let located = starts.len();
        let mut keys: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(starts))];
        for key in own_keys {
            keys.push(chosen(key, rows.as_ref())?);
        }
        self.groups.intern(&keys, located, &mut groups)?;
        self.note_new_groups()?;
        Ok(Located { batch, groups, rows })
    }

    fn note_new_groups(&mut self) -> Result<()> {
        let known = self.touched.len();
        self.touched.resize(self.groups.len(), 0);
        let Some(window) = self.spec.window.as_ref().filter(|_| known < self.touched.len()) else {
            return Ok(());
        };
        let new: Vec<usize> = (known..self.groups.len()).collect();
        let keys = self.groups.table.keys(&new)?;
        self.starts
            .extend_from_slice(keys[0].as_primitive::<Int64Type>().values());
        if window.watermark {
            for group in new {
                self.by_window.entry(self.starts[group]).or_default().push(group);
            }
        }
        Ok(())
    }

    fn merge(&mut self, located: &Located) -> Result<()> {
        let state = &located.batch.columns()[self.layout.keys..];
        let state = state
            .iter()
            .map(|column| chosen(column, located.rows.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        self.groups.merge(&located.groups, &state)
    }

    /// The distinct groups among `located`, in order of appearance.
    fn distinct_groups(&mut self, located: &[Located]) -> Vec<usize> {
        self.seals += 1;
        let mut distinct = Vec::new();
        for group in located.iter().flat_map(|located| &located.groups) {
            if self.touched[*group] != self.seals {
                self.touched[*group] = self.seals;
                distinct.push(*group);
            }
        }
        distinct
    }

    /// Merges what came in and sends the changes, unless groups come out only when final.
    fn apply(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        let watermark = self.effective(context.late());
        let incoming = std::mem::take(&mut self.incoming);
        self.delta.extend(incoming.iter().cloned());
        let mut located = Vec::with_capacity(incoming.len());
        for batch in incoming {
            located.push(self.locate(batch, watermark)?);
        }
        let mut touched = self.distinct_groups(&located);
        if self.is_global() && self.groups.len() == 0 {
            self.groups.intern(&[], 1, &mut touched)?;
            self.note_new_groups()?;
        } else if self.is_global() && touched.is_empty() && context.epoch == Epoch(0) {
            touched.push(0);
        }
        // The one row of a global aggregate came out in epoch 0, and not before.
        let was_out = |group: &usize| {
            if self.is_global() {
                context.epoch > Epoch(0)
            } else {
                self.is_there(*group)
            }
        };
        let before: Vec<usize> = touched.iter().copied().filter(was_out).collect();
        // What is final is not here any more.
        self.final_below = None;
        let old = match (self.spec.final_only, self.spec.revisable) {
            (true, false) => None,
            (true, true) => Some(self.results(&self.emitted(&before))?),
            (false, _) => Some(self.results(&before)?),
        };
        for located in &located {
            self.merge(located)?;
        }
        self.count_revisions(&self.emitted(&before))?;
        self.final_below = self.effective(context.closes());
        let after: Vec<usize> = touched
            .iter()
            .copied()
            .filter(|group| self.is_there(*group))
            .collect();
        self.count_changes(&touched, &before, &after);
        if let Some(old) = old {
            let new = match self.spec.revisable {
                true => self.results(&self.emitted(&after))?,
                false => self.results(&after)?,
            };
            self.shown(|shown| shown.send_changes(&old, &new, output))?;
        }
        Ok(())
    }

    /// Counts one more for each of `groups`, also in what is kept on disk.
    fn count_revisions(&mut self, groups: &[usize]) -> Result<()> {
        let Some(position) = self.spec.revisions().filter(|_| !groups.is_empty()) else {
            return Ok(());
        };
        let mut state = Groups::without_rows(&self.spec, groups.len())?;
        let column: usize = self.groups.state_widths[..position].iter().sum();
        state[column] = Arc::new(Int64Array::from(vec![1; groups.len()]));
        self.groups.merge(groups, &state)?;
        let rows = self.partial_rows(groups, state)?;
        self.delta.push(rows);
        Ok(())
    }

    /// When the clock makes the next window final.
    fn due_us(&self) -> Option<i64> {
        let window = self.spec.window.as_ref().filter(|window| window.by_clock)?;
        let (first, _) = self.by_window.first_key_value()?;
        Some(first.saturating_add(window.assign.size()))
    }

    /// Those of `groups` whose windows had come out before this epoch.
    fn emitted(&self, groups: &[usize]) -> Vec<usize> {
        let size = self.spec.window.as_ref().map_or(0, |window| window.assign.size());
        let is_out = |group: &&usize| {
            self.emitted
                .is_some_and(|emitted| self.starts[**group].saturating_add(size) <= emitted)
        };
        groups.iter().filter(is_out).copied().collect()
    }

    /// Lets out the windows that have become final and may be revised for a while.
    fn emit(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        let Some(window) = self.spec.window.as_ref().filter(|_| self.spec.knows_closed()) else {
            return Ok(());
        };
        let Some(until) = context.watermarks[1].closes else {
            return Ok(());
        };
        if !self.spec.revisable {
            self.emitted = Some(until);
            return Ok(());
        }
        let size = window.assign.size();
        let first = self.emitted.map(|emitted| emitted.saturating_sub(size));
        if first.is_some_and(|first| first >= until.saturating_sub(size)) {
            return Ok(());
        }
        let begin = first.map_or(Unbounded, Excluded);
        let windows = (self.by_window).range((begin, Included(until.saturating_sub(size))));
        let closed: Vec<usize> = windows
            .flat_map(|(_, groups)| groups)
            .copied()
            .filter(|group| self.groups.rows[*group] > 0)
            .collect();
        let results = self.results(&closed)?;
        self.shown(|shown| shown.send_results(&results, output))?;
        self.emitted = Some(until);
        Ok(())
    }

    fn count_changes(&mut self, touched: &[usize], before: &[usize], after: &[usize]) {
        self.living = (self.living + after.len()).saturating_sub(before.len());
        self.metrics.rows_updated += touched.len() as u64;
        self.metrics.rows_removed += before.len().saturating_sub(after.len()) as u64;
    }

    /// Frees the windows that the watermark has made final; they come out now if they do only once. `applied`: what was
    /// touched in this epoch was shown as final. `emitted`: windows up to there were out before.
    fn close(&mut self, (applied, emitted): (bool, Option<i64>), output: &mut Output) -> Result<()> {
        let (Some(watermark), Some(window)) = (self.final_below, &self.spec.window) else {
            return Ok(());
        };
        let size = window.assign.size();
        let mut closed = Vec::new();
        while let Some(entry) = self.by_window.first_entry() {
            if entry.key().saturating_add(size) > watermark {
                break;
            }
            closed.extend(entry.remove());
        }
        let closed_living: Vec<usize> = closed
            .iter()
            .copied()
            .filter(|group| self.groups.rows[*group] > 0)
            .collect();
        if self.spec.final_only && !self.spec.revisable {
            let results = self.results(&closed_living)?;
            self.shown(|shown| shown.send_results(&results, output))?;
        } else if self.spec.tells_final() {
            let was_shown = |group: &usize| {
                let end = self.starts[*group].saturating_add(size);
                let was_out = !self.spec.revisable || emitted.is_some_and(|emitted| end <= emitted);
                was_out && !(applied && self.touched[*group] == self.seals)
            };
            let shown: Vec<usize> = closed_living.iter().copied().filter(was_shown).collect();
            self.final_below = None;
            let old = self.results(&shown)?;
            self.final_below = Some(watermark);
            let new = self.results(&shown)?;
            self.shown(|shown| shown.send_changes(&old, &new, output))?;
        }
        for group in &closed {
            self.groups.rows[*group] = 0;
        }
        self.living -= closed_living.len();
        self.metrics.rows_removed += closed_living.len() as u64;
        Ok(())
    }

    /// Clears away dead groups when they outnumber the living.
    fn bury(&mut self) -> Result<()> {
        let dead = self.groups.len().saturating_sub(self.living);
        if self.is_global() || dead < DEAD_GROUPS_MIN || dead < self.living {
            return Ok(());
        }
        let keep: Vec<usize> = (0..self.groups.len())
            .filter(|group| self.groups.rows[*group] != 0)
            .collect();
        self.groups.retain(&keep)?;
        self.touched = keep.iter().map(|group| self.touched[*group]).collect();
        if self.spec.window.is_some() {
            self.starts = keep.iter().map(|group| self.starts[*group]).collect();
        }
        if !self.by_window.is_empty() {
            self.by_window.clear();
            for (group, start) in self.starts.iter().enumerate() {
                self.by_window.entry(*start).or_default().push(group);
            }
        }
        Ok(())
    }

    /// All living groups as partial rows, each in one window.
    fn full_state(&self) -> Result<RecordBatch> {
        let living: Vec<usize> = (0..self.groups.len())
            .filter(|group| self.groups.rows[*group] != 0)
            .collect();
        let state = self.groups.state(&living)?;
        self.partial_rows(&living, state)
    }

    /// Partial rows of these groups, each in one window.
    fn partial_rows(&self, groups: &[usize], state: Vec<ArrayRef>) -> Result<RecordBatch> {
        let mut columns = self.groups.table.keys(groups)?;
        if self.layout.window {
            let starts = groups.iter().map(|group| self.starts[*group]).collect();
            columns[0] = timestamps(starts, self.spec.partial.field(0).data_type());
        }
        if self.layout.windows {
            columns.insert(1, Arc::new(Int32Array::from(vec![1; groups.len()])));
        }
        columns.extend(state);
        Ok(record_batch(&self.spec.partial, columns, groups.len())?)
    }
}

impl Operator for FinalAggregate {
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
        let first = self.is_global() && context.worker == 0 && context.epoch == Epoch(0);
        let applied = !self.incoming.is_empty() || first;
        let emitted = self.emitted;
        if applied {
            self.apply(context, output)?;
        }
        self.final_below = self.effective(context.closes());
        self.emit(context, output)?;
        self.close((applied, emitted), output)?;
        self.bury()
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        checkpointed(&self.spec, delta, full.then(|| self.full_state()))
    }

    fn restore(&mut self, context: &OperatorContext, state: StateBatch) -> Result<()> {
        let (rows, _) = state.changes.into_parts();
        let located = [self.locate(rows, self.effective(context.closes()))?];
        let touched = self.distinct_groups(&located);
        let before = touched
            .iter()
            .filter(|group| self.groups.rows[**group] > 0)
            .count();
        self.merge(&located[0])?;
        let after = touched
            .iter()
            .filter(|group| self.groups.rows[**group] > 0)
            .count();
        self.living = (self.living + after).saturating_sub(before);
        Ok(())
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        if self.spec.knows_closed() {
            self.emitted = self.effective(context.watermarks[1].closes);
        }
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        let own = (self.starts.capacity() + self.touched.capacity()) * size_of::<u64>();
        OperatorMetrics {
            rows_total: self.living as u64,
            due_us: self.due_us(),
            memory_bytes: (self.groups.memory() + own) as u64,
            ..self.metrics.clone()
        }
    }
}

/// The rows of a column that were chosen, all when `None`.
fn chosen(column: &ArrayRef, rows: Option<&UInt32Array>) -> Result<ArrayRef> {
    Ok(match rows {
        None => Arc::clone(column),
        Some(rows) => take(column, rows, None)?,
    })
}
