//! The distinct values of a group, each with how often it stands there, in front of another accumulator.
//!
//! The inner accumulator sees each value once: it is added when its first copy comes and taken back with the last.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use hashbrown::HashMap;

use crate::error::Result;
use crate::hash::canonical;
use crate::operator::accumulator::{Accumulator, Failure};
use crate::operator::group_table::GroupTable;
use crate::operator::spec::Reading;

pub(crate) struct Distinct {
    value_type: DataType,
    /// Entries: group and value.
    table: GroupTable,
    /// By entry. Entries of weight zero are dead.
    weights: Vec<i64>,
    owners: Vec<usize>,
    dead: usize,
    inner: Box<dyn Accumulator>,
}

/// Type of the state column: the values of the group with their weights.
pub(crate) fn state_type(value: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(
        DataType::Struct(entry_fields(value)),
        true,
    )))
}

fn entry_fields(value: &DataType) -> Fields {
    [
        Field::new("value", value.clone(), true),
        Field::new("weight", DataType::Int64, false),
    ]
    .into_iter()
    .collect()
}

/// A state column: `lengths[i]` of the entries belong to row i.
pub(crate) fn state_column(values: ArrayRef, weights: Vec<i64>, lengths: &[usize]) -> Result<ArrayRef> {
    let fields = entry_fields(values.data_type());
    let element = Arc::new(Field::new_list_field(DataType::Struct(fields.clone()), true));
    let entries = StructArray::try_new(fields, vec![values, Arc::new(Int64Array::from(weights))], None)?;
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Ok(Arc::new(ListArray::try_new(
        element,
        offsets,
        Arc::new(entries),
        None,
    )?))
}

/// The entries of a state column: the group of each, its value and weight.
pub(crate) fn state_entries(groups: &[usize], state: &ArrayRef) -> (Vec<usize>, ArrayRef, Vec<i64>) {
    let lists = state.as_list::<i32>();
    let offsets = lists.offsets();
    let (first, last) = (offsets[0] as usize, offsets[lists.len()] as usize);
    let entries = lists.values().slice(first, last - first);
    let entries = entries.as_struct();
    let mut owners = Vec::with_capacity(last - first);
    for (row, group) in groups.iter().enumerate() {
        owners.extend(std::iter::repeat_n(*group, lists.value_length(row) as usize));
    }
    let weights = entries.column(1).as_primitive::<Int64Type>().values().to_vec();
    (owners, Arc::clone(entries.column(0)), weights)
}

impl Distinct {
    pub fn new(value_type: &DataType, inner: Box<dyn Accumulator>) -> Result<Self> {
        Ok(Self {
            value_type: value_type.clone(),
            table: GroupTable::new(&[DataType::UInt32, value_type.clone()])?,
            weights: Vec::new(),
            owners: Vec::new(),
            dead: 0,
            inner,
        })
    }

    /// `values` has no NULL.
    fn apply(&mut self, groups: &[usize], values: &ArrayRef, weights: Option<&[i64]>) -> Result<()> {
        let values = canonical(values);
        let owners: ArrayRef = Arc::new(UInt32Array::from_iter_values(
            groups.iter().map(|group| *group as u32),
        ));
        let mut entries = Vec::new();
        self.table
            .intern(&[owners, Arc::clone(&values)], groups.len(), &mut entries)?;
        self.dead += self.table.len() - self.weights.len();
        self.weights.resize(self.table.len(), 0);
        self.owners.resize(self.table.len(), 0);
        let (mut rows, mut steps, mut step_groups) = (Vec::new(), Vec::new(), Vec::new());
        for (row, entry) in entries.into_iter().enumerate() {
            let before = self.weights[entry];
            let after = before + weights.map_or(1, |weights| weights[row]);
            self.weights[entry] = after;
            self.owners[entry] = groups[row];
            self.dead -= usize::from(before == 0 && after != 0);
            self.dead += usize::from(before != 0 && after == 0);
            if (before > 0) != (after > 0) {
                rows.push(row as u32);
                steps.push(if after > 0 { 1 } else { -1 });
                step_groups.push(groups[row]);
            }
        }
        let values = take(&values, &UInt32Array::from(rows), None)?;
        self.inner.update(&step_groups, Some(&values), Some(&steps))?;
        if self.dead > 1024 && self.dead * 2 > self.weights.len() {
            self.rebuild(Some)?;
        }
        Ok(())
    }

    /// Drops dead entries and those of groups without a new number. The table is keyed by the group's number, so it is
    /// made anew.
    fn rebuild(&mut self, renumber: impl Fn(usize) -> Option<usize>) -> Result<()> {
        let live = |entry: &usize| self.weights[*entry] != 0 && renumber(self.owners[*entry]).is_some();
        let entries: Vec<usize> = (0..self.weights.len()).filter(live).collect();
        let values = self.table.keys(&entries)?.remove(1);
        self.weights = entries.iter().map(|entry| self.weights[*entry]).collect();
        self.owners = entries
            .iter()
            .filter_map(|entry| renumber(self.owners[*entry]))
            .collect();
        self.dead = 0;
        self.table = GroupTable::new(&[DataType::UInt32, self.value_type.clone()])?;
        let owners: ArrayRef = Arc::new(UInt32Array::from_iter_values(
            self.owners.iter().map(|owner| *owner as u32),
        ));
        self.table
            .intern(&[owners, values], entries.len(), &mut Vec::new())
    }
}

impl Accumulator for Distinct {
    fn reserve(&mut self, groups: usize) {
        self.inner.reserve(groups);
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let values = values.expect("DISTINCT has an argument");
        match values.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.apply(groups, values, weights),
            Some(nulls) => {
                let rows: Vec<u32> = nulls.valid_indices().map(|row| row as u32).collect();
                let groups: Vec<usize> = nulls.valid_indices().map(|row| groups[row]).collect();
                let weights =
                    weights.map(|weights| nulls.valid_indices().map(|row| weights[row]).collect::<Vec<_>>());
                let values = take(values, &UInt32Array::from(rows), None)?;
                self.apply(&groups, &values, weights.as_deref())
            }
        }
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let (groups, values, weights) = state_entries(groups, &state[0]);
        self.apply(&groups, &values, Some(&weights))
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut positions = vec![usize::MAX; groups.iter().max().map_or(0, |group| group + 1)];
        groups
            .iter()
            .enumerate()
            .for_each(|(position, group)| positions[*group] = position);
        let position = |entry: &usize| positions.get(self.owners[*entry]).copied().unwrap_or(usize::MAX);
        let mut entries: Vec<usize> = (0..self.weights.len())
            .filter(|entry| self.weights[*entry] != 0 && position(entry) != usize::MAX)
            .collect();
        entries.sort_by_key(position);
        let mut lengths = vec![0; groups.len()];
        entries.iter().for_each(|entry| lengths[position(entry)] += 1);
        let values = self.table.keys(&entries)?.remove(1);
        debug_assert_eq!(*values.data_type(), self.value_type);
        let weights = entries.iter().map(|entry| self.weights[*entry]).collect();
        Ok(vec![state_column(values, weights, &lengths)?])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        self.inner.evaluate(reading, groups, failures)
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        let renumber: HashMap<usize, usize> = keep.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        self.rebuild(|owner| renumber.get(&owner).copied())?;
        self.inner.retain(keep)
    }

    fn memory(&self) -> usize {
        let entries =
            self.weights.capacity() * size_of::<i64>() + self.owners.capacity() * size_of::<usize>();
        self.table.memory() + entries + self.inner.memory()
    }
}
