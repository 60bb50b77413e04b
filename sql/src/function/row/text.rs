//! Functions of texts.

use datafusion::common::ScalarValue;
use datafusion::functions::{string, unicode};
use millpond_catalog::SqlType;

use super::{Overload, RowFunction, as_text, text};
use crate::error::Error;

type Result = std::result::Result<ScalarValue, Error>;

const TEXT: SqlType = SqlType::Text;

pub fn list() -> Vec<RowFunction> {
    let f = RowFunction::new;
    let new = Overload::new;
    // Those that go on to the library take integers of any size here.
    let widened = |name, library| f(name, Vec::new()).over(library);
    vec![
        f(
            "upper",
            vec![new(&[TEXT], TEXT, |v| {
                text(as_text(&v[0]).chars().map(upper).collect::<String>())
            })],
        ),
        f("initcap", vec![new(&[TEXT], TEXT, initcap)]),
        widened("left", unicode::left()),
        widened("right", unicode::right()),
        widened("split_part", string::split_part()),
    ]
}

/// The capital of a letter, where it is one letter.
fn upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => letter,
    }
}

fn lower(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => letter,
    }
}

/// Words begin with a capital; they are of letters and digits.
fn initcap(v: &[ScalarValue]) -> Result {
    let mut inside = false;
    let capital = |c: char| {
        let changed = if inside { lower(c) } else { upper(c) };
        inside = c.is_alphanumeric();
        changed
    };
    text(as_text(&v[0]).chars().map(capital).collect::<String>())
}
