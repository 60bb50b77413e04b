//! The exact sum of any floating point numbers, as one wide fixed-point number.
//!
//! Every finite `f64` is an integer times 2^-1074, so a sum is an integer of at most 2,098 bits plus what weights and
//! counts add. It is kept in two's complement; nothing is ever rounded until the result is asked for. NaN and the
//! infinities are counted, so that taking one away brings the finite sum back.

/// Bits of the fraction: the smallest subnormal is the unit.
const UNIT: u32 = 1074;
/// 2,098 bits for the range of `f64`, 63 for weights, 63 for the number of rows, 1 for the sign.
const LIMBS: usize = 35;
/// Squares are below 2 to this power, which leaves room for weights and counts.
const SQUARE_EXPONENT_MAX: i32 = 900;

/// An exact sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExactFloat {
    /// Least significant first, two's complement.
    limbs: [u64; LIMBS],
    nans: i64,
    positive_infinities: i64,
    negative_infinities: i64,
}

impl Default for ExactFloat {
    fn default() -> Self {
        Self {
            limbs: [0; LIMBS],
            nans: 0,
            positive_infinities: 0,
            negative_infinities: 0,
        }
    }
}

/// A finite `f64` as sign, integer mantissa and exponent: `mantissa * 2^exponent`.
pub(crate) fn decompose(value: f64) -> (bool, u64, i32) {
    let bits = value.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if biased == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, biased - 1075)
    };
    (bits >> 63 == 1, mantissa, exponent)
}

impl ExactFloat {
    /// Adds `value` as often as `weight` says.
    pub fn add(&mut self, value: f64, weight: i64) {
        if value.is_nan() {
            self.nans += weight;
        } else if value == f64::INFINITY {
            self.positive_infinities += weight;
        } else if value == f64::NEG_INFINITY {
            self.negative_infinities += weight;
        } else {
            let (negative, mantissa, exponent) = decompose(value);
            let magnitude = u128::from(mantissa) * u128::from(weight.unsigned_abs());
            self.add_shifted(
                magnitude,
                (exponent + UNIT as i32) as u32,
                negative != (weight < 0),
            );
        }
    }

    /// Adds `value * 2^exponent`.
    pub fn add_integer(&mut self, value: i128, exponent: i32) {
        self.add_shifted(value.unsigned_abs(), (exponent + UNIT as i32) as u32, value < 0);
    }

    /// Adds or subtracts `magnitude << shift`.
    fn add_shifted(&mut self, magnitude: u128, shift: u32, subtract: bool) {
        let (limb, bits) = ((shift / 64) as usize, shift % 64);
        let low = magnitude << bits;
        let high = if bits == 0 {
            0
        } else {
            (magnitude >> (128 - bits)) as u64
        };
        let mut parts = [low as u64, (low >> 64) as u64, high].into_iter();
        let mut carry = false;
        for target in &mut self.limbs[limb..] {
            let part = parts.next();
            if part.is_none() && !carry {
                break;
            }
            let part = part.unwrap_or(0);
            (*target, carry) = if subtract {
                target.borrowing_sub(part, carry)
            } else {
                target.carrying_add(part, carry)
            };
        }
    }

    /// Changes the sign.
    pub fn negate(&mut self) {
        let mut carry = true;
        for limb in &mut self.limbs {
            (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
        }
        self.nans = -self.nans;
        self.positive_infinities = -self.positive_infinities;
        self.negative_infinities = -self.negative_infinities;
    }

    pub fn merge(&mut self, other: &ExactFloat) {
        let mut carry = false;
        for (target, part) in self.limbs.iter_mut().zip(other.limbs) {
            (*target, carry) = target.carrying_add(part, carry);
        }
        self.nans += other.nans;
        self.positive_infinities += other.positive_infinities;
        self.negative_infinities += other.negative_infinities;
    }

    /// Adds the square of a finite `value` as often as `weight` says, without what is below the unit; false if it is too
    /// large.
    pub fn add_square(&mut self, value: f64, weight: i64) -> bool {
        let (_, mantissa, exponent) = decompose(value);
        // Room for the weights and for as many rows as there can be.
        if mantissa != 0 && 2 * (exponent + 53) > SQUARE_EXPONENT_MAX {
            return false;
        }
        let square = u128::from(mantissa) * u128::from(mantissa);
        let shift = 2 * exponent + UNIT as i32;
        let (square, shift) = match shift {
            0.. => (square, shift as u32),
            -127..0 => (square >> -shift, 0),
            _ => (0, 0),
        };
        let times = u128::from(weight.unsigned_abs());
        let (low, high) = (square & u128::from(u64::MAX), square >> 64);
        self.add_shifted(low * times, shift, weight < 0);
        self.add_shifted(high * times, shift + 64, weight < 0);
        true
    }

    /// `count * squares - sum^2` of finite sums, rounded; never below zero.
    pub fn spread(count: u64, squares: &ExactFloat, sum: &ExactFloat) -> f64 {
        // In units of 2^(-2 * UNIT), as the square of the sum comes.
        let mut wide = [0_u64; 2 * LIMBS + 1];
        let (limb, bits) = ((UNIT / 64) as usize, UNIT % 64);
        let mut carry = 0_u128;
        for (position, part) in squares.limbs.iter().enumerate() {
            let scaled = u128::from(*part) * u128::from(count) + carry;
            let shifted = u128::from(scaled as u64) << bits;
            add_at(&mut wide, limb + position, shifted);
            carry = scaled >> 64;
        }
        add_at(&mut wide, limb + LIMBS, carry << bits);
        let (_, magnitude) = sum.magnitude();
        let mut square = [0_u64; 2 * LIMBS + 1];
        for (i, a) in magnitude.iter().enumerate().filter(|(_, a)| **a != 0) {
            for (j, b) in magnitude.iter().enumerate().filter(|(_, b)| **b != 0) {
                add_at(&mut square, i + j, u128::from(*a) * u128::from(*b));
            }
        }
        let mut borrow = false;
        for (target, part) in wide.iter_mut().zip(square) {
            (*target, borrow) = target.borrowing_sub(part, borrow);
        }
        if borrow {
            return 0.0;
        }
        let Some(top) = wide.iter().rposition(|limb| *limb != 0) else {
            return 0.0;
        };
        let below = |back: usize| top.checked_sub(back).map_or(0, |position| wide[position]);
        // The first bits of what there is; a bit for the rest keeps the rounding honest.
        let mantissa = (u128::from(below(0)) << 64) | u128::from(below(1) | u64::from(below(2) != 0));
        let exponent = (top as i32 - 1) * 64 - 2 * UNIT as i32;
        // In steps, since the powers of two may be out of range where their product with the mantissa is not.
        let quarter = exponent / 4;
        [quarter, quarter, quarter, exponent - 3 * quarter]
            .into_iter()
            .fold(mantissa as f64, |value, exponent| value * power_of_two(exponent))
    }

    /// The sign and the absolute value of the finite sum.
    fn magnitude(&self) -> (bool, [u64; LIMBS]) {
        let negative = self.limbs[LIMBS - 1] >> 63 == 1;
        let mut magnitude = self.limbs;
        if negative {
            let mut carry = true;
            for limb in &mut magnitude {
                (*limb, carry) = (!*limb).carrying_add(0, carry);
            }
        }
        (negative, magnitude)
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The nearest `f64`, ties to even; infinite when the sum is out of range.
    pub fn to_f64(&self) -> f64 {
        self.special().unwrap_or_else(|| {
            let (negative, mantissa, exponent) = self.rounded(53, -1074);
            // Both factors are exact and their product is representable or out of range.
            let value = scale(mantissa as f64, exponent);
            if negative { -value } else { value }
        })
    }

    /// The nearest `f32`, ties to even, without a detour over `f64`.
    pub fn to_f32(&self) -> f32 {
        match self.special() {
            Some(special) => special as f32,
            None => {
                let (negative, mantissa, exponent) = self.rounded(24, -149);
                let value = scale(mantissa as f64, exponent) as f32;
                if negative { -value } else { value }
            }
        }
    }

    /// The sum says nothing finite.
    pub fn special(&self) -> Option<f64> {
        match (
            self.nans != 0,
            self.positive_infinities != 0,
            self.negative_infinities != 0,
        ) {
            (true, _, _) | (false, true, true) => Some(f64::NAN),
            (false, true, false) => Some(f64::INFINITY),
            (false, false, true) => Some(f64::NEG_INFINITY),
            (false, false, false) => None,
        }
    }

    /// The finite sum rounded to `bits` significant bits, but to no finer unit than 2^`least`.
    fn rounded(&self, bits: u32, least: i32) -> (bool, u64, i32) {
        let (negative, magnitude) = self.magnitude();
        let Some(top) = magnitude.iter().rposition(|limb| *limb != 0) else {
            return (false, 0, 0);
        };
        let length = top as u32 * 64 + (64 - magnitude[top].leading_zeros());
        let drop = length.saturating_sub(bits).max((least + UNIT as i32) as u32);
        let bit = |position: u32| magnitude[(position / 64) as usize] >> (position % 64) & 1 == 1;
        let mut mantissa = (drop..length)
            .rev()
            .fold(0, |mantissa, position| mantissa << 1 | u64::from(bit(position)));
        if drop > 0 && bit(drop - 1) {
            let half = drop - 1;
            let whole = (half / 64) as usize;
            let sticky = magnitude[..whole].iter().any(|limb| *limb != 0)
                || magnitude[whole] & ((1 << (half % 64)) - 1) != 0;
            mantissa += u64::from(sticky || mantissa & 1 == 1);
        }
        (negative, mantissa, drop as i32 - UNIT as i32)
    }

    /// Appends a form that [`ExactFloat::decode`] reads.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        for count in [self.nans, self.positive_infinities, self.negative_infinities] {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        // Zeros below and copies of the sign above need not be stored.
        let sign = if self.limbs[LIMBS - 1] >> 63 == 1 {
            u64::MAX
        } else {
            0
        };
        let first = self.limbs.iter().position(|limb| *limb != 0).unwrap_or(0);
        let last = self
            .limbs
            .iter()
            .rposition(|limb| *limb != sign)
            .map_or(0, |last| (last + 2).min(LIMBS));
        bytes.push(first as u8);
        for limb in &self.limbs[first..last.max(first)] {
            bytes.extend_from_slice(&limb.to_le_bytes());
        }
    }

    /// `None` when the bytes are not what [`ExactFloat::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (counts, rest) = bytes.split_at_checked(24)?;
        let (first, limbs) = rest.split_first()?;
        let (words, rest) = limbs.as_chunks::<8>();
        let first = usize::from(*first);
        if !rest.is_empty() || first + words.len() > LIMBS {
            return None;
        }
        let count = |i: usize| Some(i64::from_le_bytes(counts[i * 8..i * 8 + 8].try_into().ok()?));
        let mut sum = Self {
            nans: count(0)?,
            positive_infinities: count(1)?,
            negative_infinities: count(2)?,
            ..Self::default()
        };
        for (limb, word) in sum.limbs[first..].iter_mut().zip(words) {
            *limb = u64::from_le_bytes(*word);
        }
        if words.last().is_some_and(|word| word[7] >> 7 == 1) {
            sum.limbs[first + words.len()..].fill(u64::MAX);
        }
        Some(sum)
    }
}

/// Adds `value` at limb `at`, modulo the width.
fn add_at(limbs: &mut [u64], at: usize, value: u128) {
    let mut parts = [value as u64, (value >> 64) as u64].into_iter();
    let mut carry = false;
    for target in limbs.iter_mut().skip(at) {
        let part = parts.next();
        if part.is_none() && !carry {
            break;
        }
        (*target, carry) = target.carrying_add(part.unwrap_or(0), carry);
    }
}

/// `mantissa * 2^exponent` for a mantissa that needs no rounding at that exponent.
fn scale(mantissa: f64, exponent: i32) -> f64 {
    // Two steps, because 2^-1074 and 2^971 are within range but 2^1024 is not.
    let half = exponent / 2;
    mantissa * power_of_two(half) * power_of_two(exponent - half)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> ExactFloat {
        let mut sum = ExactFloat::default();
        values.iter().for_each(|value| sum.add(*value, 1));
        sum
    }

    #[test]
    fn one_value_comes_back() {
        for value in [
            0.0,
            1.0,
            -1.5,
            0.1,
            1e300,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            1e-310,
        ] {
            assert_eq!(sum(&[value]).to_f64().to_bits(), value.to_bits(), "{value:e}");
        }
        for value in [1.1f32, f32::MAX, f32::MIN_POSITIVE, 1e-45] {
            assert_eq!(
                sum(&[value.into()]).to_f32().to_bits(),
                value.to_bits(),
                "{value:e}"
            );
        }
    }

    #[test]
    fn nothing_is_absorbed() {
        assert_eq!(sum(&[1.0, 1e16, -1e16]).to_f64(), 1.0);
        assert_eq!(sum(&[1e308, 1e308, -1e308]).to_f64(), 1e308);
        assert_eq!(sum(&[5e-324, 1e308, -1e308]).to_f64(), 5e-324);
        assert_eq!(sum(&[0.1; 10]).to_f64(), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).to_f64(), f64::INFINITY);
    }

    #[test]
    fn ties_go_to_even_and_small_rests_break_them() {
        let two53 = 2f64.powi(53);
        assert_eq!(sum(&[two53, 1.0]).to_f64(), two53);
        assert_eq!(sum(&[two53, 1.0, 1e-300]).to_f64(), two53 + 2.0);
        assert_eq!(sum(&[two53 + 2.0, 1.0]).to_f64(), two53 + 4.0);
        assert_eq!(sum(&[-two53, -1.0, -1e-300]).to_f64(), -two53 - 2.0);
    }

    #[test]
    fn infinities_can_be_taken_back() {
        let mut exact = sum(&[1.0, f64::INFINITY, f64::NAN, f64::NEG_INFINITY]);
        assert!(exact.to_f64().is_nan());
        exact.add(f64::NAN, -1);
        assert!(exact.to_f64().is_nan());
        exact.add(f64::NEG_INFINITY, -1);
        assert_eq!(exact.to_f64(), f64::INFINITY);
        exact.add(f64::INFINITY, -1);
        assert_eq!(exact.to_f64(), 1.0);
    }

    #[test]
    fn weights_multiply_exactly() {
        let mut exact = ExactFloat::default();
        exact.add(f64::MAX, i64::MAX);
        exact.add(f64::MAX, -i64::MAX);
        assert!(exact.is_zero());
        exact.add(0.1, 3);
        let mut thrice = sum(&[0.1, 0.1, 0.1]);
        assert_eq!(exact, thrice);
        thrice.add(0.1, -3);
        assert!(thrice.is_zero());
    }

    #[test]
    fn encoding_is_read_back() {
        for values in [
            &[][..],
            &[1.0],
            &[-1.0],
            &[1e300, -5e-324],
            &[-1e300, 5e-324],
            &[f64::NAN, f64::MAX],
            &[-0.1],
        ] {
            let exact = sum(values);
            let mut bytes = Vec::new();
            exact.encode(&mut bytes);
            assert_eq!(ExactFloat::decode(&bytes), Some(exact), "{values:?}");
        }
        assert_eq!(ExactFloat::decode(&[1, 2, 3]), None);
    }

    #[test]
    fn merging_is_adding() {
        let mut left = sum(&[0.1, -1e200]);
        left.merge(&sum(&[1e200, 0.2]));
        assert_eq!(left, sum(&[0.2, 0.1]));
    }
}
