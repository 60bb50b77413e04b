//! Variance and standard deviation, exact before the one rounding: independent of order, and right again after any
//! retraction.
//!
//! Count, sum and sum of squares say all: the variance is `(n * squares - sum^2) / (n * (n - 1))`. For integers and short
//! decimals these are integers of at most 246 bits, and the result is numeric as in Postgres. Floating point numbers, and
//! decimals whose squares would not fit, are summed as [`ExactFloat`]s.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryBuilder, Float64Array, PrimitiveArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type, i256,
};

use crate::error::{Error, Result};
use crate::operator::accumulator::exact_float::ExactFloat;
use crate::operator::accumulator::integer_sum::{average_type, fitting};
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

/// Decimals of more digits have squares that could leave 256 bits.
const EXACT_PRECISION_MAX: u8 = 18;
/// Numeric is below it.
const LIMIT: u128 = 10u128.pow(DECIMAL128_MAX_PRECISION as u32);
const OVERFLOW: &str = "value out of range: overflow";
const NUMERIC_OVERFLOW: &str = "value overflows numeric format";

pub(crate) fn build(argument: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match argument {
        DataType::Int16 => Box::new(IntegerVariance::<Int16Type>::new(argument)?),
        DataType::Int32 => Box::new(IntegerVariance::<Int32Type>::new(argument)?),
        DataType::Int64 => Box::new(IntegerVariance::<Int64Type>::new(argument)?),
        DataType::Decimal128(precision, _) if *precision <= EXACT_PRECISION_MAX => {
            Box::new(IntegerVariance::<Decimal128Type>::new(argument)?)
        }
        other => Box::new(FloatVariance {
            result: result_type(other)?,
            slots: Vec::new(),
        }),
    })
}

/// `numeric` for exact numbers, `double precision` for floating point ones.
pub(crate) fn result_type(argument: &DataType) -> Result<DataType> {
    match argument {
        DataType::Float32 | DataType::Float64 => Ok(DataType::Float64),
        other => average_type(other),
    }
}

/// What a reading makes of the three sums.
#[derive(Clone, Copy)]
struct Form {
    sample: bool,
    root: bool,
}

impl Form {
    fn of(reading: Reading) -> Result<Self> {
        let (sample, root) = match reading {
            Reading::SampleVariance => (true, false),
            Reading::PopulationVariance => (false, false),
            Reading::SampleDeviation => (true, true),
            Reading::PopulationDeviation => (false, true),
            other => return Err(no_reading(other)),
        };
        Ok(Self { sample, root })
    }

    /// `n * (n - 1)` or `n * n`; `None` where there is no variance.
    fn divisor(self, count: i64) -> Option<i128> {
        let count = i128::from(count);
        match self.sample {
            true => (count > 1).then(|| count * (count - 1)),
            false => (count > 0).then(|| count * count),
        }
    }
}

struct IntegerVariance<V> {
    result: DataType,
    /// Digits after the point of the argument.
    scale: u32,
    slots: Vec<Slot>,
    value: std::marker::PhantomData<fn() -> V>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    count: i64,
    sum: i128,
    squares: i256,
}

impl<V> IntegerVariance<V> {
    fn new(argument: &DataType) -> Result<Self> {
        let scale = match argument {
            DataType::Decimal128(_, scale) => {
                u32::try_from(*scale).map_err(|_| Error::Bug("a negative scale".to_owned()))?
            }
            _ => 0,
        };
        Ok(Self {
            result: result_type(argument)?,
            scale,
            slots: Vec::new(),
            value: std::marker::PhantomData,
        })
    }

    /// `None` without a variance, `Some(None)` when it does not fit the type.
    fn result(&self, slot: &Slot, form: Form) -> Option<Option<i128>> {
        let divisor = i256::from_i128(form.divisor(slot.count)?).wrapping_mul(power_of_ten(2 * self.scale));
        let sum = i256::from_i128(slot.sum);
        let dividend = slot
            .squares
            .wrapping_mul(i256::from_i128(slot.count.into()))
            .wrapping_sub(sum.wrapping_mul(sum));
        let DataType::Decimal128(_, scale) = self.result else {
            return Some(None);
        };
        let scale = u32::try_from(scale).unwrap_or(0);
        let result = match form.root {
            false => decimal_quotient(dividend, divisor, scale, true),
            true => decimal_quotient(dividend, divisor, 2 * scale, false).map(square_root),
        };
        Some(
            result
                .and_then(i256::to_i128)
                .filter(|result| result.unsigned_abs() < LIMIT),
        )
    }
}

fn power_of_ten(digits: u32) -> i256 {
    i256::from_i128(10).wrapping_pow(digits)
}

/// A quotient of numbers that are not negative with `scale` digits after the point, cut or rounded half up; `None` when it
/// does not fit.
fn decimal_quotient(dividend: i256, divisor: i256, scale: u32, rounded: bool) -> Option<i256> {
    let ten = i256::from_i128(10);
    let (mut quotient, mut remainder) = (dividend.wrapping_div(divisor), dividend.wrapping_rem(divisor));
    for _ in 0..scale {
        let shifted = remainder.wrapping_mul(ten);
        quotient = quotient
            .checked_mul(ten)?
            .checked_add(shifted.wrapping_div(divisor))?;
        remainder = shifted.wrapping_rem(divisor);
    }
    let up = rounded && remainder.wrapping_mul(i256::from_i128(2)) >= divisor;
    if up {
        quotient.checked_add(i256::ONE)
    } else {
        Some(quotient)
    }
}

/// The nearest integer to the square root.
fn square_root(value: i256) -> i256 {
    if value <= i256::ZERO {
        return i256::ZERO;
    }
    // From above, so that the steps fall until they reach the root.
    let bits = 256 - value.leading_zeros();
    let mut root = i256::ONE << (bits / 2 + 1) as u8;
    loop {
        let next = root
            .wrapping_add(value.wrapping_div(root))
            .wrapping_div(i256::from_i128(2));
        if next >= root {
            break;
        }
        root = next;
    }
    let up = value.wrapping_sub(root.wrapping_mul(root)) > root;
    if up { root.wrapping_add(i256::ONE) } else { root }
}

impl<V> Accumulator for IntegerVariance<V>
where
    V: ArrowPrimitiveType<Native: Into<i128>>,
{
    fn reserve(&mut self, groups: usize) {
        self.slots.resize(groups, Slot::default());
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let array = values.expect("a variance has an argument").as_primitive::<V>();
        for_each_valid(groups, array.nulls(), weights, |row, group, weight| {
            let (slot, value): (_, i128) = (&mut self.slots[group], array.value(row).into());
            let (wide, times) = (i256::from_i128(value), i256::from_i128(weight.into()));
            slot.count += weight;
            slot.sum = slot.sum.wrapping_add(value.wrapping_mul(weight.into()));
            slot.squares = slot
                .squares
                .wrapping_add(wide.wrapping_mul(wide).wrapping_mul(times));
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let states = state[0].as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let bytes: &[u8; 56] = states.value(row).try_into().map_err(|_| damaged())?;
            let (count, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
            let (sum, squares) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
            let slot = &mut self.slots[*group];
            slot.count += i64::from_le_bytes(*count);
            slot.sum = slot.sum.wrapping_add(i128::from_le_bytes(*sum));
            let squares = i256::from_le_bytes(squares.try_into().map_err(|_| damaged())?);
            slot.squares = slot.squares.wrapping_add(squares);
        }
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let states = groups.iter().map(|group| {
            let slot = &self.slots[*group];
            let mut bytes = [0; 56];
            bytes[..8].copy_from_slice(&slot.count.to_le_bytes());
            bytes[8..24].copy_from_slice(&slot.sum.to_le_bytes());
            bytes[24..].copy_from_slice(&slot.squares.to_le_bytes());
            bytes
        });
        Ok(vec![Arc::new(BinaryArray::from_iter_values(states))])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        let form = Form::of(reading)?;
        let results = groups.iter().enumerate().map(|(position, group)| {
            fitting(
                self.result(&self.slots[*group], form),
                position,
                NUMERIC_OVERFLOW,
                failures,
            )
        });
        let results = results.collect::<PrimitiveArray<Decimal128Type>>();
        Ok(Arc::new(results.with_data_type(self.result.clone())))
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.slots = keep.iter().map(|group| self.slots[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

fn damaged() -> Error {
    Error::Bug("the state of a variance is damaged".to_owned())
}

struct FloatVariance {
    result: DataType,
    slots: Vec<FloatSlot>,
}

#[derive(Debug, Clone, Default)]
struct FloatSlot {
    count: i64,
    /// Values whose squares are beyond all bounds.
    huge: i64,
    sum: ExactFloat,
    squares: ExactFloat,
}

impl FloatSlot {
    /// `None` without a variance, `Some(None)` when it is out of range.
    fn result(&self, form: Form) -> Option<Option<f64>> {
        let divisor = form.divisor(self.count)?;
        if self.sum.special().is_some() {
            return Some(Some(f64::NAN));
        }
        if self.huge != 0 {
            return Some(None);
        }
        let spread = ExactFloat::spread(self.count.unsigned_abs(), &self.squares, &self.sum);
        let variance = spread / divisor as f64;
        let result = if form.root { variance.sqrt() } else { variance };
        Some(Some(result).filter(|result| result.is_finite()))
    }
}

impl Accumulator for FloatVariance {
    fn reserve(&mut self, groups: usize) {
        self.slots.resize(groups, FloatSlot::default());
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let values = cast(values.expect("a variance has an argument"), &DataType::Float64)?;
        let array = values.as_primitive::<Float64Type>();
        for_each_valid(groups, array.nulls(), weights, |row, group, weight| {
            let (slot, value) = (&mut self.slots[group], array.value(row));
            slot.count += weight;
            slot.sum.add(value, weight);
            if value.is_finite() && !slot.squares.add_square(value, weight) {
                slot.huge += weight;
            }
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let states = state[0].as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let bytes = states.value(row);
            let (count, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
            let (huge, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
            let (sum, squares) = rest
                .split_at_checked(u32::from_le_bytes(*length) as usize)
                .ok_or_else(damaged)?;
            let slot = &mut self.slots[*group];
            slot.count += i64::from_le_bytes(*count);
            slot.huge += i64::from_le_bytes(*huge);
            slot.sum.merge(&ExactFloat::decode(sum).ok_or_else(damaged)?);
            slot.squares
                .merge(&ExactFloat::decode(squares).ok_or_else(damaged)?);
        }
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut states = BinaryBuilder::new();
        let (mut bytes, mut sum) = (Vec::new(), Vec::new());
        for group in groups {
            let slot = &self.slots[*group];
            bytes.clear();
            sum.clear();
            slot.sum.encode(&mut sum);
            bytes.extend_from_slice(&slot.count.to_le_bytes());
            bytes.extend_from_slice(&slot.huge.to_le_bytes());
            bytes.extend_from_slice(&(sum.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&sum);
            slot.squares.encode(&mut bytes);
            states.append_value(&bytes);
        }
        Ok(vec![Arc::new(states.finish())])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        let form = Form::of(reading)?;
        // Digits that a numeric has before the point.
        let digits = match self.result {
            DataType::Decimal128(precision, scale) => Some(i32::from(precision) - i32::from(scale)),
            _ => None,
        };
        let results = groups.iter().enumerate().map(|(position, group)| {
            let message = if digits.is_some() {
                NUMERIC_OVERFLOW
            } else {
                OVERFLOW
            };
            let fits = |result: Option<f64>| {
                result.filter(|result| digits.is_none_or(|digits| *result < 10f64.powi(digits)))
            };
            fitting(
                self.slots[*group].result(form).map(fits),
                position,
                message,
                failures,
            )
        });
        let results: ArrayRef = Arc::new(results.collect::<Float64Array>());
        Ok(cast(&results, &self.result)?)
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.slots = keep.iter().map(|group| self.slots[*group].clone()).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<FloatSlot>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    fn read(values: ArrayRef, weights: &[i64], reading: Reading) -> Vec<Option<f64>> {
        let mut accumulator = build(values.data_type()).unwrap();
        accumulator.reserve(1);
        accumulator
            .update(&vec![0; values.len()], Some(&values), Some(weights))
            .unwrap();
        // Through its own state, as between the phases of an aggregation.
        let mut merged = build(values.data_type()).unwrap();
        merged.reserve(1);
        merged.merge(&[0], &accumulator.state(&[0]).unwrap()).unwrap();
        let result = merged.evaluate(reading, &[0], &mut Vec::new()).unwrap();
        let result = cast(&result, &DataType::Float64).unwrap();
        result.as_primitive::<Float64Type>().iter().collect()
    }

    fn ints(values: &[i64]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    fn floats(values: &[f64]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    #[test]
    fn small_samples() {
        use Reading::{PopulationDeviation, PopulationVariance, SampleDeviation, SampleVariance};
        for (values, reading, expected) in [
            (&[1, 3][..], SampleVariance, Some(2.0)),
            (&[1, 3], PopulationVariance, Some(1.0)),
            (&[1, 3], SampleDeviation, Some(2f64.sqrt())),
            (&[2, 4, 4, 4, 5, 5, 7, 9], PopulationDeviation, Some(2.0)),
            (&[5], SampleVariance, None),
            (&[5], PopulationVariance, Some(0.0)),
            (&[], PopulationVariance, None),
            (&[5, 5], SampleDeviation, Some(0.0)),
        ] {
            let weights = vec![1; values.len()];
            let same: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            for values in [ints(values), floats(&same)] {
                // Numeric has sixteen digits after the point.
                let close = match (read(values, &weights, reading)[0], expected) {
                    (Some(result), Some(expected)) => (result - expected).abs() < 1e-15,
                    (result, expected) => result == expected,
                };
                assert!(close, "{same:?}");
            }
        }
    }

    #[test]
    fn a_retraction_leaves_no_trace() {
        let values = floats(&[0.1, 0.3, 1e200, f64::NAN, 7e-300, 1e200, f64::NAN, 7e-300]);
        let result = read(values, &[1, 1, 1, 1, 1, -1, -1, -1], Reading::SampleVariance);
        assert_eq!(
            result,
            read(floats(&[0.3, 0.1]), &[1, 1], Reading::SampleVariance)
        );
        assert!((result[0].unwrap() - 0.02).abs() < 1e-17);
    }

    #[test]
    fn close_values_far_from_zero_keep_their_variance() {
        let values: Vec<f64> = [1e15, 1e15 + 1.0, 1e15 + 2.0].to_vec();
        assert_eq!(
            read(floats(&values), &[1; 3], Reading::SampleVariance),
            [Some(1.0)]
        );
        let values: Vec<i64> = values.iter().map(|value| *value as i64).collect();
        assert_eq!(read(ints(&values), &[1; 3], Reading::SampleVariance), [Some(1.0)]);
    }

    #[test]
    fn infinities_and_values_beyond_all_bounds() {
        assert!(
            read(floats(&[f64::INFINITY, 1.0]), &[1; 2], Reading::SampleVariance)[0]
                .unwrap()
                .is_nan()
        );
        assert_eq!(
            read(floats(&[1e300, 1.0]), &[1; 2], Reading::SampleVariance),
            [None]
        );
        assert_eq!(
            read(ints(&[i64::MAX, i64::MIN]), &[1; 2], Reading::SampleVariance),
            [None]
        );
    }

    #[test]
    fn roots_are_the_nearest() {
        for (value, root) in [
            (0, 0),
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 2),
            (6, 2),
            (7, 3),
            (1_000_000, 1000),
        ] {
            assert_eq!(
                square_root(i256::from_i128(value)),
                i256::from_i128(root),
                "{value}"
            );
        }
        let big = i256::from_i128(i128::MAX);
        assert_eq!(square_root(big.wrapping_mul(big)), big);
    }
}
