//! Lines of text: one column, a row per line.

use std::sync::Arc;

use millpond_catalog::{Column, SqlType};

use super::bad_row::{BadRows, OnBadRow};
use super::column::{Escapes, Writing};
use super::rows::{Rows, checked_text, columns_to_read, not_text_error};
use super::token::{Kind, Token};
use super::{Decoded, Decoder, Format, FormatSpec, RecordFormat, Wanted};
use crate::error::{Error, Result};
use crate::options::OptionReader;

pub const FORMAT: FormatSpec = FormatSpec {
    name: "text",
    doc: "One column of type text, a row per line. It is called `value` where no column is declared.",
    options: Some(&[]),
    open,
};

/// The columns of a source that was declared without any.
pub fn default_columns() -> Vec<Column> {
    vec![Column {
        name: "value".to_owned(),
        sql_type: SqlType::Text,
        nullable: true,
        default: None,
    }]
}

fn open(_: &mut OptionReader<'_>, columns: &[Column], bad_rows: BadRows) -> Result<Format> {
    let is_text = |column: &Column| matches!(column.sql_type, SqlType::Text | SqlType::Varchar(_));
    let texts: Vec<usize> = (0..columns.len())
        .filter(|column| is_text(&columns[*column]) && bad_rows.corrupt != Some(*column))
        .collect();
    if texts.is_empty() {
        return Err(Error::Columns {
            message: "format \"text\" needs a column of type text".to_owned(),
            hint: Some("Declare one: CREATE SOURCE name (value text) WITH (..)".to_owned()),
        });
    }
    Ok(Format::Records(Arc::new(TextFormat {
        columns: columns.to_vec(),
        bad_rows,
    })))
}

struct TextFormat {
    columns: Vec<Column>,
    bad_rows: BadRows,
}

impl RecordFormat for TextFormat {
    fn decoder(&self, wanted: &Wanted<'_>) -> Result<Box<dyn Decoder>, String> {
        let is_own =
            |column: &usize| !wanted.from_path.contains(column) && self.bad_rows.corrupt != Some(*column);
        let own: Vec<usize> = (0..self.columns.len()).filter(is_own).collect();
        let [value] = own[..] else {
            let names: Vec<&str> = own.iter().map(|own| self.columns[*own].name.as_str()).collect();
            return Err(format!(
                "format \"text\" has one column, but these are declared and not part of the path: {}",
                names.join(", ")
            ));
        };
        let writing = Writing {
            escapes: Escapes::None,
            epoch_unit: None,
        };
        let read = columns_to_read(&self.columns, &self.bad_rows, wanted);
        Ok(Box::new(TextDecoder {
            is_wanted: read.contains(&value),
            rows: Rows::new(
                &self.columns,
                &read,
                wanted.projection,
                self.bad_rows.policy,
                writing,
            ),
        }))
    }

    fn on_bad_row(&self) -> OnBadRow {
        self.bad_rows.policy
    }
}

struct TextDecoder {
    is_wanted: bool,
    rows: Rows,
}

impl Decoder for TextDecoder {
    fn decode(&mut self, lines: &[u8]) -> Vec<Decoded> {
        let (text, not_text) = checked_text(lines);
        let mut batches = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let first = at;
            self.rows.clear();
            while at < lines.len() && !self.rows.is_full() {
                let length = memchr::memchr(b'\n', &lines[at..]).unwrap_or(lines.len() - at);
                let (start, next) = (at, (at + length + 1).min(lines.len()));
                let line = &lines[start..start + length];
                let end = start + line.strip_suffix(b"\r").unwrap_or(line).len();
                at = next;
                if let Some(error) = not_text_error(lines, &not_text, start, end) {
                    self.rows.refuse(start, end, error);
                    continue;
                }
                if let ([value], true) = (self.rows.next(), self.is_wanted) {
                    *value = Token::new(Kind::Text, start, end);
                }
                self.rows.keep(start, end);
            }
            batches.push(self.rows.finish(&text, lines, (at - first) as u64));
        }
        batches
    }
}

#[cfg(test)]
mod tests;
