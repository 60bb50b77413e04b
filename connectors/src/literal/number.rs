//! Booleans, integers and floats.

use millpond_catalog::SqlType;

use super::decimal::decimal;
use super::{invalid, out_of_range};

/// As Postgres reads a boolean: any beginning of true, false, yes, no; on, off; 1, 0.
pub fn boolean(text: &str) -> Result<bool, String> {
    let word = text.trim().to_ascii_lowercase();
    match word.as_str() {
        "true" | "tru" | "tr" | "t" | "yes" | "ye" | "y" | "on" | "1" => Ok(true),
        "false" | "fals" | "fal" | "fa" | "f" | "no" | "n" | "off" | "of" | "0" => Ok(false),
        _ => Err(invalid(&SqlType::Bool, text)),
    }
}

pub fn int2(text: &str) -> Result<i16, String> {
    integer(text, &SqlType::Int2)
}

pub fn int4(text: &str) -> Result<i32, String> {
    integer(text, &SqlType::Int4)
}

#[inline]
pub fn int8(text: &str) -> Result<i64, String> {
    integer(text, &SqlType::Int8)
}

#[inline]
fn integer<T: TryFrom<i64>>(text: &str, sql_type: &SqlType) -> Result<T, String> {
    match short_digits(text) {
        Some(value) => T::try_from(value).map_err(|_| out_of_range(sql_type, text)),
        None => any_integer(text, sql_type),
    }
}

/// The value of up to 18 digits with an optional minus, which cannot overflow.
#[inline]
fn short_digits(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (negative, digits) = match bytes.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, bytes),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value: i64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// Integers in any notation: `1.0` and `1e3` are whole numbers, `1.5` is not.
#[cold]
fn any_integer<T: TryFrom<i64>>(text: &str, sql_type: &SqlType) -> Result<T, String> {
    let text = text.trim();
    if let Ok(value) = text.parse::<i64>() {
        return T::try_from(value).map_err(|_| out_of_range(sql_type, text));
    }
    // A fraction would be rounded away at scale 0, so compare with more digits.
    let whole = decimal(text, 38, 0).map_err(|_| integer_error(text, sql_type))?;
    let exact = decimal(text, 38, 18)
        .ok()
        .map(|scaled| scaled % 10_i128.pow(18) == 0);
    match exact {
        Some(false) => Err(invalid(sql_type, text)),
        _ => i64::try_from(whole)
            .ok()
            .and_then(|v| T::try_from(v).ok())
            .ok_or_else(|| out_of_range(sql_type, text)),
    }
}

fn integer_error(text: &str, sql_type: &SqlType) -> String {
    match text.parse::<f64>() {
        Ok(value)
            if value.is_finite()
                || text
                    .bytes()
                    .all(|b| !b.is_ascii_alphabetic() || b == b'e' || b == b'E') =>
        {
            out_of_range(sql_type, text)
        }
        _ => invalid(sql_type, text),
    }
}

pub fn float4(text: &str) -> Result<f32, String> {
    let value = parse_float::<f32>(text).ok_or_else(|| invalid(&SqlType::Float4, text))?;
    let fits = value.is_finite() && (value != 0.0 || is_zero(text));
    if fits || names_no_number(text) {
        Ok(value)
    } else {
        Err(out_of_range(&SqlType::Float4, text))
    }
}

pub fn float8(text: &str) -> Result<f64, String> {
    let value = parse_float::<f64>(text).ok_or_else(|| invalid(&SqlType::Float8, text))?;
    let fits = value.is_finite() && (value != 0.0 || is_zero(text));
    if fits || names_no_number(text) {
        Ok(value)
    } else {
        Err(out_of_range(&SqlType::Float8, text))
    }
}

/// Rust reads the same notations as Postgres: digits, exponent, `NaN`, `inf` and `infinity` in any case.
fn parse_float<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// `NaN` and `Infinity` are values of their own, not numbers that were too large.
fn names_no_number(text: &str) -> bool {
    text.trim()
        .trim_start_matches(['-', '+'])
        .starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The digits before the exponent are all zero.
fn is_zero(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}
