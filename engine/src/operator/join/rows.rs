//! The rows of one side of a join: each distinct row once with its weight, in lists by key.
//!
//! Within an epoch changes of weight are noted and not applied, so that the join can look at the state before and after.
//! Rows whose weight has become zero are dead; they are in no list, and are cleared away when they outnumber the living.

mod by_time;

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, Int64Array, make_array};
use arrow::datatypes::{DataType, SchemaRef};

use crate::error::Result;
use crate::operator::group_table::GroupTable;

/// The dead are not cleared away before there are this many.
pub(super) const DEAD_MIN: usize = 4096;

/// Ends a list.
const NONE: u32 = u32::MAX;

pub(super) struct Rows {
    schema: SchemaRef,
    /// Rows by all their columns, floats as their bits.
    table: GroupTable,
    pub weights: Vec<i64>,
    /// Changes of weights in this epoch.
    pub pending: Vec<i64>,
    /// Rows with a change in this epoch, perhaps one of zero.
    touched: Vec<usize>,
    /// Rows of the last batch, in its order.
    added: Vec<usize>,
    is_touched: Vec<bool>,
    /// Key of each row.
    pub key: Vec<usize>,
    /// The living rows of a key, doubly linked.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// First row of each key.
    first: Vec<u32>,
    /// Sum of the weights of each key's rows, now and at the end of the last epoch.
    pub total: Vec<i64>,
    pub total_before: Vec<i64>,
    /// How many rows of the other side match each row, now and at the end of the last epoch. Only where a filter decides
    /// about matches; elsewhere the other side's total says it.
    pub matches: Vec<i64>,
    pub matches_before: Vec<i64>,
    /// Where rows have a time that matters: the time of each, the rows in its order, and how many of each have come out as
    /// final. Dead rows may still be in the order, and rows may be in it twice.
    time: Vec<i64>,
    by_time: BTreeMap<i64, Vec<u32>>,
    pub sent: Vec<i64>,
    /// Rows whose weight changed since final rows were last let out.
    news: Vec<usize>,
    pub living: usize,
}

impl Rows {
    pub fn new(schema: &SchemaRef) -> Result<Self> {
        let types: Vec<DataType> = schema
            .fields()
            .iter()
            .map(|field| bits_type(field.data_type()))
            .collect();
        Ok(Self {
            schema: schema.clone(),
            table: GroupTable::new(&types)?,
            weights: Vec::new(),
            pending: Vec::new(),
            touched: Vec::new(),
            added: Vec::new(),
            is_touched: Vec::new(),
            key: Vec::new(),
            next: Vec::new(),
            previous: Vec::new(),
            first: Vec::new(),
            total: Vec::new(),
            total_before: Vec::new(),
            matches: Vec::new(),
            matches_before: Vec::new(),
            time: Vec::new(),
            by_time: BTreeMap::new(),
            sent: Vec::new(),
            news: Vec::new(),
            living: 0,
        })
    }

    /// Notes changes of rows with their keys; keys are `0..key_count`.
    pub fn add(
        &mut self,
        columns: &[ArrayRef],
        weights: Option<&Int64Array>,
        keys: &[usize],
        key_count: usize,
    ) -> Result<()> {
        self.reserve_keys(key_count);
        let columns = columns.iter().map(as_bits).collect::<Result<Vec<_>>>()?;
        let mut rows = Vec::new();
        self.table.intern(&columns, keys.len(), &mut rows)?;
        let count = self.table.len();
        for values in [
            &mut self.weights,
            &mut self.pending,
            &mut self.matches,
            &mut self.matches_before,
        ] {
            values.resize(count, 0);
        }
        self.is_touched.resize(count, false);
        self.key.resize(count, usize::MAX);
        self.next.resize(count, NONE);
        self.previous.resize(count, NONE);
        for (position, row) in rows.iter().copied().enumerate() {
            self.pending[row] += weights.map_or(1, |weights| weights.value(position));
            self.key[row] = keys[position];
            if !self.is_touched[row] {
                self.is_touched[row] = true;
                self.touched.push(row);
            }
        }
        self.added = rows;
        Ok(())
    }

    pub fn reserve_keys(&mut self, key_count: usize) {
        self.first.resize(key_count, NONE);
        self.total.resize(key_count, 0);
        self.total_before.resize(key_count, 0);
    }

    /// Takes the rows whose weight changes in this epoch.
    pub fn take_changed(&mut self) -> Vec<usize> {
        let mut changed = std::mem::take(&mut self.touched);
        for row in &changed {
            self.is_touched[*row] = false;
            if self.weights[*row] == 0 {
                (self.matches[*row], self.matches_before[*row]) = (0, 0);
            }
        }
        changed.retain(|row| self.pending[*row] != 0);
        changed
    }

    /// Applies the pending changes of `changed`, which stay readable until [`Self::settle`].
    pub fn apply(&mut self, changed: &[usize]) {
        for row in changed.iter().copied() {
            let before = self.weights[row];
            self.weights[row] += self.pending[row];
            self.total[self.key[row]] += self.pending[row];
            if before == 0 {
                self.link(row);
                self.living += 1;
                if let Some(time) = self.time.get(row) {
                    self.by_time.entry(*time).or_default().push(row as u32);
                }
            } else if self.weights[row] == 0 {
                self.unlink(row);
                self.living -= 1;
            }
        }
    }

    /// The state after becomes the state before; `recounted` are rows whose matches were counted anew.
    pub fn settle(&mut self, changed: &[usize], recounted: &[usize]) {
        for row in changed.iter().copied() {
            self.pending[row] = 0;
            if !self.time.is_empty() {
                self.news.push(row);
            }
            self.total_before[self.key[row]] = self.total[self.key[row]];
        }
        for row in changed.iter().chain(recounted).copied() {
            self.matches_before[row] = self.matches[row];
        }
    }

    fn link(&mut self, row: usize) {
        let first = &mut self.first[self.key[row]];
        if let Some(second) = self.previous.get_mut(*first as usize) {
            *second = row as u32;
        }
        self.next[row] = *first;
        self.previous[row] = NONE;
        *first = row as u32;
    }

    fn unlink(&mut self, row: usize) {
        let (previous, next) = (self.previous[row], self.next[row]);
        if let Some(after) = self.previous.get_mut(next as usize) {
            *after = previous;
        }
        match self.next.get_mut(previous as usize) {
            Some(before) => *before = next,
            None => self.first[self.key[row]] = next,
        }
    }

    /// The first living row of a key.
    pub fn first_of(&self, key: usize) -> Option<usize> {
        Some(self.first[key])
            .filter(|row| *row != NONE)
            .map(|row| row as usize)
    }

    /// The living row after `row` among those of its key.
    pub fn after(&self, row: usize) -> Option<usize> {
        Some(self.next[row])
            .filter(|row| *row != NONE)
            .map(|row| row as usize)
    }

    /// The living rows of a key.
    pub fn of_key(&self, key: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.first_of(key), |row| self.after(*row))
    }

    /// All living rows.
    pub fn living_rows(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.weights.len()).filter(|row| self.weights[*row] != 0)
    }

    /// The values of a column in `rows`.
    pub fn column(&self, column: usize, rows: &[usize]) -> Result<ArrayRef> {
        of_bits(
            self.table.key(column, rows)?,
            self.schema.field(column).data_type(),
        )
    }

    /// The first `width` columns of `rows`.
    pub fn columns(&self, width: usize, rows: &[usize]) -> Result<Vec<ArrayRef>> {
        (0..width).map(|column| self.column(column, rows)).collect()
    }

    pub fn width(&self) -> usize {
        self.schema.fields().len()
    }

    pub fn has_many_dead(&self) -> bool {
        let dead = self.weights.len() - self.living;
        dead >= DEAD_MIN && dead >= self.living
    }

    /// Clears the dead away. Nothing may be pending.
    pub fn bury(&mut self) {
        let keep: Vec<usize> = self.living_rows().collect();
        self.table.retain(&keep);
        for values in [
            &mut self.weights,
            &mut self.matches,
            &mut self.matches_before,
            &mut self.time,
            &mut self.sent,
        ] {
            if !values.is_empty() {
                *values = keep.iter().map(|row| values[*row]).collect();
            }
        }
        self.news.clear();
        self.by_time.clear();
        for (row, time) in self.time.iter().enumerate() {
            self.by_time.entry(*time).or_default().push(row as u32);
        }
        self.key = keep.iter().map(|row| self.key[*row]).collect();
        self.pending = vec![0; keep.len()];
        self.is_touched = vec![false; keep.len()];
        self.relink();
    }

    /// Keeps the keys in `keep`, ascending, which all rows' keys are among, and renumbers them from 0.
    pub fn retain_keys(&mut self, keep: &[usize]) {
        let mut renumbered = vec![usize::MAX; self.first.len()];
        for (new, old) in keep.iter().enumerate() {
            renumbered[*old] = new;
        }
        for (row, key) in self.key.iter_mut().enumerate() {
            // A dead row keeps no key.
            *key = if self.weights[row] == 0 {
                usize::MAX
            } else {
                renumbered[*key]
            };
        }
        for totals in [&mut self.total, &mut self.total_before] {
            *totals = keep.iter().map(|key| totals[*key]).collect();
        }
        self.first = vec![NONE; keep.len()];
        self.relink();
    }

    fn relink(&mut self) {
        self.first.fill(NONE);
        self.next = vec![NONE; self.weights.len()];
        self.previous = vec![NONE; self.weights.len()];
        for row in 0..self.weights.len() {
            if self.weights[row] != 0 {
                self.link(row);
            }
        }
    }

    pub fn memory(&self) -> usize {
        let per_row = 5 * size_of::<i64>() + 2 * size_of::<u32>() + size_of::<bool>();
        let per_time = if self.time.is_empty() {
            0
        } else {
            3 * size_of::<i64>()
        };
        let per_key = 2 * size_of::<i64>() + size_of::<u32>();
        self.table.memory() + self.weights.capacity() * (per_row + per_time) + self.first.capacity() * per_key
    }
}

/// The type whose values are a float's bits: rows that differ in the sign of a zero are different rows.
fn bits_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Float16 => DataType::Int16,
        DataType::Float32 => DataType::Int32,
        DataType::Float64 => DataType::Int64,
        other => other.clone(),
    }
}

fn as_bits(column: &ArrayRef) -> Result<ArrayRef> {
    retyped(column.clone(), &bits_type(column.data_type()))
}

fn of_bits(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if bits_type(data_type) == *data_type {
        return Ok(column);
    }
    retyped(column, data_type)
}

/// The same buffers under a type of the same layout.
fn retyped(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if column.data_type() == data_type {
        return Ok(column);
    }
    let data = column.to_data().into_builder().data_type(data_type.clone());
    Ok(make_array(data.build()?))
}
