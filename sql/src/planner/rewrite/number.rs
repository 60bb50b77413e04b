//! Number literals that the library reads otherwise than Postgres: those with an exponent, and those with very many digits.

use sqlparser::ast::{DataType, ExactNumberInfo, Expr, Value};

use super::postgres::cast;

/// Digits that a numeric holds here.
const DIGITS_MAX: usize = 38;
/// Exponents beyond this give no numeric, however few the digits.
const EXPONENT_MAX: i64 = 1000;

/// What to put in the place of a number; `None` where it is read as it should be.
pub fn rewrite(number: &str) -> Option<Expr> {
    let literal = |text: String| Expr::Value(Value::Number(text, false).into());
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    if !mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    match exponent {
        None if digits <= DIGITS_MAX => None,
        None => Some(double(number)),
        Some(exponent) => {
            let exponent = exponent.parse().ok().filter(|e: &i64| e.abs() <= EXPONENT_MAX);
            let plain = exponent.map(|exponent| written_out(mantissa, exponent));
            match plain.filter(|plain| plain.len() <= DIGITS_MAX) {
                // A numeric without places, which plain digits alone would not be.
                Some(plain) if !plain.contains('.') => {
                    let precision = ExactNumberInfo::PrecisionAndScale(plain.len() as u64, 0);
                    Some(cast(literal(plain), DataType::Numeric(precision)))
                }
                Some(plain) => Some(literal(plain)),
                None => Some(double(number)),
            }
        }
    }
}

fn double(number: &str) -> Expr {
    let text = Expr::Value(Value::SingleQuotedString(number.to_owned()).into());
    cast(text, DataType::DoublePrecision)
}

/// `12.5e3` as `12500`, `1e-2` as `0.01`.
fn written_out(mantissa: &str, exponent: i64) -> String {
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    let places = fraction.len() as i64 - exponent;
    if places <= 0 {
        digits.extend(std::iter::repeat_n('0', places.unsigned_abs() as usize));
    } else {
        let places = places as usize;
        if digits.len() <= places {
            digits.insert_str(0, &"0".repeat(places + 1 - digits.len()));
        }
        digits.insert(digits.len() - places, '.');
    }
    let plain = digits.trim_start_matches('0');
    match plain.chars().next() {
        None => "0".to_owned(),
        Some('.') => format!("0{plain}"),
        Some(_) => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_written_out() {
        for (mantissa, exponent, expected) in [
            ("1", 3, "1000"),
            ("12.5", 3, "12500"),
            ("1.25", 1, "12.5"),
            ("1", -2, "0.01"),
            ("100", -2, "1.00"),
            (".5", 0, "0.5"),
            ("0", 5, "0"),
            ("00", 0, "0"),
        ] {
            assert_eq!(written_out(mantissa, exponent), expected, "{mantissa}e{exponent}");
        }
    }

    #[test]
    fn other_numbers_stay() {
        for number in ["1", "1.5", "0x1F", "12345678901234567890123456789012345678"] {
            assert_eq!(rewrite(number), None, "{number}");
        }
        assert!(rewrite(&"9".repeat(39)).unwrap().to_string().contains("DOUBLE"));
        assert!(rewrite("1e400").unwrap().to_string().contains("DOUBLE"));
    }
}
