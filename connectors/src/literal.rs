//! What the text of a value means in each SQL type, as Postgres reads it.
//!
//! Formats share it, so that a number in JSON and the same text in another format are the same value. Every function
//! returns the value as Arrow stores it, or a sentence for `sys.bad_rows`.

mod binary;
mod decimal;
mod document;
mod number;
mod time;

pub use binary::{bytea, uuid};
pub use decimal::decimal;
pub use document::json;
pub use number::{boolean, float4, float8, int2, int4, int8};
pub use time::{date, time, timestamp, timestamptz};

use millpond_catalog::SqlType;

/// `text` does not have the type's form.
fn invalid(sql_type: &SqlType, text: &str) -> String {
    format!(
        "invalid input syntax for type {sql_type}: \"{}\"",
        shortened(text)
    )
}

/// `text` has the form but the type has no such value.
fn out_of_range(sql_type: &SqlType, text: &str) -> String {
    format!(
        "value \"{}\" is out of range for type {sql_type}",
        shortened(text)
    )
}

/// The beginning of `text`, enough to recognise it.
pub fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// `text` if it has at most `length` characters; spaces beyond are cut off, as Postgres does.
pub fn varchar(text: &str, length: u32) -> Result<&str, String> {
    match text.char_indices().nth(length as usize) {
        None => Ok(text),
        Some((end, _)) if text[end..].bytes().all(|byte| byte == b' ') => Ok(&text[..end]),
        Some(_) => Err(format!("value too long for type character varying({length})")),
    }
}

#[cfg(test)]
mod tests;
