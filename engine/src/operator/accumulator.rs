//! Accumulators: the state of one aggregate for many groups, in columns.
//!
//! Every accumulator takes weights, so that a retraction undoes an insertion exactly, and its states can be merged in any
//! order: results do not depend on how rows were split into epochs and over workers. One-off queries use the same
//! accumulators (see `function`), so both kinds of query agree to the last bit.

mod booleans;
mod count;
mod distinct;
mod exact_float;
mod extreme;
mod float_sum;
mod integer_sum;
mod interval_sum;
pub(crate) mod negated;
mod variance;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};

use crate::error::{Error, Result};
use crate::operator::spec::{AccumulatorKind, AccumulatorSpec, Reading};

/// State of one aggregate, by group.
pub(crate) trait Accumulator: Send + Sync {
    /// Groups are `0..groups` from now on, and new ones are empty. Comes before any use of a new group.
    fn reserve(&mut self, groups: usize);

    /// Adds one value per row to the group of each row. `weights` has one per row; `None` means all are 1. `values` is
    /// `None` when the aggregate has no argument.
    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()>;

    /// Adds states that [`Accumulator::state`] gave.
    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()>;

    /// The state of `groups`, which are distinct, one row each.
    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>>;

    /// The results of `groups`. A result that cannot be represented is NULL in the array and reported.
    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef>;

    /// Keeps the groups in `keep`, ascending, and renumbers them from 0.
    fn retain(&mut self, keep: &[usize]) -> Result<()>;

    /// Bytes held, estimated.
    fn memory(&self) -> usize;
}

/// A result that cannot be represented in its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Index into the groups asked for.
    pub position: usize,
    pub message: &'static str,
}

/// SQLSTATE of a [`Failure`]: numeric value out of range.
pub(crate) const OUT_OF_RANGE: &str = "22003";

/// What an accumulator must be able to do.
pub(crate) struct Need {
    /// No retractions come.
    pub append_only: bool,
}

/// An empty accumulator.
pub(crate) fn build(spec: &AccumulatorSpec, need: &Need) -> Result<Box<dyn Accumulator>> {
    Ok(match spec.kind {
        AccumulatorKind::Count => Box::new(count::Count::of_values()),
        AccumulatorKind::Booleans => Box::new(booleans::Booleans::default()),
        AccumulatorKind::Revisions => Box::new(count::Count::of_revisions()),
        AccumulatorKind::Sum => sum(&spec.data_type)?,
        AccumulatorKind::Min | AccumulatorKind::Max => extreme::build(
            &spec.data_type,
            spec.kind == AccumulatorKind::Max,
            need.append_only,
        )?,
        AccumulatorKind::DistinctCount => Box::new(distinct::Distinct::new(
            &spec.data_type,
            Box::new(count::Count::of_values()),
        )?),
        AccumulatorKind::DistinctSum => {
            Box::new(distinct::Distinct::new(&spec.data_type, sum(&spec.data_type)?)?)
        }
        AccumulatorKind::Variance => variance::build(&spec.data_type)?,
        AccumulatorKind::DistinctVariance => Box::new(distinct::Distinct::new(
            &spec.data_type,
            variance::build(&spec.data_type)?,
        )?),
    })
}

fn sum(data_type: &DataType) -> Result<Box<dyn Accumulator>> {
    match data_type {
        &interval_sum::TYPE => Ok(Box::new(interval_sum::IntervalSum::default())),
        float if float.is_floating() => float_sum::build(float),
        other => integer_sum::build(other),
    }
}

/// Types of the state columns, all nullable.
pub(crate) fn state_types(spec: &AccumulatorSpec, append_only: bool) -> Vec<DataType> {
    let argument = &spec.data_type;
    match spec.kind {
        AccumulatorKind::Count | AccumulatorKind::Revisions => vec![DataType::Int64],
        AccumulatorKind::Booleans => vec![DataType::Int64, DataType::Int64],
        AccumulatorKind::Sum if argument.is_floating() => vec![DataType::Binary, DataType::Int64],
        AccumulatorKind::Sum if *argument == interval_sum::TYPE => interval_sum::state_types(),
        AccumulatorKind::Sum => vec![integer_sum::state_type(argument), DataType::Int64],
        AccumulatorKind::Min | AccumulatorKind::Max if append_only => vec![argument.clone()],
        AccumulatorKind::Min
        | AccumulatorKind::Max
        | AccumulatorKind::DistinctCount
        | AccumulatorKind::DistinctSum
        | AccumulatorKind::DistinctVariance => {
            vec![distinct::state_type(argument)]
        }
        AccumulatorKind::Variance => vec![DataType::Binary],
    }
}

/// Type of a result.
pub(crate) fn result_type(spec: &AccumulatorSpec, reading: Reading) -> Result<DataType> {
    Ok(match reading {
        Reading::Count | Reading::Revisions => DataType::Int64,
        Reading::And | Reading::Or => DataType::Boolean,
        Reading::Extreme => spec.data_type.clone(),
        Reading::Sum | Reading::Average if spec.data_type == interval_sum::TYPE => spec.data_type.clone(),
        Reading::Sum if spec.data_type.is_floating() => spec.data_type.clone(),
        Reading::Sum => integer_sum::sum_type(&spec.data_type)?,
        Reading::Average if spec.data_type.is_floating() => DataType::Float64,
        Reading::Average => integer_sum::average_type(&spec.data_type)?,
        Reading::SampleVariance
        | Reading::PopulationVariance
        | Reading::SampleDeviation
        | Reading::PopulationDeviation => variance::result_type(&spec.data_type)?,
    })
}

/// The error for a reading that an accumulator does not have: lowering never asks for one.
fn no_reading(reading: Reading) -> Error {
    Error::Bug(format!("{reading:?} cannot be read from this accumulator"))
}

/// Calls `f` with row, group and weight for every row whose value is not NULL.
fn for_each_valid(
    groups: &[usize],
    nulls: Option<&arrow::buffer::NullBuffer>,
    weights: Option<&[i64]>,
    mut f: impl FnMut(usize, usize, i64),
) {
    match (nulls, weights) {
        (None, None) => groups
            .iter()
            .enumerate()
            .for_each(|(row, group)| f(row, *group, 1)),
        (Some(nulls), None) => {
            groups
                .iter()
                .enumerate()
                .filter(|(row, _)| nulls.is_valid(*row))
                .for_each(|(row, group)| f(row, *group, 1));
        }
        (nulls, Some(weights)) => {
            for (row, (group, weight)) in groups.iter().zip(weights).enumerate() {
                if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    f(row, *group, *weight);
                }
            }
        }
    }
}

/// State columns as fields for a schema; `name` is the accumulator's.
pub(crate) fn state_fields(name: &str, spec: &AccumulatorSpec, append_only: bool) -> Vec<Field> {
    let types = state_types(spec, append_only);
    types
        .into_iter()
        .enumerate()
        .map(|(i, t)| Field::new(format!("{name}.{i}"), t, true))
        .collect()
}
