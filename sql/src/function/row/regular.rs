//! Functions of regular expressions, and SIMILAR TO.
//!
//! The syntax is that of the `regex` crate with Postgres' escapes for the ends of words and texts. As in Postgres a dot
//! matches a new line. References back to a group are not supported.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ListArray, StringArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use millpond_catalog::SqlType;
use regex::{Captures, Regex, RegexBuilder};

use super::{Overload, RowFunction, as_int, as_text, int4, text};
use crate::error::{Error, ErrorKind};

type Outcome<T> = std::result::Result<T, Error>;
type Result = Outcome<ScalarValue>;

const TEXT: SqlType = SqlType::Text;
const INT4: SqlType = SqlType::Int4;
/// Compiled expressions that are kept.
const KEPT_MAX: usize = 64;

/// `regexp_matches` returns rows; this is the array of them.
pub const MATCHES: &str = "regexp_matches_array";

pub fn list() -> Vec<RowFunction> {
    let f = RowFunction::new;
    let new = Overload::new;
    let texts = || SqlType::Array(Box::new(TEXT));
    let rows = || SqlType::Array(Box::new(texts()));
    let pair = [TEXT, TEXT];
    let three = [TEXT, TEXT, TEXT];
    vec![
        f(
            "similar_to",
            vec![
                new(&pair, SqlType::Bool, similar),
                new(&three, SqlType::Bool, similar),
            ],
        ),
        f(
            "regexp_match",
            vec![
                new(&pair, texts(), first_match),
                new(&three, texts(), first_match),
            ],
        ),
        f(
            MATCHES,
            vec![new(&pair, rows(), matches), new(&three, rows(), matches)],
        ),
        f(
            "regexp_split_to_array",
            vec![new(&pair, texts(), split), new(&three, texts(), split)],
        ),
        f(
            "regexp_count",
            vec![
                new(&pair, INT4, |v| count(v, "")),
                new(&[TEXT, TEXT, INT4], INT4, |v| count(v, "")),
                new(&[TEXT, TEXT, INT4, TEXT], INT4, |v| count(v, as_text(&v[3]))),
            ],
        ),
        f(
            "regexp_instr",
            vec![
                new(&pair, INT4, position),
                new(&[TEXT, TEXT, INT4], INT4, position),
                new(&[TEXT, TEXT, INT4, INT4], INT4, position),
                new(&[TEXT, TEXT, INT4, INT4, INT4], INT4, position),
                new(&[TEXT, TEXT, INT4, INT4, INT4, TEXT], INT4, position),
            ],
        ),
        f(
            "regexp_like",
            vec![
                new(&pair, SqlType::Bool, |v| like(v, "")),
                new(&three, SqlType::Bool, |v| like(v, as_text(&v[2]))),
            ],
        ),
        f(
            "regexp_replace",
            vec![
                new(&three, TEXT, |v| replace(v, "", 1, None)),
                new(&[TEXT, TEXT, TEXT, TEXT], TEXT, |v| {
                    replace(v, as_text(&v[3]), 1, None)
                }),
                new(&[TEXT, TEXT, TEXT, INT4], TEXT, |v| {
                    replace(v, "", as_int(&v[3]), None)
                }),
                new(&[TEXT, TEXT, TEXT, INT4, INT4], TEXT, |v| {
                    replace(v, "", as_int(&v[3]), Some(as_int(&v[4])))
                }),
                new(&[TEXT, TEXT, TEXT, INT4, INT4, TEXT], TEXT, |v| {
                    replace(v, as_text(&v[5]), as_int(&v[3]), Some(as_int(&v[4])))
                }),
            ],
        ),
        f(
            "regexp_substr",
            vec![
                new(&pair, TEXT, |v| substr(v, 1, 1, "")),
                new(&[TEXT, TEXT, INT4], TEXT, |v| substr(v, as_int(&v[2]), 1, "")),
                new(&[TEXT, TEXT, INT4, INT4], TEXT, |v| {
                    substr(v, as_int(&v[2]), as_int(&v[3]), "")
                }),
                new(&[TEXT, TEXT, INT4, INT4, TEXT], TEXT, |v| {
                    substr(v, as_int(&v[2]), as_int(&v[3]), as_text(&v[4]))
                }),
            ],
        ),
    ]
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidParameterValue, message)
}

/// A compiled expression. The letters of `flags` but `g` change what it means.
fn compiled(pattern: &str, flags: &str) -> Outcome<Regex> {
    thread_local! {
        static KEPT: RefCell<HashMap<(String, String), Regex>> = RefCell::default();
    }
    let key = (pattern.to_owned(), flags.to_owned());
    if let Some(found) = KEPT.with_borrow(|kept| kept.get(&key).cloned()) {
        return Ok(found);
    }
    let (mut lines, mut partial) = (false, false);
    let mut builder = RegexBuilder::new(&translated(pattern));
    for flag in flags.chars() {
        match flag {
            'g' | 'c' | 'e' => {}
            'i' => _ = builder.case_insensitive(true),
            'n' | 'm' => (lines, partial) = (true, true),
            'w' => lines = true,
            'p' => partial = true,
            's' => (lines, partial) = (false, false),
            'x' => _ = builder.ignore_whitespace(true),
            't' => _ = builder.ignore_whitespace(false),
            other => return Err(invalid(format!("invalid regular expression option: \"{other}\""))),
        }
    }
    let compiled = builder
        .multi_line(lines)
        .dot_matches_new_line(!partial)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            let reason = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("error: "))
                .next_back();
            let reason = reason.unwrap_or("it does not compile");
            Error::new(
                ErrorKind::InvalidRegularExpression,
                format!("invalid regular expression: {reason}"),
            )
        })?;
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, compiled.clone());
    });
    Ok(compiled)
}

/// Escapes of Postgres that are spelled otherwise.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('m') => out += r"\b{start}",
            Some('M') => out += r"\b{end}",
            Some('y') => out += r"\b",
            Some('Y') => out += r"\B",
            Some('Z') => out += r"\z",
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

/// A pattern of SIMILAR TO as a regular expression over the whole text.
fn similar(v: &[ScalarValue]) -> Result {
    let (value, pattern) = (as_text(&v[0]), as_text(&v[1]));
    let escape = match v.get(2).map(as_text) {
        None => Some('\\'),
        Some(escape) if escape.chars().count() > 1 => {
            return Err(invalid("invalid escape string".to_owned())
                .with_hint("Escape string must be empty or one character."));
        }
        Some(escape) => escape.chars().next(),
    };
    let mut regex = "^(?:".to_owned();
    let mut chars = pattern.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => match chars.next() {
                Some(literal) => regex += &regex::escape(&literal.to_string()),
                None => regex += &regex::escape(&c.to_string()),
            },
            ']' if in_class => {
                in_class = false;
                regex.push(c);
            }
            '\\' => regex += r"\\",
            c if in_class => regex.push(c),
            '[' => {
                in_class = true;
                regex.push(c);
            }
            '%' => regex += ".*",
            '_' => regex.push('.'),
            '.' | '^' | '$' => regex.extend(['\\', c]),
            c => regex.push(c),
        }
    }
    regex += ")$";
    Ok(ScalarValue::Boolean(Some(compiled(&regex, "")?.is_match(value))))
}

/// The groups of a match, or all of it where there are none.
fn groups<'t>(captures: &Captures<'t>) -> Vec<Option<&'t str>> {
    let first = usize::from(captures.len() > 1);
    captures
        .iter()
        .skip(first)
        .map(|group| group.map(|found| found.as_str()))
        .collect()
}

fn list_of(values: Vec<Option<&str>>) -> Outcome<ListArray> {
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let lengths = OffsetBuffer::from_lengths([values.len()]);
    ListArray::try_new(field, lengths, Arc::new(StringArray::from(values)), None)
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
}

fn flags(v: &[ScalarValue]) -> &str {
    v.get(2).map_or("", as_text)
}

fn first_match(v: &[ScalarValue]) -> Result {
    let flags = flags(v);
    if flags.contains('g') {
        return Err(
            invalid("regexp_match() does not support the \"global\" option".to_owned())
                .with_hint("Use the regexp_matches function instead."),
        );
    }
    match compiled(as_text(&v[1]), flags)?.captures(as_text(&v[0])) {
        Some(captures) => Ok(ScalarValue::List(Arc::new(list_of(groups(&captures))?))),
        None => Ok(ScalarValue::Null),
    }
}

fn matches(v: &[ScalarValue]) -> Result {
    let (flags, value) = (flags(v), as_text(&v[0]));
    let most = if flags.contains('g') { usize::MAX } else { 1 };
    let regex = compiled(as_text(&v[1]), flags)?;
    let found: Vec<_> = regex
        .captures_iter(value)
        .take(most)
        .map(|c| groups(&c))
        .collect();
    let inner = OffsetBuffer::from_lengths(found.iter().map(Vec::len));
    let outer = OffsetBuffer::from_lengths([found.len()]);
    let texts: StringArray = found.into_iter().flatten().collect();
    let field = |data_type| Arc::new(Field::new_list_field(data_type, true));
    let lists = ListArray::try_new(field(DataType::Utf8), inner, Arc::new(texts), None);
    let all = lists.and_then(|lists| {
        let lists = Arc::new(lists);
        ListArray::try_new(
            field(arrow::array::Array::data_type(lists.as_ref()).clone()),
            outer,
            lists,
            None,
        )
    });
    let all = all.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    Ok(ScalarValue::List(Arc::new(all)))
}

/// Pieces between the matches. An empty match at an end, or right behind another match, splits nothing.
fn split(v: &[ScalarValue]) -> Result {
    let value = as_text(&v[0]);
    let regex = compiled(as_text(&v[1]), flags(v))?;
    let (mut pieces, mut start) = (Vec::new(), 0);
    for found in regex.find_iter(value) {
        if found.is_empty() && (found.start() == start && found.start() == 0 || found.end() == value.len()) {
            continue;
        }
        if found.is_empty() && found.start() == start {
            continue;
        }
        pieces.push(Some(&value[start..found.start()]));
        start = found.end();
    }
    pieces.push(Some(&value[start..]));
    Ok(ScalarValue::List(Arc::new(list_of(pieces)?)))
}

/// The text from a character, counted from 1.
fn from_character(value: &str, start: i64) -> Outcome<usize> {
    let skipped = usize::try_from(start).ok().and_then(|start| start.checked_sub(1));
    let Some(skipped) = skipped else {
        return Err(invalid(format!("invalid value for parameter \"start\": {start}")));
    };
    Ok(value
        .char_indices()
        .nth(skipped)
        .map_or(value.len(), |(at, _)| at))
}

fn count(v: &[ScalarValue], flags: &str) -> Result {
    let value = as_text(&v[0]);
    let start = from_character(value, v.get(2).map_or(1, as_int))?;
    int4(
        compiled(as_text(&v[1]), flags)?
            .find_iter(&value[start..])
            .count(),
    )
}

/// The character that the n-th match begins at, or with a last 1 the one behind it; 0 where there is none.
fn position(v: &[ScalarValue]) -> Result {
    let value = as_text(&v[0]);
    let number = |at: usize, otherwise: i64| v.get(at).map_or(otherwise, as_int);
    let start = from_character(value, number(2, 1))?;
    let wanted = usize::try_from(number(3, 1)).unwrap_or(0);
    let Some(before) = wanted.checked_sub(1) else {
        return Err(Error::new(
            ErrorKind::InvalidParameterValue,
            "invalid value for parameter \"n\"",
        ));
    };
    let pattern = compiled(as_text(&v[1]), v.get(5).map_or("", as_text))?;
    let found = pattern.find_iter(&value[start..]).nth(before);
    let Some(found) = found else {
        return int4(0);
    };
    let at = match number(4, 0) {
        0 => found.start(),
        1 => found.end(),
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidParameterValue,
                "invalid value for parameter \"endoption\"",
            ));
        }
    };
    int4(value[..start + at].chars().count() + 1)
}

fn like(v: &[ScalarValue], flags: &str) -> Result {
    let found = compiled(as_text(&v[1]), flags)?.is_match(as_text(&v[0]));
    Ok(ScalarValue::Boolean(Some(found)))
}

fn substr(v: &[ScalarValue], start: i64, number: i64, flags: &str) -> Result {
    let value = as_text(&v[0]);
    let start = from_character(value, start)?;
    let Some(before) = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1))
    else {
        return Err(invalid(format!("invalid value for parameter \"n\": {number}")));
    };
    let regex = compiled(as_text(&v[1]), flags)?;
    match regex.find_iter(&value[start..]).nth(before) {
        Some(found) => text(found.as_str()),
        None => Ok(ScalarValue::Null),
    }
}

/// Replaces the first match, all (`g`, or number 0), or the one of a number.
fn replace(v: &[ScalarValue], flags: &str, start: i64, number: Option<i64>) -> Result {
    let (value, new) = (as_text(&v[0]), as_text(&v[2]));
    let start = from_character(value, start)?;
    let wanted = match number {
        Some(number) if number < 0 => {
            return Err(invalid(format!("invalid value for parameter \"n\": {number}")));
        }
        Some(number) => number as usize,
        None => usize::from(!flags.contains('g')),
    };
    let regex = compiled(as_text(&v[1]), flags)?;
    let (mut out, mut end) = (value[..start].to_owned(), start);
    for (i, captures) in regex.captures_iter(&value[start..]).enumerate() {
        if wanted != 0 && i + 1 != wanted {
            continue;
        }
        let found = captures.get(0).expect("a match has a text");
        out += &value[end..start + found.start()];
        push_replacement(new, &captures, &mut out);
        end = start + found.end();
    }
    text(out + &value[end..])
}

/// `\1` is a group, `\&` all of the match, `\\` a backslash.
fn push_replacement(new: &str, captures: &Captures<'_>, out: &mut String) {
    let mut chars = new.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let group = match chars.next() {
            Some('&') => 0,
            Some(digit @ '1'..='9') => digit as usize - '0' as usize,
            Some('\\') | None => {
                out.push('\\');
                continue;
            }
            Some(other) => {
                out.extend(['\\', other]);
                continue;
            }
        };
        out.push_str(captures.get(group).map_or("", |found| found.as_str()));
    }
}
