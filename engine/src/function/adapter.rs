//! Our accumulators as DataFusion's.

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::filter;
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Accumulator as DataFusionAccumulator, EmitTo, GroupsAccumulator};

use crate::error::Error;
use crate::operator::accumulator::{Accumulator, Failure, Need, build};
use crate::operator::aggregate::truths;
use crate::operator::spec::{AccumulatorSpec, Reading};

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

fn evaluate(accumulator: &dyn Accumulator, reading: Reading, groups: &[usize]) -> Result<ArrayRef> {
    let mut failures: Vec<Failure> = Vec::new();
    let results = accumulator.evaluate(reading, groups, &mut failures)?;
    match failures.first() {
        None => Ok(results),
        Some(failure) => Err(ArrowError::ArithmeticOverflow(failure.message.to_owned()).into()),
    }
}

/// An aggregate over all rows, or over a window frame.
pub(super) struct ForOneGroup {
    accumulator: Box<dyn Accumulator>,
    reading: Reading,
    /// As many zeros as the largest batch has rows.
    groups: Vec<usize>,
}

impl std::fmt::Debug for ForOneGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForOneGroup")
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}

impl ForOneGroup {
    pub fn new(mut accumulator: Box<dyn Accumulator>, reading: Reading) -> Self {
        accumulator.reserve(1);
        Self {
            accumulator,
            reading,
            groups: Vec::new(),
        }
    }

    fn zeros(&mut self, rows: usize) {
        self.groups.resize(rows, 0);
    }
}

impl DataFusionAccumulator for ForOneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.zeros(values[0].len());
        Ok(self.accumulator.update(&self.groups, values.first(), None)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.zeros(values[0].len());
        let weights = vec![-1; self.groups.len()];
        Ok(self
            .accumulator
            .update(&self.groups, values.first(), Some(&weights))?)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&evaluate(self.accumulator.as_ref(), self.reading, &[0])?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.accumulator
            .state(&[0])?
            .iter()
            .map(|column| ScalarValue::try_from_array(column, 0))
            .collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.zeros(states[0].len());
        Ok(self.accumulator.merge(&self.groups, states)?)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<usize>() + self.accumulator.memory()
    }
}

/// An aggregate with GROUP BY.
pub(super) struct ForGroups {
    spec: AccumulatorSpec,
    need: Need,
    reading: Reading,
    accumulator: Box<dyn Accumulator>,
    groups: usize,
}

impl ForGroups {
    pub fn new(spec: AccumulatorSpec, need: Need, reading: Reading) -> Result<Self> {
        let accumulator = build(&spec, &need)?;
        Ok(Self {
            spec,
            need,
            reading,
            accumulator,
            groups: 0,
        })
    }

    fn reserve(&mut self, groups: usize) {
        self.groups = self.groups.max(groups);
        self.accumulator.reserve(self.groups);
    }

    /// The groups to emit, after which the rest is renumbered.
    fn emitted<T>(
        &mut self,
        emit_to: EmitTo,
        read: impl FnOnce(&dyn Accumulator, &[usize]) -> Result<T>,
    ) -> Result<T> {
        let emitted = match emit_to {
            EmitTo::All => self.groups,
            EmitTo::First(groups) => groups,
        };
        let groups: Vec<usize> = (0..emitted).collect();
        let read = read(self.accumulator.as_ref(), &groups)?;
        let rest: Vec<usize> = (emitted..self.groups).collect();
        self.accumulator.retain(&rest)?;
        self.groups = rest.len();
        Ok(read)
    }
}

/// Adds rows for which the filter, if any, is true.
fn update(
    accumulator: &mut dyn Accumulator,
    values: &ArrayRef,
    groups: &[usize],
    opt_filter: Option<&BooleanArray>,
) -> Result<()> {
    let Some(mask) = opt_filter else {
        return Ok(accumulator.update(groups, Some(values), None)?);
    };
    let mask = truths(mask);
    let groups: Vec<usize> = mask.values().set_indices().map(|row| groups[row]).collect();
    Ok(accumulator.update(&groups, Some(&filter(values, &mask)?), None)?)
}

impl GroupsAccumulator for ForGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.reserve(total_num_groups);
        update(self.accumulator.as_mut(), &values[0], group_indices, opt_filter)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let reading = self.reading;
        self.emitted(emit_to, |accumulator, groups| {
            evaluate(accumulator, reading, groups)
        })
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.emitted(emit_to, |accumulator, groups| Ok(accumulator.state(groups)?))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.reserve(total_num_groups);
        Ok(self.accumulator.merge(group_indices, values)?)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut accumulator = build(&self.spec, &self.need)?;
        let groups: Vec<usize> = (0..values[0].len()).collect();
        accumulator.reserve(groups.len());
        update(accumulator.as_mut(), &values[0], &groups, opt_filter)?;
        Ok(accumulator.state(&groups)?)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.accumulator.memory()
    }
}
