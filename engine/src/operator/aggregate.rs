//! Grouping and aggregation in two phases.
//!
//! Before the exchange [`PartialAggregate`] sums up the epoch's rows per group, so that only one row per group travels.
//! After it [`FinalAggregate`] keeps the groups for good and says what changed; [`SlidingAggregate`] does where windows
//! overlap, come out once, and what is added can be taken back. All hold [`Groups`]; between them, and on
//! disk, groups are *partial rows* (see [`AggregateSpec`]).

mod emit;
mod final_phase;
mod partial_phase;
mod sliding;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

pub(crate) use final_phase::FinalAggregate;
pub(crate) use partial_phase::PartialAggregate;
pub(crate) use sliding::SlidingAggregate;

use crate::error::Result;
use crate::operator::StateBatch;
use crate::operator::accumulator::{self, Accumulator, Need};
use crate::operator::group_table::GroupTable;
use crate::operator::map::record_batch;
use crate::operator::spec::AggregateSpec;

/// Keys, row counts and accumulators of some groups.
struct Groups {
    table: GroupTable,
    /// Sum of the weights of the rows of each group.
    rows: Vec<i64>,
    accumulators: Vec<Box<dyn Accumulator>>,
    /// How many state columns each accumulator has.
    state_widths: Vec<usize>,
}

impl Groups {
    fn new(spec: &AggregateSpec, key_types: &[DataType]) -> Result<Self> {
        let need = Need {
            append_only: spec.append_only,
        };
        let accumulators = spec
            .accumulators
            .iter()
            .map(|spec| accumulator::build(spec, &need));
        Ok(Self {
            table: GroupTable::new(key_types)?,
            rows: Vec::new(),
            accumulators: accumulators.collect::<Result<_>>()?,
            state_widths: spec
                .accumulators
                .iter()
                .map(|accumulator| accumulator::state_types(accumulator, spec.append_only).len())
                .collect(),
        })
    }

    /// The state of so many groups without rows, with a row count each.
    fn without_rows(spec: &AggregateSpec, count: usize) -> Result<Vec<ArrayRef>> {
        let mut groups = Groups::new(spec, &[])?;
        groups.rows.resize(count, 0);
        { groups.accumulators.iter_mut() }.for_each(|accumulator| accumulator.reserve(count));
        groups.state(&(0..count).collect::<Vec<_>>())
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    /// Finds or makes the group of each row.
    fn intern(&mut self, keys: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()> {
        self.table.intern(keys, rows, groups)?;
        let total = self.table.len();
        self.rows.resize(total, 0);
        self.accumulators
            .iter_mut()
            .for_each(|accumulator| accumulator.reserve(total));
        Ok(())
    }

    /// Adds input rows to their groups.
    fn update(
        &mut self,
        spec: &AggregateSpec,
        groups: &[usize],
        rows: &RecordBatch,
        weights: Option<&Int64Array>,
    ) -> Result<()> {
        let weights = weights.map(|weights| weights.values().as_ref());
        match weights {
            None => groups.iter().for_each(|group| self.rows[*group] += 1),
            Some(weights) => groups
                .iter()
                .zip(weights)
                .for_each(|(group, weight)| self.rows[*group] += weight),
        }
        for (accumulator, spec) in self.accumulators.iter_mut().zip(&spec.accumulators) {
            let values = spec.argument.map(|column| rows.column(column));
            match spec.filter {
                None => accumulator.update(groups, values, weights)?,
                Some(column) => {
                    let mask = truths(rows.column(column).as_boolean());
                    let kept = |row: &usize| mask.value(*row);
                    let chosen: Vec<usize> = (0..groups.len()).filter(kept).map(|row| groups[row]).collect();
                    let values = values.map(|values| filter(values, &mask)).transpose()?;
                    let weights =
                        weights.map(|w| (0..w.len()).filter(kept).map(|row| w[row]).collect::<Vec<_>>());
                    accumulator.update(&chosen, values.as_ref(), weights.as_deref())?;
                }
            }
        }
        Ok(())
    }

    /// Adds partial rows to their groups; `state` holds the state columns and the row count, which comes last.
    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let (counts, mut state) = state.split_last().expect("partial rows end with their row count");
        let counts = counts.as_primitive::<Int64Type>().values();
        groups
            .iter()
            .zip(counts)
            .for_each(|(group, count)| self.rows[*group] += count);
        for (accumulator, width) in self.accumulators.iter_mut().zip(&self.state_widths) {
            let columns;
            (columns, state) = state.split_at(*width);
            accumulator.merge(groups, columns)?;
        }
        Ok(())
    }

    /// The state columns and the row count of `groups`.
    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut columns = Vec::new();
        for accumulator in &self.accumulators {
            columns.extend(accumulator.state(groups)?);
        }
        columns.push(Arc::new(Int64Array::from_iter_values(
            groups.iter().map(|group| self.rows[*group]),
        )));
        Ok(columns)
    }

    /// Keeps the groups in `keep`, ascending, and renumbers them from 0.
    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.accumulators
            .iter_mut()
            .try_for_each(|accumulator| accumulator.retain(keep))?;
        self.rows = keep.iter().map(|group| self.rows[*group]).collect();
        self.table.retain(keep);
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.accumulators
            .iter_mut()
            .try_for_each(|accumulator| accumulator.retain(&[]))?;
        self.rows.clear();
        self.table.clear();
        Ok(())
    }

    fn memory(&self) -> usize {
        let accumulators: usize = self
            .accumulators
            .iter()
            .map(|accumulator| accumulator.memory())
            .sum();
        self.table.memory() + self.rows.capacity() * size_of::<i64>() + accumulators
    }
}

/// True where the value is true, false where it is false or NULL.
pub(crate) fn truths(mask: &BooleanArray) -> BooleanArray {
    match mask.nulls() {
        None => mask.clone(),
        Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
    }
}

/// Window starts as a column of the time's own type.
pub(crate) fn timestamps(starts: Vec<i64>, data_type: &DataType) -> ArrayRef {
    let array = arrow::array::PrimitiveArray::<TimestampMicrosecondType>::new(starts.into(), None);
    Arc::new(array.with_data_type(data_type.clone()))
}

/// How a partial row's columns are laid out.
#[derive(Debug, Clone, Copy)]
struct PartialLayout {
    window: bool,
    /// A column says in how many windows the row is, counted backwards from the latest.
    windows: bool,
    /// All columns before the state.
    keys: usize,
}

impl PartialLayout {
    fn of(spec: &AggregateSpec) -> Self {
        let window = spec.window.is_some();
        let windows = spec
            .window
            .as_ref()
            .is_some_and(|window| window.assign.overlaps());
        Self {
            window,
            windows,
            keys: usize::from(window) + usize::from(windows) + spec.keys.len(),
        }
    }

    /// Position of the first of the group's own keys.
    fn first_key(&self) -> usize {
        usize::from(self.window) + usize::from(self.windows)
    }
}

/// The checkpoint of a second phase: what it keeps now, where that is asked for, else the partial rows that came in.
fn checkpointed(
    spec: &AggregateSpec,
    mut delta: Vec<RecordBatch>,
    full: Option<Result<RecordBatch>>,
) -> Result<Vec<StateBatch>> {
    let rows = match (full, delta.len()) {
        (Some(rows), _) => rows?,
        (None, 0) => return Ok(Vec::new()),
        (None, 1) => delta.remove(0),
        (None, _) => consolidate(spec, &delta)?,
    };
    Ok(vec![StateBatch {
        port: 0,
        changes: ChangeBatch::insertions(rows),
    }])
}

/// Partial rows of equal keys merged into one.
fn consolidate(spec: &AggregateSpec, batches: &[RecordBatch]) -> Result<RecordBatch> {
    let layout = PartialLayout::of(spec);
    let key_types: Vec<DataType> = spec.partial.fields()[..layout.keys]
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
    let mut merged = Groups::new(spec, &key_types)?;
    let mut groups = Vec::new();
    for batch in batches {
        let (keys, state) = batch.columns().split_at(layout.keys);
        merged.intern(keys, batch.num_rows(), &mut groups)?;
        merged.merge(&groups, state)?;
    }
    let all: Vec<usize> = (0..merged.len()).collect();
    let mut columns = merged.table.keys(&all)?;
    columns.extend(merged.state(&all)?);
    Ok(record_batch(&spec.partial, columns, all.len())?)
}
