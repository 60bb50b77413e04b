//! How often the result of a window has changed since the window was closed. Rows do not tell; the operator that keeps the
//! groups counts, and hands on what it counted as a state.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use crate::error::Result;
use crate::operator::accumulator::{Accumulator, Failure, no_reading};
use crate::operator::spec::Reading;

#[derive(Default)]
pub(crate) struct Revisions {
    counts: Vec<i64>,
}

impl Accumulator for Revisions {
    fn reserve(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(
        &mut self,
        _groups: &[usize],
        _values: Option<&ArrayRef>,
        _weights: Option<&[i64]>,
    ) -> Result<()> {
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
        match reading {
            Reading::Revisions => Ok(self.state(groups)?.remove(0)),
            other => Err(no_reading(other)),
        }
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.counts = keep.iter().map(|group| self.counts[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
