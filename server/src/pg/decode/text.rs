//! Values in the text form, as Postgres' input functions read them.

use arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::scalar::ScalarValue;
use millpond_catalog::SqlType;

use super::{datetime, list, null, unsupported};
use crate::error::{Error, Result, ValueError};
use crate::pg::encode::Zone;

const NUMERIC_PRECISION: u8 = 38;

pub fn read(text: &str, sql_type: &SqlType, zone: Zone) -> Result<ScalarValue> {
    let trimmed = text.trim();
    Ok(match sql_type {
        SqlType::Bool => ScalarValue::Boolean(Some(boolean(trimmed).ok_or_else(|| syntax(text, sql_type))?)),
        SqlType::Int2 => ScalarValue::Int16(Some(integer(trimmed, sql_type)?)),
        SqlType::Int4 => ScalarValue::Int32(Some(integer(trimmed, sql_type)?)),
        SqlType::Int8 => ScalarValue::Int64(Some(integer(trimmed, sql_type)?)),
        SqlType::Float4 => ScalarValue::Float32(Some(float(trimmed, sql_type)?)),
        SqlType::Float8 => ScalarValue::Float64(Some(float(trimmed, sql_type)?)),
        SqlType::Numeric(parameters) => numeric(trimmed, *parameters, sql_type)?,
        SqlType::Text | SqlType::Varchar(_) => ScalarValue::Utf8(Some(text.to_owned())),
        SqlType::Json | SqlType::Jsonb => json(text, sql_type)?,
        SqlType::Uuid => {
            let uuid = uuid::Uuid::try_parse(trimmed).map_err(|_| syntax(text, sql_type))?;
            ScalarValue::Utf8(Some(uuid.hyphenated().to_string()))
        }
        SqlType::Bytea => ScalarValue::Binary(Some(bytea(text).ok_or_else(|| syntax(text, sql_type))?)),
        SqlType::Date => ScalarValue::Date32(Some(datetime::date(trimmed)?)),
        SqlType::Time => ScalarValue::Time64Microsecond(Some(datetime::time(trimmed)?)),
        SqlType::Timestamp => ScalarValue::TimestampMicrosecond(Some(datetime::timestamp(trimmed)?), None),
        SqlType::TimestampTz => {
            ScalarValue::TimestampMicrosecond(Some(datetime::timestamptz(trimmed, zone)?), Some("UTC".into()))
        }
        SqlType::Interval => {
            let interval =
                parse_interval_month_day_nano(trimmed).map_err(|_| ValueError::DatetimeSyntax {
                    sql_type: sql_type.to_string(),
                    text: text.to_owned(),
                })?;
            ScalarValue::IntervalMonthDayNano(Some(interval))
        }
        SqlType::Array(element) => array(text, element, sql_type, zone)?,
        SqlType::System(system) if system.is_identifier() => {
            ScalarValue::UInt32(Some(trimmed.parse().map_err(|_| syntax(text, sql_type))?))
        }
        SqlType::System(_) => ScalarValue::Utf8(Some(text.to_owned())),
        SqlType::Struct(_) => return Err(unsupported(sql_type)),
    })
}

fn syntax(text: &str, sql_type: &SqlType) -> Error {
    ValueError::Syntax {
        sql_type: sql_type.to_string(),
        text: text.to_owned(),
    }
    .into()
}

fn out_of_range(text: &str, sql_type: &SqlType) -> Error {
    ValueError::OutOfRange {
        sql_type: sql_type.to_string(),
        text: text.to_owned(),
    }
    .into()
}

/// Any unambiguous beginning of a word counts.
fn boolean(text: &str) -> Option<bool> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str| !lower.is_empty() && word.starts_with(&lower);
    match lower.as_str() {
        "1" | "on" => Some(true),
        "0" | "of" | "off" => Some(false),
        _ if begins("true") || begins("yes") => Some(true),
        _ if begins("false") || begins("no") => Some(false),
        _ => None,
    }
}

fn integer<T: TryFrom<i128>>(text: &str, sql_type: &SqlType) -> Result<T> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(syntax(text, sql_type));
    }
    // What does not even fit 128 bits is as much out of range.
    let value = text.parse::<i128>().ok().and_then(|v| T::try_from(v).ok());
    value.ok_or_else(|| out_of_range(text, sql_type))
}

trait Float: std::str::FromStr + Copy {
    fn is_infinite(self) -> bool;
}

impl Float for f32 {
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

impl Float for f64 {
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

fn float<T: Float>(text: &str, sql_type: &SqlType) -> Result<T> {
    let value = text.parse::<T>().map_err(|_| syntax(text, sql_type))?;
    // Rust reads numbers beyond the range as infinite; only the word means infinity.
    if value.is_infinite() && !text.to_ascii_lowercase().contains("inf") {
        return Err(out_of_range(text, sql_type));
    }
    Ok(value)
}

/// Without a declared scale the value keeps its own.
fn numeric(text: &str, parameters: Option<(u8, i8)>, sql_type: &SqlType) -> Result<ScalarValue> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent.parse::<i32>().map_err(|_| syntax(text, sql_type))?,
        ),
        None => (text, 0),
    };
    let negative = mantissa.starts_with('-');
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(syntax(text, sql_type));
    }
    // The value is the digits times 10 to the power of -own_scale.
    let own_scale = i64::try_from(fraction.len())
        .unwrap_or(i64::MAX)
        .saturating_sub(i64::from(exponent));
    let (precision, scale) = parameters.unwrap_or_else(|| {
        let scale = own_scale.clamp(0, i64::from(NUMERIC_PRECISION));
        (
            NUMERIC_PRECISION,
            i8::try_from(scale).unwrap_or(SqlType::NUMERIC_SCALE),
        )
    });
    let too_large = || out_of_range(text, sql_type);
    let shift = i64::from(scale) - own_scale;
    let digits = digits.trim_start_matches('0');
    let value = if digits.is_empty() {
        0
    } else if shift >= 0 {
        let zeros = usize::try_from(shift)
            .ok()
            .filter(|n| n + digits.len() <= 39)
            .ok_or_else(too_large)?;
        format!("{digits}{}", "0".repeat(zeros))
            .parse::<i128>()
            .map_err(|_| too_large())?
    } else {
        let cut = usize::try_from(-shift).unwrap_or(usize::MAX);
        let kept = digits.len().saturating_sub(cut);
        let first_cut = if cut <= digits.len() {
            digits.as_bytes().get(kept)
        } else {
            None
        };
        let round_up = first_cut.is_some_and(|digit| *digit >= b'5');
        let kept = if kept == 0 { "0" } else { &digits[..kept] };
        kept.parse::<i128>().map_err(|_| too_large())? + i128::from(round_up)
    };
    checked_decimal(if negative { -value } else { value }, precision, scale)
}

/// A decimal that has no more digits than its precision.
pub fn checked_decimal(value: i128, precision: u8, scale: i8) -> Result<ScalarValue> {
    let limit = 10u128.checked_pow(u32::from(precision));
    if limit.is_none_or(|limit| value.unsigned_abs() >= limit) {
        let sql_type = SqlType::Numeric(Some((precision, scale))).to_string();
        return Err(ValueError::OutOfRange {
            sql_type,
            text: value.to_string(),
        }
        .into());
    }
    Ok(ScalarValue::Decimal128(Some(value), precision, scale))
}

pub fn json(text: &str, sql_type: &SqlType) -> Result<ScalarValue> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(ScalarValue::Utf8(Some(text.to_owned()))),
        Err(_) => Err(ValueError::Syntax {
            sql_type: sql_type.to_string(),
            text: text.to_owned(),
        }
        .into()),
    }
}

/// `\x` and hexadecimal digits, or plain characters with `\\` and `\nnn` (octal).
fn bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        let nibble = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
        return digits
            .chunks(2)
            .map(|pair| Some(nibble(pair[0])? << 4 | nibble(*pair.get(1)?)?))
            .collect();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        (bytes, rest) = match (first, tail) {
            (b'\\', [b'\\', after @ ..]) => (push(bytes, b'\\'), after),
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                (push(bytes, (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')), after)
            }
            (b'\\', _) => return None,
            (other, after) => (push(bytes, *other), after),
        };
    }
    Some(bytes)
}

fn push(mut bytes: Vec<u8>, byte: u8) -> Vec<u8> {
    bytes.push(byte);
    bytes
}

/// `{a,"b c",NULL}` of one dimension.
fn array(text: &str, element: &SqlType, sql_type: &SqlType, zone: Zone) -> Result<ScalarValue> {
    let element = &super::element_type(element);
    let malformed = || syntax(text, sql_type);
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|t| t.strip_suffix('}'))
        .ok_or_else(malformed)?;
    if inner.trim().is_empty() {
        return list(element, Vec::new());
    }
    if inner.trim_start().starts_with('{') {
        return Err(unsupported(&SqlType::Array(Box::new(sql_type.clone()))));
    }
    let values = split_array(inner).ok_or_else(malformed)?;
    let values = values
        .into_iter()
        .map(|value| match value {
            None => null(element),
            Some(value) => read(&value, element, zone),
        })
        .collect::<Result<Vec<_>>>()?;
    list(element, values)
}

/// The elements between the braces; `None` when it is not well formed.
fn split_array(inner: &str) -> Option<Vec<Option<String>>> {
    let mut values = Vec::new();
    let mut chars = inner.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let mut value = String::new();
        let quoted = chars.next_if_eq(&'"').is_some();
        if quoted {
            loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => value.push(chars.next()?),
                    c => value.push(c),
                }
            }
            while chars.next_if(|c| c.is_whitespace()).is_some() {}
        } else {
            while let Some(c) = chars.next_if(|c| *c != ',') {
                match c {
                    '{' | '}' | '"' => return None,
                    '\\' => value.push(chars.next()?),
                    c => value.push(c),
                }
            }
            value.truncate(value.trim_end().len());
            if value.is_empty() {
                return None;
            }
        }
        let is_null = !quoted && value.eq_ignore_ascii_case("null");
        values.push((!is_null).then_some(value));
        match chars.next() {
            None => return Some(values),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}
