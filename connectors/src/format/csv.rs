//! CSV by the rules of Postgres' COPY: an unquoted empty field is NULL, `""` is the empty text, a quote may begin anywhere
//! in a field, and a line end between quotes belongs to the value.
//!
//! Where the file has a header, columns are found by their names; else by position.

mod header;
mod options;
mod quoting;
mod record;

use std::sync::Arc;

use millpond_catalog::{Column, SqlType};

use super::bad_row::{BadRows, OnBadRow};
use super::column::{EpochUnit, Escapes, Writing};
use super::rows::{Rows, checked_text, columns_to_read, not_text_error};
use super::{Decoded, Decoder, Format, FormatSpec, RecordFormat, Wanted};
use crate::error::{Error, Result};
use crate::options::OptionReader;
use options::CsvOptions;
pub use quoting::{QuoteState, Quoting};
use record::{Field, Splitter};

pub const FORMAT: FormatSpec = FormatSpec {
    name: "csv",
    doc: "Values parted by commas, as Postgres' COPY reads them.",
    options: Some(CsvOptions::SPECS),
    open,
};

fn open(reader: &mut OptionReader<'_>, columns: &[Column], bad_rows: BadRows) -> Result<Format> {
    let options = CsvOptions::read(reader)?;
    let splitter = options.splitter()?;
    if let Some(column) = columns
        .iter()
        .find(|column| matches!(column.sql_type, SqlType::Array(_) | SqlType::Struct(_)))
    {
        return Err(Error::Columns {
            message: format!(
                "column \"{}\" of type {} cannot be read from CSV",
                column.name, column.sql_type
            ),
            hint: Some("Declare it as text or jsonb.".to_owned()),
        });
    }
    Ok(Format::Records(Arc::new(CsvFormat {
        columns: columns.to_vec(),
        bad_rows,
        has_header: options.header,
        splitter,
        epoch_unit: options.epoch_unit,
    })))
}

struct CsvFormat {
    columns: Vec<Column>,
    bad_rows: BadRows,
    has_header: bool,
    splitter: Splitter,
    epoch_unit: Option<EpochUnit>,
}

impl RecordFormat for CsvFormat {
    fn decoder(&self, wanted: &Wanted<'_>) -> Result<Box<dyn Decoder>, String> {
        let read = columns_to_read(&self.columns, &self.bad_rows, wanted);
        // Which declared column each field of a record belongs to.
        let is_own =
            |column: &usize| !wanted.from_path.contains(column) && self.bad_rows.corrupt != Some(*column);
        let own: Vec<usize> = (0..self.columns.len()).filter(is_own).collect();
        let fields: Vec<Option<usize>> = match wanted.header {
            Some(header) => header::columns(&self.splitter, header, &self.columns, &own)?,
            None if self.has_header => return Err("the file has no header line".to_owned()),
            None => own.iter().copied().map(Some).collect(),
        };
        let token_of =
            |column: &Option<usize>| column.and_then(|column| read.iter().position(|read| *read == column));
        let name_of = |(index, column): (usize, &Option<usize>)| match column {
            Some(column) => self.columns[*column].name.clone(),
            None => format!("number {}", index + 1),
        };
        let writing = Writing {
            escapes: self.splitter.quoting.map_or(Escapes::None, Escapes::Csv),
            epoch_unit: self.epoch_unit,
        };
        Ok(Box::new(CsvDecoder {
            splitter: self.splitter.clone(),
            names: fields.iter().enumerate().map(name_of).collect(),
            tokens: fields.iter().map(token_of).collect(),
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

    fn quoting(&self) -> Option<Quoting> {
        self.splitter.quoting
    }

    fn has_header(&self) -> bool {
        self.has_header
    }
}

struct CsvDecoder {
    splitter: Splitter,
    /// Of each field, for messages.
    names: Vec<String>,
    /// Per field of a record, the token that holds it.
    tokens: Vec<Option<usize>>,
    rows: Rows,
}

impl Decoder for CsvDecoder {
    fn decode(&mut self, records: &[u8]) -> Vec<Decoded> {
        let (text, not_text) = checked_text(records);
        let mut batches = Vec::new();
        let mut at = 0;
        while at < records.len() {
            let start = at;
            self.rows.clear();
            while at < records.len() && !self.rows.is_full() {
                at = self.scan_record(text.as_bytes(), at, records, &not_text);
            }
            batches.push(self.rows.finish(&text, records, (at - start) as u64));
        }
        batches
    }
}

impl CsvDecoder {
    /// Notes the tokens of the record at `start`; returns where the next one starts.
    fn scan_record(&mut self, bytes: &[u8], start: usize, original: &[u8], not_text: &[usize]) -> usize {
        // A blank line is no record, except where a record is one field.
        if self.tokens.len() != 1
            && let Some(next) = record::after_blank_line(bytes, start)
        {
            return next;
        }
        let tokens = self.rows.next();
        let (mut at, mut count) = (start, 0);
        let (end, next) = loop {
            match self.splitter.field(bytes, at) {
                Field::Value { token, next } => {
                    if let Some(Some(index)) = self.tokens.get(count) {
                        tokens[*index] = token;
                    }
                    at = next;
                    count += 1;
                }
                Field::Last { token, end, next } => {
                    if let Some(Some(index)) = self.tokens.get(count) {
                        tokens[*index] = token;
                    }
                    count += 1;
                    break (end, next);
                }
                Field::Unterminated => {
                    let error = "unterminated CSV quoted field".to_owned();
                    self.rows.refuse(start, bytes.len(), error);
                    return bytes.len();
                }
            }
        };
        if let Some(error) = not_text_error(original, not_text, start, end) {
            self.rows.refuse(start, end, error);
        } else if count < self.tokens.len() {
            let error = format!("missing data for column \"{}\"", self.names[count]);
            self.rows.flawed(start, end, error);
        } else if count > self.tokens.len() {
            let error = format!(
                "extra data after last expected column: {count} values for {} columns",
                self.tokens.len()
            );
            self.rows.flawed(start, end, error);
        } else {
            self.rows.keep(start, end);
        }
        next
    }
}

#[cfg(test)]
mod tests;
