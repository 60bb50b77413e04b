//! Values in the text form. A parameter is read as a literal in its place would be; only what literals do not have is
//! here: a `numeric` that keeps its own scale, the check of JSON, and arrays.

use datafusion::scalar::ScalarValue;
use millpond_catalog::SqlType;

use super::{list, null, unsupported};
use crate::error::{Error, Result, ValueError};

const NUMERIC_PRECISION: u8 = 38;

pub fn read(text: &str, sql_type: &SqlType, time_zone: &str) -> Result<ScalarValue> {
    match sql_type {
        SqlType::Numeric(None) => numeric(text.trim(), sql_type),
        SqlType::Json | SqlType::Jsonb => json(text, sql_type),
        SqlType::Array(element) => array(text, element, sql_type, time_zone),
        SqlType::Struct(_) => Err(unsupported(sql_type)),
        _ => Ok(millpond_sql::read_text(text, sql_type, time_zone)?),
    }
}

fn syntax(text: &str, sql_type: &SqlType) -> Error {
    ValueError::Syntax {
        sql_type: sql_type.to_string(),
        text: text.to_owned(),
    }
    .into()
}

/// A number with as many digits behind the point as are written.
fn numeric(text: &str, sql_type: &SqlType) -> Result<ScalarValue> {
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
    let too_large = || ValueError::OutOfRange {
        sql_type: sql_type.to_string(),
        text: text.to_owned(),
    };
    // The value is the digits times 10 to the power of -scale.
    let scale = i64::try_from(fraction.len())
        .unwrap_or(i64::MAX)
        .saturating_sub(i64::from(exponent));
    let zeros = usize::try_from(-scale).unwrap_or(0);
    let digits = digits.trim_start_matches('0');
    if digits.len() + zeros > usize::from(NUMERIC_PRECISION) && !digits.is_empty() {
        return Err(too_large().into());
    }
    let value: i128 = match digits {
        "" => 0,
        digits => format!("{digits}{}", "0".repeat(zeros))
            .parse()
            .map_err(|_| too_large())?,
    };
    let scale = i8::try_from(scale.max(0))
        .ok()
        .filter(|s| *s <= NUMERIC_PRECISION as i8)
        .ok_or_else(too_large)?;
    Ok(ScalarValue::Decimal128(
        Some(if negative { -value } else { value }),
        NUMERIC_PRECISION,
        scale,
    ))
}

pub fn json(text: &str, sql_type: &SqlType) -> Result<ScalarValue> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(ScalarValue::Utf8(Some(text.to_owned()))),
        Err(_) => Err(syntax(text, sql_type)),
    }
}

/// `{a,"b c",NULL}` of one dimension.
fn array(text: &str, element: &SqlType, sql_type: &SqlType, time_zone: &str) -> Result<ScalarValue> {
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
            Some(value) => read(&value, element, time_zone),
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
