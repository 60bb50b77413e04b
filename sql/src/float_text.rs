//! Floats as Postgres prints them: the shortest digits that read back as the same number, with an exponent of two digits
//! or more for numbers that are very large or very small.

use std::fmt::{Result, Write};

/// Numbers of this magnitude and up are printed with an exponent.
const EXPONENT_FROM_F64: i32 = 15;
const EXPONENT_FROM_F32: i32 = 6;
/// Numbers of a lower magnitude are printed with an exponent.
const EXPONENT_BELOW: i32 = -4;

/// # Errors
/// Those of `out`.
pub fn write_f64(value: f64, out: &mut impl Write) -> Result {
    match special(value) {
        Some(text) => out.write_str(text),
        None => write_digits(&format!("{value:e}"), EXPONENT_FROM_F64, out),
    }
}

/// # Errors
/// Those of `out`.
pub fn write_f32(value: f32, out: &mut impl Write) -> Result {
    match special(f64::from(value)) {
        Some(text) => out.write_str(text),
        None => write_digits(&format!("{value:e}"), EXPONENT_FROM_F32, out),
    }
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value == f64::INFINITY {
        Some("Infinity")
    } else if value == f64::NEG_INFINITY {
        Some("-Infinity")
    } else {
        None
    }
}

/// `scientific` is Rust's shortest form, such as `-1.25e-7`.
fn write_digits(scientific: &str, exponent_from: i32, out: &mut impl Write) -> Result {
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("Rust prints an exponent with {:e}");
    let exponent: i32 = exponent.parse().expect("Rust prints a decimal exponent");
    let mantissa = match mantissa.strip_prefix('-') {
        Some(mantissa) => {
            out.write_char('-')?;
            mantissa
        }
        None => mantissa,
    };
    if exponent < EXPONENT_BELOW || exponent >= exponent_from {
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
    }
    let digits = mantissa.replace('.', "");
    if exponent < 0 {
        out.write_str("0.")?;
        write_zeros(exponent.unsigned_abs() as usize - 1, out)?;
        return out.write_str(&digits);
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= whole {
        out.write_str(&digits)?;
        write_zeros(whole - digits.len(), out)
    } else {
        write!(out, "{}.{}", &digits[..whole], &digits[whole..])
    }
}

fn write_zeros(count: usize, out: &mut impl Write) -> Result {
    (0..count).try_for_each(|_| out.write_char('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64_text(value: f64) -> String {
        let mut out = String::new();
        write_f64(value, &mut out).unwrap();
        out
    }

    #[test]
    fn prints_like_postgres() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (-2.0, "-2"),
            (1e21, "1e+21"),
            (1e20, "1e+20"),
            (1e15, "1e+15"),
            (123456789012345.0, "123456789012345"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (1.5e300, "1.5e+300"),
            (100.25, "100.25"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(f64_text(value), text);
        }
    }

    #[test]
    fn single_precision_has_fewer_digits() {
        for (value, text) in [
            (1.1f32, "1.1"),
            (123456.0, "123456"),
            (1234567.0, "1.234567e+06"),
            (1.25, "1.25"),
        ] {
            let mut out = String::new();
            write_f32(value, &mut out).unwrap();
            assert_eq!(out, text);
        }
    }
}
