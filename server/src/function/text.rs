//! Functions of values that clients use to put SQL text together, and arrays as Postgres counts them.

use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Volatility;
use millpond_catalog::ObjectName;
use millpond_sql::ErrorKind;

use super::definition::{Body, Definition};
use super::identifier::{parse_name, undefined};
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[
    pure("quote_ident", "text", "text", |_, a| {
        Ok(ObjectName::quote(a[0].text().unwrap_or_default()).into())
    }),
    pure("quote_literal", "text", "text", |_, a| {
        Ok(quote(a[0].text().unwrap_or_default()).into())
    }),
    pure_nullable("quote_nullable", "text", "text", |_, a| {
        Ok(a[0].text().map_or_else(|| "NULL".to_owned(), quote).into())
    }),
    pure("parse_ident", "text", "text[]", parse_ident),
    pure("parse_ident", "text, bool", "text[]", parse_ident),
    pure_nullable("format", "text", "text", format),
    pure_nullable("format", "text, any...", "text", format),
    pure("array_upper", "any, int4", "int4", |_, a| {
        Ok(bound(a).map(|(_, upper)| upper).into())
    }),
    pure("array_lower", "any, int4", "int4", |_, a| {
        Ok(bound(a).map(|(lower, _)| lower).into())
    }),
    pure_nullable("json_build_object", "", "json", json_object),
    pure_nullable("json_build_object", "any...", "json", json_object),
    pure_nullable("jsonb_build_object", "", "jsonb", json_object),
    pure_nullable("jsonb_build_object", "any...", "jsonb", json_object),
];

const fn pure(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
    body: fn(&SystemContext, &[Value]) -> Result<Value>,
) -> Definition {
    Definition {
        name,
        arguments,
        result,
        volatility: Volatility::Immutable,
        body: Body::Strict(body),
    }
}

const fn pure_nullable(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
    body: fn(&SystemContext, &[Value]) -> Result<Value>,
) -> Definition {
    Definition {
        name,
        arguments,
        result,
        volatility: Volatility::Immutable,
        body: Body::Nullable(body),
    }
}

/// A string literal that reads back as `text`.
fn quote(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn parse_ident(_context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let text = arguments[0].text().unwrap_or_default();
    parse_name(text).map(Value::from).ok_or_else(|| {
        undefined(
            ErrorKind::InvalidParameterValue,
            format!("string is not a valid identifier: \"{text}\""),
        )
    })
}

/// The first and last subscript of an array in a dimension. Arrays start at 1.
fn bound(arguments: &[Value]) -> Option<(i64, i64)> {
    let mut list = &arguments[0];
    for _ in 1..arguments[1].int()? {
        match list {
            Value::List(elements) => list = elements.first()?,
            _ => return None,
        }
    }
    match list {
        Value::List(elements) if arguments[1].int()? >= 1 => {
            let length = i64::try_from(elements.len()).ok()?;
            (length > 0).then_some((1, length))
        }
        _ => None,
    }
}

/// The text of a value, as a cast to text gives it; `None` for NULL.
fn plain(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(b) => if *b { "t" } else { "f" }.to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => bytes
            .iter()
            .fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
        Value::Interval(us) => format!("{us} microseconds"),
        Value::List(elements) => {
            let texts: Vec<_> = elements
                .iter()
                .map(|e| plain(e).unwrap_or_else(|| "NULL".to_owned()))
                .collect();
            format!("{{{}}}", texts.join(","))
        }
    })
}

/// `format('%I.%I = %L', ..)`: `%s`, `%I` and `%L`, with positions (`%1$s`) and widths (`%-10s`).
fn format(_context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(pattern) = arguments[0].text() else {
        return Ok(Value::Null);
    };
    let mut out = String::new();
    let mut next = 1;
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let directive = Directive::read(&mut rest)?;
        let position = directive.position.unwrap_or(next);
        next = position + 1;
        let value = arguments.get(position).filter(|_| position > 0);
        let value = value.ok_or_else(|| invalid("too few arguments for format()"))?;
        out.push_str(&directive.apply(value)?);
    }
    out.push_str(rest);
    Ok(out.into())
}

fn invalid(message: impl Into<String>) -> DataFusionError {
    undefined(ErrorKind::InvalidParameterValue, message)
}

/// What follows a `%`.
struct Directive {
    position: Option<usize>,
    left: bool,
    width: usize,
    conversion: char,
}

impl Directive {
    /// The widest column that `format` pads to, so that no text can ask for all the memory there is.
    const WIDTH_MAX: usize = 1 << 20;

    fn read(rest: &mut &str) -> Result<Self> {
        let mut directive = Self {
            position: None,
            left: false,
            width: 0,
            conversion: 's',
        };
        let number = take_number(rest)?;
        if let (Some(position), Some(after)) = (number, rest.strip_prefix('$')) {
            directive.position = Some(position);
            *rest = after;
        } else if let Some(width) = number {
            directive.width = width;
        }
        while let Some(after) = rest.strip_prefix('-') {
            directive.left = true;
            *rest = after;
        }
        if let Some(width) = take_number(rest)? {
            directive.width = width;
        }
        if directive.width > Self::WIDTH_MAX {
            return Err(invalid("number is out of range"));
        }
        let conversion = rest.chars().next();
        directive.conversion = conversion.ok_or_else(|| invalid("unterminated format() type specifier"))?;
        *rest = &rest[directive.conversion.len_utf8()..];
        Ok(directive)
    }

    fn apply(&self, value: &Value) -> Result<String> {
        let text = plain(value);
        let text = match self.conversion {
            's' => text.unwrap_or_default(),
            'I' => ObjectName::quote(
                &text.ok_or_else(|| invalid("null values cannot be formatted as an SQL identifier"))?,
            ),
            'L' => text.map_or_else(|| "NULL".to_owned(), |text| quote(&text)),
            other => {
                return Err(invalid(format!(
                    "unrecognized format() type specifier \"{other}\""
                )));
            }
        };
        let padding = " ".repeat(self.width.saturating_sub(text.chars().count()));
        Ok(if self.left {
            text + &padding
        } else {
            padding + &text
        })
    }
}

/// The digits at the start, which are taken off.
fn take_number(rest: &mut &str) -> Result<Option<usize>> {
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if digits == 0 {
        return Ok(None);
    }
    let number = rest[..digits]
        .parse()
        .map_err(|_| invalid("number is out of range"))?;
    *rest = &rest[digits..];
    Ok(Some(number))
}

fn json_object(_context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    if arguments.len() % 2 == 1 {
        return Err(invalid("argument list must have even number of elements"));
    }
    let mut object = serde_json::Map::new();
    for pair in arguments.chunks(2) {
        let key = plain(&pair[0]).ok_or_else(|| invalid("argument 1: key must not be null"))?;
        object.insert(key, json(&pair[1]));
    }
    let members: Vec<_> = object
        .iter()
        .map(|(key, value)| format!("{} : {value}", serde_json::Value::from(key.as_str())))
        .collect();
    Ok(format!("{{{}}}", members.join(", ")).into())
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Float(x) => (*x).into(),
        Value::Text(_) | Value::Bytes(_) | Value::Interval(_) => plain(value).into(),
        Value::List(elements) => elements.iter().map(json).collect::<Vec<_>>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_quotes_positions_and_pads() {
        let context = crate::pg_catalog::tests::context();
        let call = |arguments: &[Value]| format(&context, arguments);
        let text = |text: &str| Value::from(text);
        let cases: [(&[Value], &str); 6] = [
            (&[text("%I.%I"), text("public"), text("My t")], "public.\"My t\""),
            (
                &[text("%L, %L, 100%%"), text("it's"), Value::Null],
                "'it''s', NULL, 100%",
            ),
            (&[text("%2$s-%1$s-%s"), text("a"), text("b")], "b-a-b"),
            (&[text("[%5s][%-5s]"), 1.into(), 2.into()], "[    1][2    ]"),
            (&[text("%s"), Value::Null], ""),
            (&[text("no directive")], "no directive"),
        ];
        for (arguments, expected) in cases {
            assert_eq!(call(arguments).unwrap(), text(expected));
        }
        for bad in [
            "%",
            "%s %s",
            "%z",
            "%I",
            "%99999999999999999999s",
            "%9999999s",
            "%0$s",
        ] {
            assert!(call(&[text(bad), Value::Null]).is_err(), "{bad}");
        }
    }

    #[test]
    fn arrays_count_from_one() {
        let list = Value::from(vec![7, 8, 9]);
        assert_eq!(bound(&[list.clone(), 1.into()]), Some((1, 3)));
        assert_eq!(bound(&[list.clone(), 2.into()]), None);
        assert_eq!(bound(&[list, 0.into()]), None);
        assert_eq!(bound(&[Value::List(Vec::new()), 1.into()]), None);
    }
}
