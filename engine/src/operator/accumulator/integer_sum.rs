//! Sums and averages of integers and decimals, with the types of Postgres.
//!
//! A sum is kept modulo 2^128, or 2^256 for decimals of more than 18 digits: additions and subtractions are exact in any
//! order, and the true sum always fits, since it would take more than 2^60 rows to leave the range.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type,
    DecimalType, Int16Type, Int32Type, Int64Type, i256,
};

use crate::error::{Error, Result};
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

/// Digits after the point of an average, at least.
const AVERAGE_SCALE: i8 = 16;

pub(crate) fn build(argument: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match argument {
        DataType::Int16 => Box::new(IntegerSum::<Int16Type, Decimal128Type>::new(argument)?),
        DataType::Int32 => Box::new(IntegerSum::<Int32Type, Decimal128Type>::new(argument)?),
        DataType::Int64 => Box::new(IntegerSum::<Int64Type, Decimal128Type>::new(argument)?),
        DataType::Decimal128(precision, _) if *precision <= 18 => {
            Box::new(IntegerSum::<Decimal128Type, Decimal128Type>::new(argument)?)
        }
        DataType::Decimal128(_, _) => Box::new(IntegerSum::<Decimal128Type, Decimal256Type>::new(argument)?),
        other => return Err(not_summable(other)),
    })
}

fn not_summable(data_type: &DataType) -> Error {
    Error::Unsupported {
        message: format!("values of type {data_type} cannot be summed"),
        hint: Some("Cast the argument to bigint, numeric or double precision.".to_owned()),
    }
}

/// Digits after the point of the argument.
fn scale_of(argument: &DataType) -> i8 {
    if let DataType::Decimal128(_, scale) = argument {
        *scale
    } else {
        0
    }
}

pub(crate) fn state_type(argument: &DataType) -> DataType {
    match argument {
        DataType::Decimal128(precision, scale) if *precision > 18 => {
            DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale)
        }
        _ => DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale_of(argument)),
    }
}

pub(crate) fn sum_type(argument: &DataType) -> Result<DataType> {
    match argument {
        DataType::Int16 | DataType::Int32 => Ok(DataType::Int64),
        DataType::Int64 | DataType::Decimal128(_, _) => {
            Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale_of(argument)))
        }
        other => Err(not_summable(other)),
    }
}

pub(crate) fn average_type(argument: &DataType) -> Result<DataType> {
    sum_type(argument)?;
    Ok(DataType::Decimal128(
        DECIMAL128_MAX_PRECISION,
        scale_of(argument).max(AVERAGE_SCALE),
    ))
}

/// `V` is the type of the values, `S` the decimal type that stores the sum.
struct IntegerSum<V: ArrowPrimitiveType, S: DecimalType> {
    argument: DataType,
    slots: Vec<Slot<S::Native>>,
    value: std::marker::PhantomData<fn() -> V>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot<W> {
    sum: W,
    /// How many values are not NULL.
    count: i64,
}

/// Integers that wrap around.
trait Wide: Copy + Default {
    fn add(&mut self, value: Self);
    fn scaled(self, factor: i64) -> Self;
    fn widened(self) -> i256;
}

impl Wide for i128 {
    fn add(&mut self, value: Self) {
        *self = self.wrapping_add(value);
    }

    fn scaled(self, factor: i64) -> Self {
        self.wrapping_mul(factor.into())
    }

    fn widened(self) -> i256 {
        i256::from_i128(self)
    }
}

impl Wide for i256 {
    fn add(&mut self, value: Self) {
        *self = self.wrapping_add(value);
    }

    fn scaled(self, factor: i64) -> Self {
        self.wrapping_mul(i256::from_i128(factor.into()))
    }

    fn widened(self) -> i256 {
        self
    }
}

/// Values that can be added to a sum of type `W`.
trait Addend<W>: Copy {
    fn widen(self) -> W;
}

macro_rules! addend {
    ($($value:ty => $wide:ty, $convert:expr;)*) => {
        $(impl Addend<$wide> for $value {
            fn widen(self) -> $wide {
                $convert(self)
            }
        })*
    };
}
addend! {
    i16 => i128, i128::from;
    i32 => i128, i128::from;
    i64 => i128, i128::from;
    i128 => i128, std::convert::identity;
    i128 => i256, i256::from_i128;
}

impl<V: ArrowPrimitiveType, S: DecimalType> IntegerSum<V, S> {
    fn new(argument: &DataType) -> Result<Self> {
        sum_type(argument)?;
        Ok(Self {
            argument: argument.clone(),
            slots: Vec::new(),
            value: std::marker::PhantomData,
        })
    }
}

impl<V, S> Accumulator for IntegerSum<V, S>
where
    V: ArrowPrimitiveType<Native: Addend<S::Native>>,
    S: DecimalType<Native: Wide>,
{
    fn reserve(&mut self, groups: usize) {
        self.slots.resize(groups, Slot::default());
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        let array = values.expect("sum and avg have an argument").as_primitive::<V>();
        let values = array.values();
        if weights.is_none() && array.null_count() == 0 {
            for (group, value) in groups.iter().zip(values) {
                let slot = &mut self.slots[*group];
                slot.sum.add(value.widen());
                slot.count += 1;
            }
        } else {
            for_each_valid(groups, array.nulls(), weights, |row, group, weight| {
                let slot = &mut self.slots[group];
                slot.sum.add(values[row].widen().scaled(weight));
                slot.count += weight;
            });
        }
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let sums = state[0].as_primitive::<S>().values();
        let counts = state[1].as_primitive::<Int64Type>().values();
        for ((group, sum), count) in groups.iter().zip(sums).zip(counts) {
            let slot = &mut self.slots[*group];
            slot.sum.add(*sum);
            slot.count += count;
        }
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let sums = groups
            .iter()
            .map(|group| self.slots[*group].sum)
            .collect::<Vec<_>>();
        let sums = PrimitiveArray::<S>::new(sums.into(), None).with_data_type(state_type(&self.argument));
        let counts = Int64Array::from_iter_values(groups.iter().map(|group| self.slots[*group].count));
        Ok(vec![Arc::new(sums), Arc::new(counts)])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        let slots = groups.iter().map(|group| self.slots[*group]);
        match reading {
            Reading::Count => Ok(Arc::new(Int64Array::from_iter_values(
                slots.map(|slot| slot.count),
            ))),
            Reading::Sum if sum_type(&self.argument)? == DataType::Int64 => {
                let sums = slots.enumerate().map(|(position, slot)| {
                    let sum = (slot.count != 0).then(|| slot.sum.widened().to_i128()?.try_into().ok());
                    fitting(sum, position, "bigint out of range", failures)
                });
                Ok(Arc::new(sums.collect::<Int64Array>()))
            }
            Reading::Sum | Reading::Average => {
                let data_type = if reading == Reading::Sum {
                    sum_type
                } else {
                    average_type
                }(&self.argument)?;
                let factor = i256::from_i128(10)
                    .wrapping_pow((scale_of(&data_type) - scale_of(&self.argument)) as u32);
                let results = slots.enumerate().map(|(position, slot)| {
                    let result = (slot.count != 0).then(|| match reading {
                        Reading::Sum => numeric(slot.sum.widened()),
                        _ => numeric(divide(slot.sum.widened().wrapping_mul(factor), slot.count)),
                    });
                    fitting(result, position, "value overflows numeric format", failures)
                });
                let results = results.collect::<PrimitiveArray<Decimal128Type>>();
                Ok(Arc::new(results.with_data_type(data_type)))
            }
            other => Err(no_reading(other)),
        }
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.slots = keep.iter().map(|group| self.slots[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<S::Native>>()
    }
}

/// The result where there is one and it fits; otherwise NULL, and where it does not fit a failure.
pub(super) fn fitting<T>(
    result: Option<Option<T>>,
    position: usize,
    message: &'static str,
    failures: &mut Vec<Failure>,
) -> Option<T> {
    if matches!(result, Some(None)) {
        failures.push(Failure { position, message });
    }
    result.flatten()
}

/// As a value of `numeric(38, s)`.
fn numeric(value: i256) -> Option<i128> {
    const LIMIT: u128 = 10u128.pow(DECIMAL128_MAX_PRECISION as u32);
    value.to_i128().filter(|value| value.unsigned_abs() < LIMIT)
}

/// Rounds half away from zero, as Postgres rounds numeric.
fn divide(dividend: i256, divisor: i64) -> i256 {
    // 128 bits are enough nearly always, and much faster to divide.
    if let Some(small) = dividend.to_i128() {
        let divisor = i128::from(divisor);
        let (quotient, remainder) = (small / divisor, small % divisor);
        let up = remainder.unsigned_abs() * 2 >= divisor.unsigned_abs();
        return i256::from_i128(quotient + i128::from(up) * (small.signum() * divisor.signum()));
    }
    let divisor = i256::from_i128(divisor.into());
    let (quotient, remainder) = (dividend.wrapping_div(divisor), dividend.wrapping_rem(divisor));
    let up = remainder.wrapping_abs().wrapping_mul(i256::from_i128(2)) >= divisor.wrapping_abs();
    let away = if dividend.is_negative() == divisor.is_negative() {
        i256::ONE
    } else {
        i256::MINUS_ONE
    };
    if up { quotient.wrapping_add(away) } else { quotient }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_half_away_from_zero() {
        for (dividend, divisor, expected) in [
            (5, 2, 3),
            (-5, 2, -3),
            (4, 3, 1),
            (-4, 3, -1),
            (5, 3, 2),
            (0, 7, 0),
        ] {
            assert_eq!(
                divide(i256::from_i128(dividend), divisor),
                i256::from_i128(expected)
            );
            let big = i256::from_i128(i128::MAX).wrapping_mul(i256::from_i128(1_000_000));
            let shifted = big.wrapping_mul(i256::from_i128(divisor.into()));
            let negative = dividend < 0;
            let shifted = if negative { shifted.wrapping_neg() } else { shifted };
            let big = if negative { big.wrapping_neg() } else { big };
            assert_eq!(
                divide(shifted.wrapping_add(i256::from_i128(dividend)), divisor),
                big.wrapping_add(i256::from_i128(expected))
            );
        }
    }

    fn run(values: ArrayRef, weights: &[i64], reading: Reading) -> (ArrayRef, Vec<Failure>) {
        let mut accumulator = build(values.data_type()).unwrap();
        let groups = vec![0; values.len()];
        accumulator.reserve(1);
        accumulator.update(&groups, Some(&values), Some(weights)).unwrap();
        let mut failures = Vec::new();
        (
            accumulator.evaluate(reading, &[0], &mut failures).unwrap(),
            failures,
        )
    }

    #[test]
    fn a_sum_of_bigint_is_numeric_and_does_not_wrap() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX]));
        let (sum, failures) = run(values, &[1, 1], Reading::Sum);
        assert_eq!(sum.data_type(), &DataType::Decimal128(38, 0));
        assert_eq!(
            sum.as_primitive::<Decimal128Type>().value(0),
            2 * i128::from(i64::MAX)
        );
        assert!(failures.is_empty());
    }

    #[test]
    fn a_sum_of_integer_that_is_no_bigint_fails_until_it_is_one_again() {
        let values: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![i32::MAX]));
        let (sum, failures) = run(Arc::clone(&values), &[1 << 33], Reading::Sum);
        assert!(sum.is_null(0));
        assert_eq!(
            failures,
            [Failure {
                position: 0,
                message: "bigint out of range"
            }]
        );
        let (sum, failures) = run(values, &[1 << 32], Reading::Sum);
        assert_eq!(
            sum.as_primitive::<Int64Type>().value(0),
            i64::from(i32::MAX) << 32
        );
        assert!(failures.is_empty());
    }

    #[test]
    fn averages_have_sixteen_digits() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 2]));
        let (average, _) = run(values, &[1, 1, 1], Reading::Average);
        assert_eq!(average.data_type(), &DataType::Decimal128(38, 16));
        assert_eq!(
            average.as_primitive::<Decimal128Type>().value(0),
            16_666_666_666_666_667
        );
    }

    #[test]
    fn nothing_sums_to_null() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(1)]));
        let (sum, _) = run(values, &[1, 1, -1], Reading::Sum);
        assert!(sum.is_null(0));
    }
}
