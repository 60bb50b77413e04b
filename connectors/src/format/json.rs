//! JSON lines: one object per line, fields by name.
//!
//! Decoding has two passes over a chunk that fits the cache. The first checks each line against the grammar and notes
//! where the wanted values stand ([`scan`], [`fields`]); the second turns them into arrays, one column at a time
//! ([`super::column`]). So a bad value is found before anything of its row is handed on, the last of duplicate fields wins for
//! free, and numbers are read from their digits.

mod fields;
mod options;
mod scan;
mod text;

use std::sync::Arc;

use millpond_catalog::Column;

use super::bad_row::{BadRows, OnBadRow};
use super::column::{EpochUnit, Escapes, Writing};
use super::rows::{Rows, checked_text, columns_to_read, not_text_error};
use super::{Decoded, Decoder, Format, FormatSpec, RecordFormat, Wanted};
use crate::error::Result;
use crate::options::OptionReader;
pub use fields::Fields;
use options::JsonOptions;
pub use scan::Scanner;
pub use text::unescape;

pub const FORMAT: FormatSpec = FormatSpec {
    name: "json",
    doc: "One JSON object per line. A missing or null field is NULL, other fields are ignored.",
    options: Some(JsonOptions::SPECS),
    open,
};

fn open(reader: &mut OptionReader<'_>, columns: &[Column], bad_rows: BadRows) -> Result<Format> {
    let options = JsonOptions::read(reader)?;
    Ok(Format::Records(Arc::new(JsonFormat {
        columns: columns.to_vec(),
        bad_rows,
        epoch_unit: options.epoch_unit,
    })))
}

struct JsonFormat {
    columns: Vec<Column>,
    bad_rows: BadRows,
    epoch_unit: Option<EpochUnit>,
}

impl RecordFormat for JsonFormat {
    fn decoder(&self, wanted: &Wanted<'_>) -> Result<Box<dyn Decoder>, String> {
        let read = columns_to_read(&self.columns, &self.bad_rows, wanted);
        let writing = Writing {
            escapes: Escapes::Json,
            epoch_unit: self.epoch_unit,
        };
        Ok(Box::new(JsonDecoder {
            fields: Fields::new(read.iter().map(|column| self.columns[*column].name.as_str())),
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

struct JsonDecoder {
    fields: Fields,
    rows: Rows,
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, lines: &[u8]) -> Vec<Decoded> {
        let (text, not_text) = checked_text(lines);
        let mut batches = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let start = at;
            self.rows.clear();
            while at < lines.len() && !self.rows.is_full() {
                at = self.scan_line(text.as_bytes(), at, lines, &not_text);
            }
            batches.push(self.rows.finish(&text, lines, (at - start) as u64));
        }
        batches
    }
}

impl JsonDecoder {
    /// Notes the tokens of the line at `start`; returns where the next one starts.
    fn scan_line(&mut self, bytes: &[u8], start: usize, original: &[u8], not_text: &[usize]) -> usize {
        let mut scanner = Scanner::new(bytes, start);
        scanner.skip_space();
        match scanner.peek() {
            None => return bytes.len(),
            Some(b'\n') => return scanner.at() + 1,
            Some(_) => {}
        }
        let tokens = self.rows.next();
        let scanned = self.fields.scan(&mut scanner, tokens).and_then(|()| {
            scanner.skip_space();
            match scanner.peek() {
                None | Some(b'\n') => Ok(()),
                Some(_) => scanner.flaw("expected the end of the line after the object"),
            }
        });
        if scanned.is_ok() && not_text.is_empty() {
            self.rows.keep(start, scanner.at());
            return (scanner.at() + 1).min(bytes.len());
        }
        let length = bytes[start..].iter().position(|byte| *byte == b'\n');
        let end = length.map_or(bytes.len(), |length| start + length);
        match (not_text_error(original, not_text, start, end), scanned) {
            (Some(error), _) => self.rows.refuse(start, end, error),
            (None, Ok(())) => self.rows.keep(start, end),
            (None, Err(flaw)) => {
                let error = format!(
                    "invalid JSON at byte {} of the line: {}",
                    flaw.at - start + 1,
                    flaw.what
                );
                self.rows.refuse(start, end, error);
            }
        }
        (end + 1).min(bytes.len())
    }
}

#[cfg(test)]
mod tests;
