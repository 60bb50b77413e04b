//! Arithmetic of numerics in 256 bits, rounded half away from zero as Postgres does.

use arrow::datatypes::i256;
use arrow::error::ArrowError;

/// Postgres chooses the scale by the size of each quotient; a column has one scale, so the least that Postgres gives.
pub const QUOTIENT_SCALE_MIN: i8 = 16;

/// `None` when the quotient does not fit. The divisor is not zero.
pub fn divide(dividend: i256, divisor: i256) -> Option<i128> {
    let (quotient, rest) = (dividend.wrapping_div(divisor), dividend.wrapping_rem(divisor));
    let double = rest.wrapping_abs().wrapping_add(rest.wrapping_abs());
    let away = match (dividend < i256::ZERO) == (divisor < i256::ZERO) {
        true => i256::ONE,
        false => i256::MINUS_ONE,
    };
    let rounded = match double >= divisor.wrapping_abs() {
        true => quotient.wrapping_add(away),
        false => quotient,
    };
    rounded.to_i128()
}

pub fn out_of_range() -> ArrowError {
    ArrowError::ArithmeticOverflow("numeric out of range".to_owned())
}
