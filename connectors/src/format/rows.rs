//! From the tokens of records to a batch of rows, with bad rows treated as the user wants.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringBuilder};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use millpond_catalog::Column;

use super::bad_row::{BadRows, OnBadRow};
use super::column::{ColumnReader, Flaws, Writing};
use super::token::Token;
use super::{BadLine, Decoded, Wanted};

/// Rows per batch. The tokens of so many rows stay in the cache until they are decoded.
pub const BATCH_ROWS: usize = 4096;

/// Collects the records of one batch and turns them into columns.
pub struct Rows {
    /// The columns that are decoded.
    readers: Vec<ColumnReader>,
    /// Per returned column its reader; the one without holds the text of corrupt rows.
    output: Vec<Option<usize>>,
    schema: SchemaRef,
    policy: OnBadRow,
    /// Row by row, a token per reader.
    tokens: Vec<Token>,
    /// Where each row stands in the chunk.
    lines: Vec<Line>,
    bad_lines: Vec<BadLine>,
}

/// A row's place, and what is wrong with it as a whole.
struct Line {
    start: usize,
    end: usize,
    error: Option<String>,
}

/// The declared columns that have to be found in a record.
pub fn columns_to_read(columns: &[Column], bad_rows: &BadRows, wanted: &Wanted<'_>) -> Vec<usize> {
    match bad_rows.wanted(wanted.projection) {
        // Whether a row is corrupt depends on every column.
        Some(corrupt) => (0..columns.len())
            .filter(|column| *column != corrupt && !wanted.from_path.contains(column))
            .collect(),
        None => wanted.projection.to_vec(),
    }
}

/// The schema of the columns at `projection`.
pub fn projected_schema(columns: &[Column], projection: &[usize]) -> SchemaRef {
    let field = |column: &usize| {
        let column = &columns[*column];
        column.sql_type.field(&column.name, column.nullable)
    };
    Arc::new(Schema::new(projection.iter().map(field).collect::<Vec<Field>>()))
}

impl Rows {
    /// `read`: see [`columns_to_read`].
    pub fn new(
        columns: &[Column],
        read: &[usize],
        projection: &[usize],
        policy: OnBadRow,
        writing: Writing,
    ) -> Self {
        let reader = |column: &usize| ColumnReader::new(&columns[*column], writing);
        let position = |column: &usize| read.iter().position(|read| read == column);
        Rows {
            readers: read.iter().map(reader).collect(),
            output: projection.iter().map(position).collect(),
            schema: projected_schema(columns, projection),
            policy,
            tokens: Vec::new(),
            lines: Vec::new(),
            bad_lines: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        self.tokens.clear();
        self.lines.clear();
        self.bad_lines.clear();
    }

    pub fn is_full(&self) -> bool {
        self.lines.len() >= BATCH_ROWS
    }

    /// The tokens of the next record, all of them [`Token::MISSING`]. [`Rows::keep`], [`Rows::flawed`] or
    /// [`Rows::refuse`] has to follow.
    pub fn next(&mut self) -> &mut [Token] {
        let first = self.lines.len() * self.readers.len();
        self.tokens.truncate(first);
        self.tokens.resize(first + self.readers.len(), Token::MISSING);
        &mut self.tokens[first..]
    }

    /// The record is a row.
    pub fn keep(&mut self, start: usize, end: usize) {
        self.lines.push(Line {
            start,
            end,
            error: None,
        });
    }

    /// The record is a bad row, of which something could be read.
    pub fn flawed(&mut self, start: usize, end: usize, error: String) {
        self.lines.push(Line {
            start,
            end,
            error: Some(error),
        });
    }

    /// Nothing of the record could be read.
    pub fn refuse(&mut self, start: usize, end: usize, error: String) {
        if self.policy == OnBadRow::Null {
            self.next();
            self.flawed(start, end, error);
        } else {
            self.bad_lines.push(BadLine { start, end, error });
        }
    }

    /// Decodes the records column by column. `original` is the chunk as it came, of which `bytes` bytes held them.
    pub fn finish(&mut self, text: &str, original: &[u8], bytes: u64) -> Decoded {
        let mut flaws = Flaws::default();
        let (width, rows) = (self.readers.len(), self.lines.len());
        let mut decode = |(index, reader): (usize, &ColumnReader)| {
            reader.decode(text, &self.tokens, index, width, rows, &mut flaws)
        };
        let decoded: Vec<ArrayRef> = self.readers.iter().enumerate().map(&mut decode).collect();
        for (row, error) in flaws.first_per_row() {
            self.lines[row].error.get_or_insert(error);
        }
        let column = |reader: &Option<usize>| match reader {
            Some(reader) => decoded[*reader].clone(),
            None => self.corrupt_records(original),
        };
        let columns: Vec<ArrayRef> = self.output.iter().map(column).collect();
        Decoded {
            rows: self.good_rows(columns),
            lines: self.good_lines(),
            bytes,
            bad_lines: self.bad_lines(),
        }
    }

    fn bad_lines(&mut self) -> Vec<BadLine> {
        if matches!(self.policy, OnBadRow::Null | OnBadRow::Drop) {
            return Vec::new();
        }
        let mut bad_lines = std::mem::take(&mut self.bad_lines);
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
        bad_lines
    }

    /// The text of rows with an error, NULL for the others.
    fn corrupt_records(&self, original: &[u8]) -> ArrayRef {
        let mut builder = StringBuilder::new();
        for line in &self.lines {
            let text = || String::from_utf8_lossy(original[line.start..line.end].trim_ascii_end());
            builder.append_option(line.error.as_ref().map(|_| text()));
        }
        Arc::new(builder.finish())
    }

    fn good_lines(&self) -> Vec<Range<usize>> {
        let keeps_all = self.policy == OnBadRow::Null;
        let good = self.lines.iter().filter(|line| keeps_all || line.error.is_none());
        good.map(|line| line.start..line.end).collect()
    }

    /// The rows without an error, or all of them where errors become NULL.
    fn good_rows(&self, columns: Vec<ArrayRef>) -> RecordBatch {
        let lines = self.lines.iter().enumerate();
        let bad: Vec<usize> = match self.policy {
            OnBadRow::Null => Vec::new(),
            _ => lines
                .filter_map(|(row, line)| line.error.is_some().then_some(row))
                .collect(),
        };
        rows_kept(&self.schema, columns, self.lines.len(), &bad)
    }
}

/// The `rows` rows of `columns` without the `bad` ones, which may hold NULL where `schema` does not allow it.
pub fn rows_kept(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize, bad: &[usize]) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    if bad.is_empty() {
        return RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .expect("columns decoded after the schema");
    }
    let mut keep = vec![true; rows];
    for row in bad {
        keep[*row] = false;
    }
    let nullable = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_nullable(true));
    let nullable = Arc::new(Schema::new(nullable.collect::<Vec<_>>()));
    let all = RecordBatch::try_new_with_options(nullable, columns, &options)
        .expect("columns decoded after the schema");
    let good = filter_record_batch(&all, &BooleanArray::from(keep)).expect("a mask as long as the batch");
    let options = RecordBatchOptions::new().with_row_count(Some(good.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), good.columns().to_vec(), &options)
        .expect("only rows without errors are left")
}

/// The chunk as text of the same length, and where bytes stand that are no text; `?` takes their place.
pub fn checked_text(bytes: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut not_text = Vec::new();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            not_text.push(text.len());
            text.push('?');
        }
    }
    (Cow::Owned(text), not_text)
}

/// What is wrong with the record at `start..end`, if anything in it is no text that Postgres can hold.
pub fn not_text_error(bytes: &[u8], not_text: &[usize], start: usize, end: usize) -> Option<String> {
    let next = not_text.partition_point(|at| *at < start);
    let invalid = not_text.get(next).filter(|at| **at < end).copied();
    let zero = || memchr::memchr(0, &bytes[start..end]).map(|at| start + at);
    let at = invalid.or_else(zero)?;
    Some(format!(
        "invalid byte sequence for encoding \"UTF8\": 0x{:02x} at byte {} of the row",
        bytes[at],
        at - start + 1
    ))
}
