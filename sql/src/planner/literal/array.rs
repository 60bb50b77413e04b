//! Arrays written as text: `{1,2}`, `{"a b",NULL}`, `{{1},{2}}`, and the vectors of the catalog, `1 2`.

use datafusion::common::ScalarValue;
use millpond_catalog::{SqlType, SystemType};

use super::cast_text;
use crate::error::{Error, ErrorKind, Result};

/// An element as it stands between the commas.
#[derive(Debug, PartialEq)]
enum Element {
    Null,
    Text(String),
    Array(Vec<Element>),
}

fn malformed(text: &str) -> Error {
    Error::new(
        ErrorKind::InvalidTextRepresentation,
        format!("malformed array literal: \"{text}\""),
    )
}

/// The array of `element` that a text stands for.
///
/// # Errors
/// A text that is no array, or an element that is no value of its type.
pub fn cast_array(text: &str, element: &SqlType, time_zone: &str) -> Result<ScalarValue> {
    let mut rest = text.trim();
    let elements = parse(&mut rest, text)?;
    if !rest.is_empty() {
        return Err(malformed(text));
    }
    build(&elements, element, text, time_zone)
}

/// `int2vector` and `oidvector`: numbers with blanks between them.
pub fn cast_vector(text: &str, vector: SystemType, time_zone: &str) -> Result<ScalarValue> {
    let element = match vector {
        SystemType::Int2Vector => SqlType::Int2,
        _ => SqlType::System(SystemType::Oid),
    };
    let elements: Vec<_> = text
        .split_whitespace()
        .map(|number| Element::Text(number.to_owned()))
        .collect();
    build(&elements, &element, text, time_zone)
}

fn build(elements: &[Element], element: &SqlType, text: &str, time_zone: &str) -> Result<ScalarValue> {
    // Postgres does not count dimensions in types: an array of arrays has the type of the innermost elements.
    let is_nested = elements.iter().any(|e| matches!(e, Element::Array(_)));
    let inner = SqlType::Array(Box::new(element.clone()));
    let element_type = if is_nested && !matches!(element, SqlType::Array(_)) {
        inner
    } else {
        element.clone()
    };
    let data_type = element_type.arrow();
    let value = |e: &Element| match e {
        Element::Null => ScalarValue::try_from(&data_type).map_err(|_| malformed(text)),
        Element::Text(_) if is_nested => Err(malformed(text)),
        Element::Text(value) => {
            cast_text(value, &element_type, &data_type, time_zone)?.ok_or_else(|| malformed(text))
        }
        Element::Array(elements) => match &element_type {
            SqlType::Array(inner) => build(elements, inner, text, time_zone),
            _ => Err(malformed(text)),
        },
    };
    let values = elements.iter().map(value).collect::<Result<Vec<_>>>()?;
    if values.iter().any(|v| v.data_type() != data_type) {
        return Err(malformed(text));
    }
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(
        &values, &data_type,
    )))
}

/// Elements between braces; `rest` is what follows them.
fn parse(rest: &mut &str, text: &str) -> Result<Vec<Element>> {
    *rest = rest
        .strip_prefix('{')
        .ok_or_else(|| malformed(text))?
        .trim_start();
    let mut elements = Vec::new();
    if let Some(after) = rest.strip_prefix('}') {
        *rest = after;
        return Ok(elements);
    }
    loop {
        elements.push(parse_element(rest, text)?);
        *rest = rest.trim_start();
        let mut chars = rest.chars();
        let next = chars.next();
        *rest = chars.as_str();
        match next {
            Some(',') => *rest = rest.trim_start(),
            Some('}') => return Ok(elements),
            _ => return Err(malformed(text)),
        }
    }
}

fn parse_element(rest: &mut &str, text: &str) -> Result<Element> {
    if rest.starts_with('{') {
        return parse(rest, text).map(Element::Array);
    }
    let quoted = rest.starts_with('"');
    let mut value = String::new();
    let mut chars = rest.strip_prefix('"').unwrap_or(rest).chars();
    loop {
        let before = chars.as_str();
        match chars.next() {
            None => return Err(malformed(text)),
            Some('\\') => value.push(chars.next().ok_or_else(|| malformed(text))?),
            Some('"') if quoted => {
                *rest = chars.as_str();
                return Ok(Element::Text(value));
            }
            Some(',' | '}') if !quoted => {
                *rest = before;
                let plain = value.trim_end();
                return match plain {
                    "" => Err(malformed(text)),
                    _ if plain.eq_ignore_ascii_case("null") => Ok(Element::Null),
                    _ => Ok(Element::Text(plain.to_owned())),
                };
            }
            Some('"' | '{') if !quoted => return Err(malformed(text)),
            Some(other) => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn elements_are_typed_and_unquoted() {
        let text = |s: &str| ScalarValue::Utf8(Some(s.to_owned()));
        let list = |values: &[ScalarValue], t: DataType| {
            ScalarValue::List(ScalarValue::new_list_nullable(values, &t))
        };
        let cases = [
            ("{}", SqlType::Int4, list(&[], DataType::Int32)),
            (
                " {1, 2 } ",
                SqlType::Int4,
                list(
                    &[ScalarValue::from(1_i32), ScalarValue::from(2_i32)],
                    DataType::Int32,
                ),
            ),
            (
                "{a b,\"c,\\\"d\",NULL,\"NULL\"}",
                SqlType::Text,
                list(
                    &[text("a b"), text("c,\"d"), ScalarValue::Utf8(None), text("NULL")],
                    DataType::Utf8,
                ),
            ),
        ];
        for (literal, element, expected) in cases {
            assert_eq!(
                cast_array(literal, &element, "UTC").unwrap(),
                expected,
                "{literal}"
            );
        }
        let nested = cast_array("{{1},{2,3}}", &SqlType::Int4, "UTC").unwrap();
        assert_eq!(
            nested.data_type(),
            SqlType::Array(Box::new(SqlType::Array(Box::new(SqlType::Int4)))).arrow()
        );
        for bad in [
            "", "1", "{", "{1", "{1,}", "{,1}", "{1}x", "{\"a}", "{a\"b\"}", "{1,{2}}", "{x}",
        ] {
            assert!(cast_array(bad, &SqlType::Int4, "UTC").is_err(), "{bad}");
        }
    }

    #[test]
    fn vectors_have_blanks_between_numbers() {
        let vector = cast_vector("1 2", SystemType::Int2Vector, "UTC").unwrap();
        assert_eq!(vector.data_type(), SystemType::Int2Vector.arrow());
    }
}
