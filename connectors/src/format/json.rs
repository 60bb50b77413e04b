//! JSON lines: one object per line, fields by name.
//!
//! Decoding has two passes over a chunk that fits the cache. The first checks each line against the grammar and notes
//! where the wanted values stand ([`scan`], [`fields`]); the second turns them into arrays, one column at a time
//! ([`mod@column`]). So a bad value is found before anything of its row is handed on, the last of duplicate fields wins for
//! free, and numbers are read from their digits.

mod column;
mod fields;
mod options;
mod scan;
mod text;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringBuilder};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use millpond_catalog::{Column, SqlType};

use super::{BadLine, Decoded, Decoder, Format, FormatSpec, OnBadRow};
use crate::error::{Error, Result};
use crate::options::OptionReader;
use column::{ColumnReader, Flaws};
use fields::Fields;
use options::{EpochUnit, JsonOptions};
use scan::{Scanner, Token};

pub const FORMAT: FormatSpec = FormatSpec {
    name: "json",
    doc: "One JSON object per line. A missing or null field is NULL, other fields are ignored.",
    options: Some(JsonOptions::SPECS),
    open,
};

/// Rows per batch. The tokens of so many rows stay in the cache between the two passes.
const BATCH_ROWS: usize = 4096;

fn open(reader: &mut OptionReader<'_>, columns: &[Column]) -> Result<Arc<dyn Format>> {
    let options = JsonOptions::read(reader)?;
    let on_bad_row = match options.ignore_parse_errors {
        Some(true) => OnBadRow::Drop,
        Some(false) | None => options.on_bad_row,
    };
    let corrupt = match &options.column_name_of_corrupt_record {
        Some(name) => Some(corrupt_column(name, columns)?),
        None => None,
    };
    if on_bad_row == OnBadRow::Null
        && let Some(column) = columns.iter().find(|column| !column.nullable)
    {
        return Err(Error::Columns {
            message: format!("column \"{}\" is NOT NULL, but bad rows become NULL", column.name),
            hint: Some("Drop NOT NULL, or choose another on_bad_row.".to_owned()),
        });
    }
    if let Some(column) = columns.iter().find(|column| holds_system_type(&column.sql_type)) {
        return Err(Error::Columns {
            message: format!("column \"{}\" cannot have type {}", column.name, column.sql_type),
            hint: Some("That type is for system tables.".to_owned()),
        });
    }
    let columns = columns.to_vec();
    Ok(Arc::new(JsonFormat {
        columns,
        on_bad_row,
        corrupt,
        epoch_unit: options.epoch_unit,
    }))
}

/// The position of the column that takes the text of bad rows.
fn corrupt_column(name: &str, columns: &[Column]) -> Result<usize> {
    let position = columns
        .iter()
        .position(|column| column.name.eq_ignore_ascii_case(name));
    let fits = |column: &Column| {
        matches!(column.sql_type, SqlType::Text | SqlType::Varchar(None)) && column.nullable
    };
    position
        .filter(|position| fits(&columns[*position]))
        .ok_or_else(|| Error::Columns {
            message: format!(
                "column_name_of_corrupt_record names \"{name}\", which is not a column of type text"
            ),
            hint: Some(format!("Declare it: {name} text")),
        })
}

fn holds_system_type(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::System(_) => true,
        SqlType::Array(element) => holds_system_type(element),
        SqlType::Struct(fields) => fields.iter().any(|(_, sql_type)| holds_system_type(sql_type)),
        _ => false,
    }
}

struct JsonFormat {
    columns: Vec<Column>,
    on_bad_row: OnBadRow,
    corrupt: Option<usize>,
    epoch_unit: Option<EpochUnit>,
}

impl Format for JsonFormat {
    fn decoder(&self, projection: &[usize]) -> Box<dyn Decoder> {
        let corrupt = self.corrupt.filter(|corrupt| projection.contains(corrupt));
        // Whether a row is corrupt depends on every column.
        let read: Vec<usize> = match corrupt {
            Some(corrupt) => (0..self.columns.len())
                .filter(|column| *column != corrupt)
                .collect(),
            None => projection.to_vec(),
        };
        let readers = read
            .iter()
            .map(|column| ColumnReader::new(&self.columns[*column], self.epoch_unit))
            .collect();
        let output = projection
            .iter()
            .map(|column| read.iter().position(|read| read == column))
            .collect();
        let field = |column: &usize| {
            self.columns[*column]
                .sql_type
                .field(&self.columns[*column].name, self.columns[*column].nullable)
        };
        let schema = Schema::new(projection.iter().map(field).collect::<Vec<Field>>());
        Box::new(JsonDecoder {
            fields: Fields::new(read.iter().map(|column| self.columns[*column].name.as_str())),
            readers,
            output,
            schema: Arc::new(schema),
            on_bad_row: self.on_bad_row,
            tokens: Vec::new(),
            lines: Vec::new(),
        })
    }

    fn on_bad_row(&self) -> OnBadRow {
        self.on_bad_row
    }
}

struct JsonDecoder {
    fields: Fields,
    /// The columns that are decoded.
    readers: Vec<ColumnReader>,
    /// Per returned column its reader; the one without holds the text of corrupt rows.
    output: Vec<Option<usize>>,
    schema: SchemaRef,
    on_bad_row: OnBadRow,
    /// Row by row, a token per reader.
    tokens: Vec<Token>,
    /// Where each row stands in the chunk.
    lines: Vec<Line>,
}

/// A row's place, and what is wrong with it as a whole.
struct Line {
    start: usize,
    end: usize,
    error: Option<String>,
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, lines: &[u8]) -> Vec<Decoded> {
        let (text, not_text) = checked_text(lines);
        let mut batches = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let start = at;
            self.tokens.clear();
            self.lines.clear();
            let mut bad_lines = Vec::new();
            while at < lines.len() && self.lines.len() < BATCH_ROWS {
                at = self.scan_line(text.as_bytes(), at, &not_text, &mut bad_lines);
            }
            batches.push(self.batch(&text, lines, (at - start) as u64, bad_lines));
        }
        batches
    }
}

impl JsonDecoder {
    /// Notes the tokens of the line at `start`; returns where the next one starts.
    fn scan_line(
        &mut self,
        bytes: &[u8],
        start: usize,
        not_text: &HashSet<usize>,
        bad_lines: &mut Vec<BadLine>,
    ) -> usize {
        let mut scanner = Scanner::new(bytes, start);
        scanner.skip_space();
        match scanner.peek() {
            None => return bytes.len(),
            Some(b'\n') => return scanner.at() + 1,
            Some(_) => {}
        }
        let width = self.readers.len();
        let first = self.tokens.len();
        self.tokens.resize(first + width, Token::MISSING);
        let scanned = self
            .fields
            .scan(&mut scanner, &mut self.tokens[first..])
            .and_then(|()| {
                scanner.skip_space();
                match scanner.peek() {
                    None | Some(b'\n') => Ok(()),
                    Some(_) => scanner.flaw("expected the end of the line after the object"),
                }
            });
        let flaw = match scanned {
            Ok(()) => {
                self.lines.push(Line {
                    start,
                    end: scanner.at(),
                    error: None,
                });
                return (scanner.at() + 1).min(bytes.len());
            }
            Err(flaw) => flaw,
        };
        let length = bytes[start..].iter().position(|byte| *byte == b'\n');
        let end = length.map_or(bytes.len(), |length| start + length);
        let error = if not_text.contains(&start) {
            "invalid byte sequence for encoding \"UTF8\"".to_owned()
        } else {
            format!(
                "invalid JSON at byte {} of the line: {}",
                flaw.at - start + 1,
                flaw.what
            )
        };
        if self.on_bad_row == OnBadRow::Null {
            self.tokens[first..].fill(Token::MISSING);
            self.lines.push(Line {
                start,
                end,
                error: Some(error),
            });
        } else {
            self.tokens.truncate(first);
            bad_lines.push(BadLine { start, end, error });
        }
        (end + 1).min(bytes.len())
    }

    /// Decodes the noted rows column by column. `original` is the chunk as it came.
    fn batch(&mut self, text: &str, original: &[u8], bytes: u64, mut bad_lines: Vec<BadLine>) -> Decoded {
        let mut flaws = Flaws::default();
        let width = self.readers.len();
        let decode = |(index, reader): (usize, &ColumnReader)| {
            reader.decode(text, &self.tokens, index, width, self.lines.len(), &mut flaws)
        };
        let decoded: Vec<ArrayRef> = self.readers.iter().enumerate().map(decode).collect();
        for (row, error) in flaws.first_per_row() {
            self.lines[row].error.get_or_insert(error);
        }
        let column = |reader: &Option<usize>| match reader {
            Some(reader) => decoded[*reader].clone(),
            None => self.corrupt_records(original),
        };
        let columns: Vec<ArrayRef> = self.output.iter().map(column).collect();
        let rows = self.good_rows(columns);
        if self.on_bad_row != OnBadRow::Null {
            for line in &self.lines {
                if let Some(error) = &line.error {
                    bad_lines.push(BadLine {
                        start: line.start,
                        end: line.end,
                        error: error.clone(),
                    });
                }
            }
            bad_lines.sort_by_key(|line| line.start);
        }
        if matches!(self.on_bad_row, OnBadRow::Null | OnBadRow::Drop) {
            bad_lines.clear();
        }
        Decoded {
            rows,
            bytes,
            bad_lines,
        }
    }

    /// The text of rows with an error, NULL for the others.
    fn corrupt_records(&self, original: &[u8]) -> ArrayRef {
        let mut builder = StringBuilder::new();
        for line in &self.lines {
            let text = || String::from_utf8_lossy(trim_end(&original[line.start..line.end]));
            builder.append_option(line.error.as_ref().map(|_| text()));
        }
        Arc::new(builder.finish())
    }

    /// The rows without an error, or all of them where errors become NULL.
    fn good_rows(&self, columns: Vec<ArrayRef>) -> RecordBatch {
        let options = RecordBatchOptions::new().with_row_count(Some(self.lines.len()));
        let keep_all =
            self.on_bad_row == OnBadRow::Null || self.lines.iter().all(|line| line.error.is_none());
        if keep_all {
            return RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
                .expect("columns decoded after the schema");
        }
        // Bad rows may hold NULL in columns that do not allow it, until they are taken out.
        let nullable = self
            .schema
            .fields()
            .iter()
            .map(|field| field.as_ref().clone().with_nullable(true));
        let nullable = Arc::new(Schema::new(nullable.collect::<Vec<_>>()));
        let all = RecordBatch::try_new_with_options(nullable, columns, &options)
            .expect("columns decoded after the schema");
        let keep: BooleanArray = self.lines.iter().map(|line| Some(line.error.is_none())).collect();
        let good = filter_record_batch(&all, &keep).expect("a mask as long as the batch");
        let options = RecordBatchOptions::new().with_row_count(Some(good.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), good.columns().to_vec(), &options)
            .expect("only rows without errors are left")
    }
}

/// The chunk as text of the same length, and where the lines start that are not UTF-8. Those are filled with a byte that
/// begins no JSON value, so that the scanner refuses them.
fn checked_text(lines: &[u8]) -> (Cow<'_, str>, HashSet<usize>) {
    let mut not_text = HashSet::new();
    if let Ok(text) = simdutf8::basic::from_utf8(lines) {
        return (Cow::Borrowed(text), not_text);
    }
    let mut text = String::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match simdutf8::basic::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(_) => {
                not_text.insert(text.len());
                let end = usize::from(line.ends_with(b"\n"));
                text.extend(std::iter::repeat_n('?', line.len() - end));
                text.extend(std::iter::repeat_n('\n', end));
            }
        }
    }
    (Cow::Owned(text), not_text)
}

/// Without the carriage return and spaces at the end.
fn trim_end(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

#[cfg(test)]
mod tests;
