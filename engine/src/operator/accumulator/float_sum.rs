//! Exact sums and averages of floating point numbers: independent of order, rounded once, exact under retractions.
//!
//! Most values fit a 128-bit fixed-point number with 2^-80 as its unit, and there the sum is one integer addition. What
//! does not fit goes to an [`ExactFloat`] of the group. Both parts are exact, and so is their sum.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, Float64Array, Int64Array, PrimitiveArray,
};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::operator::accumulator::exact_float::{ExactFloat, decompose};
use crate::operator::accumulator::integer_sum::fitting;
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

/// The unit of [`Slot::fixed`] is 2^-FRACTION.
const FRACTION: i32 = 80;
const OVERFLOW: &str = "value out of range: overflow";

pub(crate) fn build(argument: &DataType) -> Result<Box<dyn Accumulator>> {
    match argument {
        DataType::Float32 => Ok(Box::new(FloatSum::<Float32Type>::default())),
        DataType::Float64 => Ok(Box::new(FloatSum::<Float64Type>::default())),
        other => Err(Error::Bug(format!("{other} is no floating point type of SQL"))),
    }
}

struct FloatSum<T> {
    slots: Vec<Slot>,
    /// Of the few groups that have values beyond the fixed-point range.
    rest: HashMap<usize, Box<ExactFloat>>,
    value: std::marker::PhantomData<fn() -> T>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    fixed: i128,
    /// How many values are not NULL.
    count: i64,
}

impl<T> Default for FloatSum<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            rest: HashMap::new(),
            value: std::marker::PhantomData,
        }
    }
}

/// `value * 2^FRACTION` if that is an integer and fits.
fn to_fixed(value: f64) -> Option<i128> {
    let (negative, mantissa, exponent) = decompose(value);
    let shift = exponent + FRACTION;
    let fixed = match shift {
        0..=73 => i128::from(mantissa) << shift,
        // Fewer significant bits than the type has: still an integer.
        -52..0 if mantissa.trailing_zeros() as i32 >= -shift => i128::from(mantissa >> -shift),
        _ if mantissa == 0 => 0,
        _ => return None,
    };
    Some(if negative { -fixed } else { fixed })
}

impl<T> FloatSum<T> {
    fn add(&mut self, group: usize, value: f64, weight: i64) {
        let slot = &mut self.slots[group];
        slot.count += weight;
        match to_fixed(value).and_then(|fixed| slot.fixed.checked_add(fixed.checked_mul(weight.into())?)) {
            Some(sum) => slot.fixed = sum,
            None => self.rest.entry(group).or_default().add(value, weight),
        }
    }

    fn add_fixed(&mut self, group: usize, fixed: i128) {
        let slot = &mut self.slots[group];
        match slot.fixed.checked_add(fixed) {
            Some(sum) => slot.fixed = sum,
            None => self.rest.entry(group).or_default().add_integer(fixed, -FRACTION),
        }
    }

    /// The whole sum of a group that has values beyond the fixed-point range.
    fn whole(&self, group: usize) -> Option<ExactFloat> {
        let mut whole = ExactFloat::clone(self.rest.get(&group)?);
        whole.add_integer(self.slots[group].fixed, -FRACTION);
        Some(whole)
    }

    /// `None` where the finite sum is out of range.
    fn sum_f64(&self, group: usize) -> Option<f64> {
        match self.whole(group) {
            // The conversion rounds once, the scaling is exact.
            None => Some(self.slots[group].fixed as f64 * 2f64.powi(-FRACTION)),
            Some(whole) => Some(whole.to_f64()).filter(|sum| sum.is_finite() || whole.special().is_some()),
        }
    }

    fn sum_f32(&self, group: usize) -> Option<f32> {
        match self.whole(group) {
            None => Some(self.slots[group].fixed as f32 * 2f32.powi(-FRACTION)),
            Some(whole) => Some(whole.to_f32()).filter(|sum| sum.is_finite() || whole.special().is_some()),
        }
    }
}

/// The sum of a state with the opposite sign.
pub(super) fn negated(sum: &[u8]) -> Result<Vec<u8>> {
    let damaged = || Error::Bug("the state of a sum is damaged".to_owned());
    let (fixed, rest) = sum.split_at_checked(16).ok_or_else(damaged)?;
    let fixed = i128::from_le_bytes(fixed.try_into().map_err(|_| damaged())?);
    if let (true, Some(negated)) = (rest.is_empty(), fixed.checked_neg()) {
        return Ok(negated.to_le_bytes().to_vec());
    }
    let mut whole = match rest.is_empty() {
        true => ExactFloat::default(),
        false => ExactFloat::decode(rest).ok_or_else(damaged)?,
    };
    whole.add_integer(fixed, -FRACTION);
    whole.negate();
    let mut bytes = 0_i128.to_le_bytes().to_vec();
    if !whole.is_zero() {
        whole.encode(&mut bytes);
    }
    Ok(bytes)
}

/// How a sum is read in the type of the values.
trait Float: ArrowPrimitiveType<Native: Into<f64>> {
    fn sum(sums: &FloatSum<Self>, group: usize) -> Option<Self::Native>
    where
        Self: Sized;
}

impl Float for Float32Type {
    fn sum(sums: &FloatSum<Self>, group: usize) -> Option<f32> {
        sums.sum_f32(group)
    }
}

impl Float for Float64Type {
    fn sum(sums: &FloatSum<Self>, group: usize) -> Option<f64> {
        sums.sum_f64(group)
    }
}

impl<T: Float> Accumulator for FloatSum<T> {
    fn reserve(&mut self, groups: usize) {
        self.slots.resize(groups, Slot::default());
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let array = values.expect("sum and avg have an argument").as_primitive::<T>();
        let values = array.values();
        for_each_valid(groups, array.nulls(), weights, |row, group, weight| {
            self.add(group, values[row].into(), weight)
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let sums = state[0].as_binary::<i32>();
        let counts = state[1].as_primitive::<Int64Type>().values();
        for (row, group) in groups.iter().enumerate() {
            self.slots[*group].count += counts[row];
            let damaged = || Error::Bug("the state of a sum is damaged".to_owned());
            let (fixed, rest) = sums.value(row).split_at_checked(16).ok_or_else(damaged)?;
            self.add_fixed(
                *group,
                i128::from_le_bytes(fixed.try_into().map_err(|_| damaged())?),
            );
            if !rest.is_empty() {
                let rest = ExactFloat::decode(rest).ok_or_else(damaged)?;
                self.rest.entry(*group).or_default().merge(&rest);
            }
        }
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut sums = BinaryBuilder::with_capacity(groups.len(), groups.len() * 16);
        let mut bytes = Vec::new();
        for group in groups {
            bytes.clear();
            bytes.extend_from_slice(&self.slots[*group].fixed.to_le_bytes());
            if let Some(rest) = self.rest.get(group).filter(|rest| !rest.is_zero()) {
                rest.encode(&mut bytes);
            }
            sums.append_value(&bytes);
        }
        let counts = Int64Array::from_iter_values(groups.iter().map(|group| self.slots[*group].count));
        Ok(vec![Arc::new(sums.finish()), Arc::new(counts)])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        let counts = groups.iter().map(|group| self.slots[*group].count);
        // `None` for a group without values, `Some(None)` for a sum out of range.
        fn filled<V>(count: i64, sum: impl FnOnce() -> Option<V>) -> Option<Option<V>> {
            (count != 0).then(sum)
        }
        match reading {
            Reading::Count => Ok(Arc::new(Int64Array::from_iter_values(counts))),
            Reading::Sum => {
                let sums = groups
                    .iter()
                    .zip(counts)
                    .enumerate()
                    .map(|(position, (group, count))| {
                        fitting(
                            filled(count, || T::sum(self, *group)),
                            position,
                            OVERFLOW,
                            failures,
                        )
                    });
                Ok(Arc::new(sums.collect::<PrimitiveArray<T>>()))
            }
            Reading::Average => {
                let averages = groups
                    .iter()
                    .zip(counts)
                    .enumerate()
                    .map(|(position, (group, count))| {
                        let sum = filled(count, || self.sum_f64(*group));
                        fitting(sum, position, OVERFLOW, failures).map(|sum| sum / count as f64)
                    });
                Ok(Arc::new(averages.collect::<Float64Array>()))
            }
            other => Err(no_reading(other)),
        }
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.slots = keep.iter().map(|group| self.slots[*group]).collect();
        let mut rest = std::mem::take(&mut self.rest);
        for (new, old) in keep.iter().enumerate() {
            if let Some(sum) = rest.remove(old).filter(|sum| !sum.is_zero()) {
                self.rest.insert(new, sum);
            }
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.rest.capacity() * (size_of::<ExactFloat>() + 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(values: &[f64], weights: &[i64], reading: Reading) -> (Option<f64>, usize) {
        let mut accumulator = FloatSum::<Float64Type>::default();
        let array: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        accumulator.reserve(1);
        accumulator
            .update(&vec![0; values.len()], Some(&array), Some(weights))
            .unwrap();
        // Through its own state, as between the phases of an aggregation.
        let mut merged = FloatSum::<Float64Type>::default();
        merged.reserve(1);
        merged.merge(&[0], &accumulator.state(&[0]).unwrap()).unwrap();
        let mut failures = Vec::new();
        let result = merged.evaluate(reading, &[0], &mut failures).unwrap();
        let result = result.as_primitive::<Float64Type>();
        (result.is_valid(0).then(|| result.value(0)), failures.len())
    }

    #[test]
    fn sums_are_exact_inside_and_outside_the_fixed_range() {
        assert_eq!(evaluate(&[0.1; 10], &[1; 10], Reading::Sum), (Some(1.0), 0));
        assert_eq!(
            evaluate(&[1.0, 1e16, 1e16], &[1, 1, -1], Reading::Sum),
            (Some(1.0), 0)
        );
        assert_eq!(
            evaluate(&[1e-20, 1.0, 1.0, 1e300, 1e300], &[1, 1, -1, 1, -1], Reading::Sum),
            (Some(1e-20), 0)
        );
        assert_eq!(
            evaluate(&[7e13, 7e13], &[1 << 40, -(1 << 40) + 1], Reading::Sum),
            (Some(7e13), 0)
        );
        assert_eq!(evaluate(&[1.0, 2.0], &[1, 1], Reading::Average), (Some(1.5), 0));
        assert_eq!(
            evaluate(&[f64::NAN, 2.0, f64::NAN], &[1, 1, -1], Reading::Sum),
            (Some(2.0), 0)
        );
        assert_eq!(evaluate(&[2.0, 2.0], &[1, -1], Reading::Sum), (None, 0));
    }

    #[test]
    fn a_finite_sum_out_of_range_fails_and_an_infinite_one_does_not() {
        assert_eq!(evaluate(&[f64::MAX], &[2], Reading::Sum), (None, 1));
        assert_eq!(
            evaluate(&[f64::INFINITY, 1.0], &[2, 1], Reading::Sum),
            (Some(f64::INFINITY), 0)
        );
    }

    #[test]
    fn a_negated_state_takes_back_what_the_state_adds() {
        let cases: [&[f64]; 5] = [
            &[0.1, 2.5],
            &[1e300, 1e-300, -7.0],
            &[f64::NAN, 1.0],
            &[f64::INFINITY, f64::NEG_INFINITY, 3.0],
            &[-(2f64.powi(46)), -(2f64.powi(46))],
        ];
        for values in cases {
            let mut accumulator = FloatSum::<Float64Type>::default();
            let array: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
            accumulator.reserve(1);
            accumulator
                .update(&vec![0; values.len()], Some(&array), None)
                .unwrap();
            let state = accumulator.state(&[0]).unwrap();
            let back = state.iter().map(crate::operator::accumulator::negated::negated);
            let back = back.collect::<Result<Vec<_>>>().unwrap();
            accumulator
                .update(
                    &[0],
                    Some(&(Arc::new(Float64Array::from(vec![0.5])) as ArrayRef)),
                    None,
                )
                .unwrap();
            accumulator.merge(&[0], &back).unwrap();
            let sum = accumulator.evaluate(Reading::Sum, &[0], &mut Vec::new()).unwrap();
            assert_eq!(sum.as_primitive::<Float64Type>().value(0), 0.5, "{values:?}");
        }
    }

    #[test]
    fn fixed_values_are_exact() {
        for value in [1.0, -0.5, 0.1, 1e-7, 12345.678, 7e13, 2f64.powi(-80), 0.0] {
            let fixed = to_fixed(value).unwrap_or_else(|| panic!("{value} fits"));
            assert_eq!(fixed as f64 * 2f64.powi(-80), value);
        }
        assert_eq!(to_fixed(2f64.powi(-81)), None);
        assert_eq!(to_fixed(1e30), None);
        assert_eq!(to_fixed(f64::INFINITY), None);
        assert_eq!(to_fixed(f64::NAN), None);
    }
}
