//! How many values are not NULL, or how often the result of a window has changed since the window was closed. Of that, rows
//! do not tell: the operator that keeps the groups counts, and hands on what it counted as a state.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use crate::error::Result;
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

pub(crate) struct Count {
    counts: Vec<i64>,
    /// What is counted, as it is read.
    reading: Reading,
}

impl Count {
    pub fn of_values() -> Self {
        Self {
            counts: Vec::new(),
            reading: Reading::Count,
        }
    }

    pub fn of_revisions() -> Self {
        Self {
            counts: Vec::new(),
            reading: Reading::Revisions,
        }
    }
}

impl Accumulator for Count {
    fn reserve(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        if self.reading == Reading::Revisions {
            return Ok(());
        }
        let nulls = values.and_then(|values| values.logical_nulls());
        for_each_valid(groups, nulls.as_ref(), weights, |_, group, weight| {
            self.counts[group] += weight
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let counts = state[0].as_primitive::<Int64Type>().values();
        groups
            .iter()
            .zip(counts)
            .for_each(|(group, count)| self.counts[*group] += count);
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(Int64Array::from_iter_values(
            groups.iter().map(|group| self.counts[*group]),
        ))])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], _failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        if reading != self.reading {
            return Err(no_reading(reading));
        }
        Ok(self.state(groups)?.remove(0))
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.counts = keep.iter().map(|group| self.counts[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
