//! States of accumulators with the opposite sign: merged, they take back what the state itself adds.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Int64Type, i256};

use super::distinct::{state_column, state_entries};
use super::float_sum;
use crate::error::{Error, Result};
use crate::operator::spec::{AccumulatorKind, AccumulatorSpec};

/// The states of this accumulator can be negated.
pub(crate) fn can_be(spec: &AccumulatorSpec) -> bool {
    match spec.kind {
        AccumulatorKind::Count | AccumulatorKind::Booleans => true,
        AccumulatorKind::Sum => match &spec.data_type {
            DataType::Decimal128(_, _) => true,
            data_type => data_type.is_integer() || data_type.is_floating(),
        },
        AccumulatorKind::DistinctCount | AccumulatorKind::DistinctSum | AccumulatorKind::DistinctVariance => {
            true
        }
        // A state of one value cannot take it back, and several values per group are more than one per window.
        AccumulatorKind::Min | AccumulatorKind::Max => false,
        AccumulatorKind::Variance | AccumulatorKind::Revisions => false,
    }
}

pub(crate) fn negated(state: &ArrayRef) -> Result<ArrayRef> {
    Ok(match state.data_type() {
        DataType::Int64 => {
            let counts: Int64Array = state.as_primitive::<Int64Type>().unary(i64::wrapping_neg);
            Arc::new(counts)
        }
        DataType::Decimal128(_, _) => {
            let sums: PrimitiveArray<Decimal128Type> =
                state.as_primitive::<Decimal128Type>().unary(i128::wrapping_neg);
            Arc::new(sums.with_data_type(state.data_type().clone()))
        }
        DataType::Decimal256(_, _) => {
            let sums: PrimitiveArray<Decimal256Type> =
                state.as_primitive::<Decimal256Type>().unary(i256::wrapping_neg);
            Arc::new(sums.with_data_type(state.data_type().clone()))
        }
        DataType::List(_) => {
            let lists = state.as_list::<i32>();
            let lengths: Vec<usize> = lists.offsets().lengths().collect();
            let rows: Vec<usize> = (0..lengths.len()).collect();
            let (_, values, weights) = state_entries(&rows, state);
            let weights = weights.into_iter().map(i64::wrapping_neg).collect();
            state_column(values, weights, &lengths)?
        }
        DataType::Binary => {
            let sums = state.as_binary::<i32>().iter();
            let negated = sums.map(|sum| float_sum::negated(sum.unwrap_or_default()));
            Arc::new(BinaryArray::from_iter_values(
                negated.collect::<Result<Vec<_>>>()?,
            ))
        }
        other => {
            return Err(Error::Bug(format!("a state of type {other} has no opposite")));
        }
    })
}
