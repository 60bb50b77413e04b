//! Decimals: text with the scale kept, and binary in groups of four decimal digits.

use arrow::datatypes::DataType;
use bytes::{BufMut, BytesMut};
use millpond_catalog::SqlType;

const SIGN_POSITIVE: u16 = 0;
const SIGN_NEGATIVE: u16 = 0x4000;
/// Decimal digits of one group of the binary form.
const GROUP: usize = 4;

/// A decimal number taken apart: `digits` (no sign, no point) times 10 to the power of `-scale`.
pub struct Decimal<'a> {
    negative: bool,
    digits: &'a str,
    scale: usize,
}

impl<'a> Decimal<'a> {
    /// From the text of an integer and how many of its last digits stand behind the point.
    fn new(integer: &'a str, scale: usize) -> Self {
        let digits = integer.strip_prefix('-');
        Self {
            negative: digits.is_some(),
            digits: digits.unwrap_or(integer),
            scale,
        }
    }

    /// The digits before and behind the point, the latter without the zeros that stand before the digits.
    fn parts(&self) -> (&'a str, usize, &'a str) {
        let whole = self.digits.len().saturating_sub(self.scale);
        let (integer, fraction) = self.digits.split_at(whole);
        (integer, self.scale - fraction.len(), fraction)
    }

    fn write_text(&self, out: &mut BytesMut) {
        if self.negative {
            out.put_u8(b'-');
        }
        let (integer, zeros, fraction) = self.parts();
        out.put_slice(if integer.is_empty() {
            b"0"
        } else {
            integer.as_bytes()
        });
        if self.scale > 0 {
            out.put_u8(b'.');
            out.put_bytes(b'0', zeros);
            out.put_slice(fraction.as_bytes());
        }
    }

    fn write_binary(&self, out: &mut BytesMut) {
        let (integer, zeros, fraction) = self.parts();
        let integer = integer.trim_start_matches('0');
        let pad = integer.len().next_multiple_of(GROUP) - integer.len();
        let mut padded = vec![b'0'; pad];
        padded.extend_from_slice(integer.as_bytes());
        let groups_before_point = padded.len() / GROUP;
        padded.resize(padded.len() + zeros, b'0');
        padded.extend_from_slice(fraction.as_bytes());
        padded.resize(padded.len().next_multiple_of(GROUP), b'0');
        let groups: Vec<u16> = padded
            .chunks_exact(GROUP)
            .map(|group| group.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0')))
            .collect();
        let leading = groups.iter().take_while(|g| **g == 0).count();
        let trailing = groups[leading..].iter().rev().take_while(|g| **g == 0).count();
        let kept = &groups[leading..groups.len() - trailing];
        let weight = if kept.is_empty() {
            0
        } else {
            groups_before_point as i16 - 1 - leading as i16
        };
        out.put_u16(kept.len() as u16);
        out.put_i16(weight);
        out.put_u16(if self.negative && !kept.is_empty() {
            SIGN_NEGATIVE
        } else {
            SIGN_POSITIVE
        });
        out.put_u16(self.scale as u16);
        for group in kept {
            out.put_u16(*group);
        }
    }
}

/// The text of the unscaled integer with the zeros that a negative scale stands for, and the scale that is left.
fn unscale(integer: String, scale: i8) -> (String, usize) {
    match usize::try_from(scale) {
        Ok(scale) => (integer, scale),
        Err(_) if integer == "0" => (integer, 0),
        Err(_) => (integer + &"0".repeat(usize::from(scale.unsigned_abs())), 0),
    }
}

/// How many of the digits behind the point are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeros {
    Kept,
    /// Those at the end are not.
    Trimmed,
}

impl Zeros {
    pub fn of(data_type: &DataType) -> Zeros {
        if *data_type == SqlType::PLAIN_NUMERIC {
            Zeros::Trimmed
        } else {
            Zeros::Kept
        }
    }
}

fn shown(unscaled: impl ToString, scale: i8, zeros: Zeros) -> (String, usize) {
    let (mut integer, mut scale) = unscale(unscaled.to_string(), scale);
    if zeros == Zeros::Trimmed {
        while scale > 0 && integer.ends_with('0') {
            integer.pop();
            scale -= 1;
        }
        if matches!(integer.as_str(), "" | "-") {
            return ("0".to_owned(), 0);
        }
    }
    (integer, scale)
}

pub fn write_text(unscaled: impl ToString, scale: i8, zeros: Zeros, out: &mut BytesMut) {
    let (integer, scale) = shown(unscaled, scale, zeros);
    Decimal::new(&integer, scale).write_text(out);
}

pub fn write_binary(unscaled: impl ToString, scale: i8, zeros: Zeros, out: &mut BytesMut) {
    let (integer, scale) = shown(unscaled, scale, zeros);
    Decimal::new(&integer, scale).write_binary(out);
}

/// Reads the binary form into an unscaled integer of the wanted scale, rounding half away from zero. `None` when the
/// bytes are no number, or it is NaN, infinite, or does not fit.
pub fn read_binary(mut bytes: &[u8], scale: i8) -> Option<i128> {
    use bytes::Buf;
    if bytes.len() < 8 {
        return None;
    }
    let (count, weight) = (usize::from(bytes.get_u16()), i32::from(bytes.get_i16()));
    let (sign, _display_scale) = (bytes.get_u16(), bytes.get_u16());
    if bytes.len() != count * 2 || !matches!(sign, SIGN_POSITIVE | SIGN_NEGATIVE) {
        return None;
    }
    let scale = i32::from(scale);
    let mut value: i128 = 0;
    let mut round_up = false;
    for i in 0..count {
        let group = bytes.get_u16();
        if group > 9999 {
            return None;
        }
        // Power of ten of the group's last digit, after scaling.
        let power = (weight - i as i32) * GROUP as i32 + scale;
        let group = i128::from(group);
        if power >= 0 {
            let factor = 10i128.checked_pow(power.unsigned_abs());
            let term = if group == 0 {
                Some(0)
            } else {
                factor.and_then(|f| group.checked_mul(f))
            };
            value = value.checked_add(term?)?;
        } else if power > -(GROUP as i32) {
            let divisor = 10i128.pow(power.unsigned_abs());
            value = value.checked_add(group / divisor)?;
            round_up = group % divisor * 2 >= divisor;
        } else if power == -(GROUP as i32) {
            round_up = group >= 5000;
        }
    }
    value = value.checked_add(i128::from(round_up))?;
    Some(if sign == SIGN_NEGATIVE { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_the_scale() {
        for (value, scale, text) in [
            (123456789, 4, "12345.6789"),
            (-50, 5, "-0.00050"),
            (0, 2, "0.00"),
            (100, 2, "1.00"),
            (7, 0, "7"),
            (7, -2, "700"),
            (-5, 1, "-0.5"),
        ] {
            let mut out = BytesMut::new();
            write_text(value, scale, Zeros::Kept, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn trailing_zeros_are_trimmed() {
        for (value, scale, text) in [
            (1500, 3, "1.5"),
            (0, 3, "0"),
            (-100, 2, "-1"),
            (100, 0, "100"),
            (5, 3, "0.005"),
        ] {
            let mut out = BytesMut::new();
            write_text(value, scale, Zeros::Trimmed, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn binary_reads_back() {
        for (value, scale) in [
            (123456789i128, 4i8),
            (-50, 5),
            (0, 2),
            (10_000, 0),
            (1, 16),
            (99_999_999, 3),
            (-12, 0),
        ] {
            let mut out = BytesMut::new();
            write_binary(value, scale, Zeros::Kept, &mut out);
            assert_eq!(
                read_binary(&out, scale),
                Some(value),
                "{value} with scale {scale}"
            );
        }
    }

    #[test]
    fn reading_rounds_to_the_scale() {
        for (value, from, to, expected) in [
            (123456i128, 4i8, 2i8, 1235i128),
            (-123456, 4, 2, -1235),
            (5, 1, 0, 1),
            (49, 2, 0, 0),
            (12345, 6, 2, 1),
        ] {
            let mut out = BytesMut::new();
            write_binary(value, from, Zeros::Kept, &mut out);
            assert_eq!(read_binary(&out, to), Some(expected));
        }
    }

    #[test]
    fn refuses_what_is_no_number() {
        assert_eq!(read_binary(&[0, 1], 2), None);
        assert_eq!(read_binary(&[0, 1, 0, 0, 0, 0, 0, 0], 2), None);
        assert_eq!(read_binary(&[0, 0, 0, 0, 0xC0, 0, 0, 0], 2), None, "NaN");
        assert_eq!(
            read_binary(&[0, 1, 0x7F, 0xFF, 0, 0, 0, 0, 0, 1], 2),
            None,
            "far too large"
        );
    }
}
