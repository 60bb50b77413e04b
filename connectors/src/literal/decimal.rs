//! `numeric`: exact decimal numbers as scaled 128-bit integers.

use millpond_catalog::SqlType;

use super::{invalid, out_of_range};

/// `text` times ten to the `scale`, rounded half away from zero as Postgres does, if it has at most `precision` digits.
pub fn decimal(text: &str, precision: u8, scale: i8) -> Result<i128, String> {
    let sql_type = || SqlType::Numeric(Some((precision, scale)));
    let number = Number::parse(text.trim()).ok_or_else(|| invalid(&sql_type(), text))?;
    let scaled = number
        .scaled(i64::from(scale))
        .filter(|v| v.unsigned_abs() < 10_u128.pow(u32::from(precision)));
    scaled.ok_or_else(|| out_of_range(&sql_type(), text))
}

/// A decimal number in parts: digits times ten to the exponent.
struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Number<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (negative, rest) = match bytes.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, bytes),
        };
        let (whole, rest) = split_digits(rest);
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', rest)) => split_digits(rest),
            _ => (&rest[..0], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest.split_first() {
            None => 0,
            Some((b'e' | b'E', rest)) => parse_exponent(rest)?,
            Some(_) => return None,
        };
        Some(Number {
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// The number times ten to the `scale`, rounded; `None` if it does not fit.
    fn scaled(&self, scale: i64) -> Option<i128> {
        let mut digits = self.whole.iter().chain(self.fraction).map(|byte| byte - b'0');
        // So many digits stand before the point of the scaled number; the next one decides the rounding.
        let kept = (self.whole.len() as i64)
            .saturating_add(self.exponent)
            .saturating_add(scale);
        let mut value: i128 = 0;
        if kept >= 0 {
            let mut taken = 0;
            while taken < kept {
                let Some(digit) = digits.next() else { break };
                value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
                taken += 1;
            }
            if taken < kept && value != 0 {
                let power = u32::try_from(kept - taken).ok()?;
                value = value.checked_mul(10_i128.checked_pow(power)?)?;
            }
            if digits.next().is_some_and(|digit| digit >= 5) {
                value = value.checked_add(1)?;
            }
        }
        Some(if self.negative { -value } else { value })
    }
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(bytes.len());
    bytes.split_at(end)
}

/// The exponent; one beyond any use is cut to where the number is certainly zero or out of range.
fn parse_exponent(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |value: i64, byte: &u8| value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
    let magnitude = digits.iter().fold(0, add).min(i64::from(i32::MAX));
    Some(if negative { -magnitude } else { magnitude })
}
