//! Bytes from the client to rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_empty_array};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::scalar::ScalarValue;
use millpond_catalog::Column;
use millpond_sql::statement::{CopyHeader, CopyOptions};

use super::binary::{self, Piece};
use super::csv::{self, Scanner};
use super::{Record, text};
use crate::error::{Error, Result, SessionError, ValueError};
use crate::pg::decode;
use crate::pg::format::Format;

/// Rows per batch.
const BATCH_ROWS: usize = 8192;

/// Takes in the data of a COPY piece by piece.
pub struct Reader {
    table: String,
    columns: Vec<Column>,
    options: CopyOptions,
    time_zone: String,
    schema: SchemaRef,
    /// What is not a whole record yet.
    waiting: Vec<u8>,
    /// Bytes of it that were looked at for a line end.
    scanned: usize,
    scanner: Scanner,
    /// Lines before those that wait.
    lines: u64,
    /// The header is still to come.
    header: bool,
    /// `\.` was read: nothing follows.
    ended: bool,
    values: Vec<Vec<ScalarValue>>,
    batches: Vec<RecordBatch>,
}

impl Reader {
    pub fn new(table: String, columns: Vec<Column>, options: CopyOptions, time_zone: String) -> Self {
        let fields: Vec<_> = columns.iter().map(|c| c.sql_type.field(&c.name, true)).collect();
        Self {
            table,
            schema: Arc::new(Schema::new(fields)),
            header: options.binary || options.header != CopyHeader::Absent,
            values: columns.iter().map(|_| Vec::new()).collect(),
            columns,
            options,
            time_zone,
            waiting: Vec::new(),
            scanned: 0,
            scanner: Scanner::default(),
            lines: 0,
            ended: false,
            batches: Vec::new(),
        }
    }

    /// Takes in a piece, which may end anywhere.
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(piece);
        if self.options.binary {
            return self.push_binary();
        }
        let waiting = std::mem::take(&mut self.waiting);
        let mut begin = 0;
        while !self.ended {
            let from = begin + self.scanned;
            let end = if self.options.csv {
                self.scanner.end(&waiting, from, &self.options)
            } else {
                let found = waiting[from..].iter().position(|byte| *byte == b'\n');
                found.map(|at| from + at)
            };
            let Some(end) = end else { break };
            self.scanned = 0;
            self.record(&waiting[begin..end])?;
            begin = end + 1;
        }
        self.waiting = waiting[begin..].to_vec();
        self.scanned = self.waiting.len();
        Ok(())
    }

    /// Takes what is whole from the bytes that wait.
    fn push_binary(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut begin = 0;
        if self.header {
            match binary::read_header(&waiting)? {
                Some(length) => begin = length,
                None => {
                    self.waiting = waiting;
                    return Ok(());
                }
            }
            self.header = false;
        }
        while !self.ended {
            let context = format!("COPY {}, line {}", self.table, self.lines + 1);
            let piece = binary::read_row(&waiting[begin..], self.columns.len());
            match piece.map_err(|error| in_context(error, context))? {
                Piece::Incomplete => break,
                Piece::End => self.ended = true,
                Piece::Row(fields, length) => {
                    self.lines += 1;
                    begin += length;
                    self.add_binary(&fields)?;
                }
            }
        }
        self.waiting = waiting[begin..].to_vec();
        Ok(())
    }

    fn add_binary(&mut self, fields: &[Option<&[u8]>]) -> Result<()> {
        for ((field, column), values) in fields.iter().zip(&self.columns).zip(&mut self.values) {
            let value = decode::parameter(1, *field, Format::Binary, &column.sql_type, &self.time_zone);
            values.push(value.map_err(|error| {
                let error = match error {
                    Error::Value(ValueError::Binary(_)) => ValueError::BinaryCopy.into(),
                    other => other,
                };
                let context = format!("COPY {}, line {}, column {}", self.table, self.lines, column.name);
                in_context(error, context)
            })?);
        }
        self.make_full_batch()
    }

    /// The rows, when everything has come.
    pub fn finish(mut self) -> Result<Vec<RecordBatch>> {
        if self.options.binary {
            if !self.ended {
                let error = SessionError::CopyFormat("unexpected EOF in COPY data".into());
                return Err(in_context(error.into(), format!("COPY {}", self.table)));
            }
            self.make_batch()?;
            return Ok(self.batches);
        }
        if self.options.csv && self.scanner.in_quotes() {
            let context = format!("COPY {}, line {}", self.table, self.lines + 1);
            return Err(in_context(
                SessionError::CopyFormat("unterminated CSV quoted field".into()).into(),
                context,
            ));
        }
        let last = std::mem::take(&mut self.waiting);
        if !last.is_empty() && !self.ended {
            self.record(&last)?;
        }
        self.make_batch()?;
        Ok(self.batches)
    }

    fn record(&mut self, record: &[u8]) -> Result<()> {
        let record = record.strip_suffix(b"\r").unwrap_or(record);
        let line = self.lines + 1;
        self.lines += 1 + record.iter().filter(|byte| **byte == b'\n').count() as u64;
        if record == b"\\." {
            self.ended = true;
            return Ok(());
        }
        let split = if self.options.csv {
            csv::split(record, line, &self.options)
        } else {
            text::split(record, line, self.options.delimiter, &self.options.null)
        };
        let split = split.map_err(|error| in_context(error, format!("COPY {}, line {line}", self.table)))?;
        if std::mem::take(&mut self.header) {
            return self.check_header(&split);
        }
        self.add(split)
    }

    fn check_header(&self, record: &Record) -> Result<()> {
        if self.options.header != CopyHeader::Match {
            return Ok(());
        }
        let context = || format!("COPY {}, line {}: \"{}\"", self.table, record.line, record.raw);
        let fail = |message: String| Err(in_context(SessionError::CopyFormat(message).into(), context()));
        if record.fields.len() != self.columns.len() {
            return fail(format!(
                "wrong number of fields in header line: got {}, expected {}",
                record.fields.len(),
                self.columns.len()
            ));
        }
        for (i, (field, column)) in record.fields.iter().zip(&self.columns).enumerate() {
            if field.as_deref() != Some(column.name.as_str()) {
                return fail(format!(
                    "column name mismatch in header line field {}: got \"{}\", expected \"{}\"",
                    i + 1,
                    field.as_deref().unwrap_or("null value"),
                    column.name
                ));
            }
        }
        Ok(())
    }

    fn add(&mut self, record: Record) -> Result<()> {
        let Record { line, fields, raw } = record;
        let table = &self.table;
        let whole = || format!("COPY {table}, line {line}: \"{raw}\"");
        if fields.len() > self.columns.len() {
            let error = SessionError::CopyFormat("extra data after last expected column".into());
            return Err(in_context(error.into(), whole()));
        }
        if let Some(missing) = self.columns.get(fields.len()) {
            let message = format!("missing data for column \"{}\"", missing.name);
            return Err(in_context(SessionError::CopyFormat(message).into(), whole()));
        }
        for ((field, column), values) in fields.into_iter().zip(&self.columns).zip(&mut self.values) {
            let bytes = field.as_ref().map(String::as_bytes);
            let value = decode::parameter(1, bytes, Format::Text, &column.sql_type, &self.time_zone);
            values.push(value.map_err(|error| {
                let shown = field.as_deref().unwrap_or("null");
                in_context(
                    error,
                    format!("COPY {table}, line {line}, column {}: \"{shown}\"", column.name),
                )
            })?);
        }
        self.make_full_batch()
    }

    fn make_full_batch(&mut self) -> Result<()> {
        let rows = self.values.first().map_or(0, Vec::len);
        if rows >= BATCH_ROWS {
            self.make_batch()
        } else {
            Ok(())
        }
    }

    fn make_batch(&mut self) -> Result<()> {
        let columns = self
            .values
            .iter_mut()
            .zip(self.schema.fields())
            .map(|(values, field)| {
                let values = std::mem::take(values);
                if values.is_empty() {
                    return Ok(new_empty_array(field.data_type()));
                }
                let array: ArrayRef = ScalarValue::iter_to_array(values)?;
                Ok(match array.data_type() == field.data_type() {
                    true => array,
                    false => arrow::compute::cast(&array, field.data_type())?,
                })
            });
        let batch = RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?)?;
        self.batches.push(batch);
        Ok(())
    }
}

fn in_context(error: Error, context: String) -> Error {
    Error::Copy {
        cause: Box::new(error),
        context,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int32Type;
    use millpond_catalog::SqlType;

    use super::*;

    fn reader(options: CopyOptions) -> Reader {
        let column = |name: &str, sql_type| Column {
            name: name.to_owned(),
            sql_type,
            nullable: true,
            default: None,
        };
        let columns = vec![column("a", SqlType::Int4), column("b", SqlType::Text)];
        Reader::new("t".to_owned(), columns, options, "UTC".to_owned())
    }

    /// The rows of `data`, whichever way it is cut.
    fn read(options: &CopyOptions, data: &str) -> Result<Vec<(Option<i32>, Option<String>)>> {
        let mut last = None;
        for piece in [1, 3, data.len().max(1)] {
            let mut reader = reader(options.clone());
            data.as_bytes()
                .chunks(piece)
                .try_for_each(|piece| reader.push(piece))?;
            let mut rows = Vec::new();
            for batch in reader.finish()? {
                let (a, b) = (
                    batch.column(0).as_primitive::<Int32Type>(),
                    batch.column(1).as_string::<i32>(),
                );
                rows.extend(a.iter().zip(b.iter()).map(|(a, b)| (a, b.map(str::to_owned))));
            }
            assert!(last.is_none() || last.as_ref() == Some(&rows));
            last = Some(rows);
        }
        Ok(last.unwrap_or_default())
    }

    fn row(a: i32, b: &str) -> (Option<i32>, Option<String>) {
        (Some(a), Some(b.to_owned()))
    }

    #[test]
    fn pieces_make_rows() {
        let text = CopyOptions::of_format(false);
        assert_eq!(
            read(&text, "1\tx\n2\t\\N\n\\.\nrest").unwrap(),
            [row(1, "x"), (Some(2), None)]
        );
        let mut csv = CopyOptions::of_format(true);
        csv.header = CopyHeader::Match;
        assert_eq!(
            read(&csv, "a,b\r\n1,\"x\ny\"\r\n,\"\"").unwrap(),
            [row(1, "x\ny"), (None, Some(String::new()))]
        );
    }

    #[test]
    fn errors_say_where() {
        let text = CopyOptions::of_format(false);
        let context = |data: &str| match read(&text, data) {
            Err(Error::Copy { cause, context }) => format!("{cause}; {context}"),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            context("1\tx\ny\tz\n"),
            "invalid input syntax for type integer: \"y\"; COPY t, line 2, column a: \"y\""
        );
        assert_eq!(
            context("1\n"),
            "missing data for column \"b\"; COPY t, line 1: \"1\""
        );
        assert_eq!(
            context("1\t2\t3\n"),
            "extra data after last expected column; COPY t, line 1: \"1\t2\t3\""
        );
    }
}
