//! How many values are true and how many false: what `bool_and` and `bool_or` need to survive retractions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::datatypes::Int64Type;

use crate::error::Result;
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

#[derive(Default)]
pub(crate) struct Booleans {
    /// Falses and trues.
    counts: Vec<[i64; 2]>,
}

impl Accumulator for Booleans {
    fn reserve(&mut self, groups: usize) {
        self.counts.resize(groups, [0; 2]);
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let values = values
            .expect("bool_and and bool_or have an argument")
            .as_boolean();
        for_each_valid(groups, values.nulls(), weights, |row, group, weight| {
            self.counts[group][usize::from(values.value(row))] += weight;
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        for (side, counts) in state.iter().enumerate() {
            let counts = counts.as_primitive::<Int64Type>().values();
            groups
                .iter()
                .zip(counts)
                .for_each(|(group, count)| self.counts[*group][side] += count);
        }
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let side =
            |side: usize| Int64Array::from_iter_values(groups.iter().map(|group| self.counts[*group][side]));
        Ok(vec![Arc::new(side(0)), Arc::new(side(1))])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], _failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        let result = |[falses, trues]: [i64; 2]| match reading {
            _ if falses == 0 && trues == 0 => Ok(None),
            Reading::And => Ok(Some(falses == 0)),
            Reading::Or => Ok(Some(trues != 0)),
            other => Err(no_reading(other)),
        };
        let results = groups
            .iter()
            .map(|group| result(self.counts[*group]))
            .collect::<Result<BooleanArray>>()?;
        Ok(Arc::new(results))
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.counts = keep.iter().map(|group| self.counts[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<[i64; 2]>()
    }
}
