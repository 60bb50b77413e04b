//! Floats as Postgres prints them: the shortest digits that read back as the same number, with an exponent of two digits
//! or more for numbers that are very large or very small.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};

/// Numbers of this magnitude and up are printed with an exponent.
const EXPONENT_FROM_F64: i32 = 15;
const EXPONENT_FROM_F32: i32 = 6;
/// Numbers of a lower magnitude are printed with an exponent.
const EXPONENT_BELOW: i32 = -4;

pub fn write_f64(value: f64, out: &mut BytesMut) {
    if !write_special(value, out) {
        write_digits(&format!("{value:e}"), EXPONENT_FROM_F64, out);
    }
}

pub fn write_f32(value: f32, out: &mut BytesMut) {
    if !write_special(f64::from(value), out) {
        write_digits(&format!("{value:e}"), EXPONENT_FROM_F32, out);
    }
}

fn write_special(value: f64, out: &mut BytesMut) -> bool {
    let text: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.put_slice(text);
    true
}

/// `scientific` is Rust's shortest form, such as `-1.25e-7`.
fn write_digits(scientific: &str, exponent_from: i32, out: &mut BytesMut) {
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("Rust prints an exponent with {:e}");
    let exponent: i32 = exponent.parse().expect("Rust prints a decimal exponent");
    let mantissa = mantissa
        .strip_prefix('-')
        .inspect(|_| out.put_u8(b'-'))
        .unwrap_or(mantissa);
    if exponent < EXPONENT_BELOW || exponent >= exponent_from {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).expect("BytesMut grows");
        return;
    }
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    if exponent < 0 {
        out.put_slice(b"0.");
        out.put_bytes(b'0', exponent.unsigned_abs() as usize - 1);
        out.put_slice(&digits);
        return;
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= whole {
        out.put_slice(&digits);
        out.put_bytes(b'0', whole - digits.len());
    } else {
        out.put_slice(&digits[..whole]);
        out.put_u8(b'.');
        out.put_slice(&digits[whole..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64_text(value: f64) -> String {
        let mut out = BytesMut::new();
        write_f64(value, &mut out);
        String::from_utf8(out.to_vec()).unwrap()
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
            let mut out = BytesMut::new();
            write_f32(value, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }
}
