//! Rows to bytes for the client.

use arrow::array::{Array, RecordBatch, StringArray};
use arrow::datatypes::Field;
use millpond_sql::plan::OutputColumn;
use millpond_sql::statement::{CopyHeader, CopyOptions};

use super::{binary, csv, text};
use crate::error::Result;
use crate::pg::encode::{RowEncoder, Style, text_values};
use crate::pg::format::Format;

/// Makes a line of each row.
pub struct Writer {
    fields: Vec<Field>,
    options: CopyOptions,
    style: Style,
    /// For the binary format.
    encoder: Option<RowEncoder>,
}

impl Writer {
    pub fn new(columns: &[OutputColumn], options: CopyOptions, style: Style) -> Self {
        let fields = columns.iter().map(|c| c.sql_type.field(&c.name, true));
        let types = columns.iter().map(|c| c.sql_type.clone());
        let encoder = options
            .binary
            .then(|| RowEncoder::new(types, &[Format::Binary], style.clone()));
        Self {
            encoder,
            fields: fields.collect(),
            options,
            style,
        }
    }

    /// The form of the values.
    pub fn format(&self) -> Format {
        match self.encoder {
            Some(_) => Format::Binary,
            None => Format::Text,
        }
    }

    /// What comes first: the names of the columns where they are asked for, the signature of the binary format.
    pub fn header(&self) -> Option<Vec<u8>> {
        if self.encoder.is_some() {
            return Some(binary::header());
        }
        if self.options.header == CopyHeader::Absent {
            return None;
        }
        let names = self.fields.iter().map(|field| Some(field.name().as_str()));
        Some(self.line(names))
    }

    /// What comes last.
    pub fn trailer(&self) -> Option<Vec<u8>> {
        self.encoder.as_ref().map(|_| binary::trailer())
    }

    /// The lines of a batch.
    pub fn lines(&self, batch: &RecordBatch) -> Result<Vec<Vec<u8>>> {
        if let Some(encoder) = &self.encoder {
            return binary::rows(encoder, batch);
        }
        let columns = batch.columns().iter().zip(&self.fields);
        let columns = columns.map(|(column, field)| text_values(column, field, &self.style));
        let columns = columns.collect::<Result<Vec<StringArray>>>()?;
        let value =
            |column: &StringArray, row: usize| column.is_valid(row).then(|| column.value(row).to_owned());
        Ok((0..batch.num_rows())
            .map(|row| {
                let values: Vec<_> = columns.iter().map(|column| value(column, row)).collect();
                self.line(values.iter().map(Option::as_deref))
            })
            .collect())
    }

    fn line<'a>(&self, values: impl Iterator<Item = Option<&'a str>>) -> Vec<u8> {
        let mut line = Vec::new();
        for (i, value) in values.enumerate() {
            if i > 0 {
                line.push(self.options.delimiter);
            }
            match value {
                None => line.extend(self.options.null.bytes()),
                Some(value) if self.options.csv => csv::write(value, &self.options, &mut line),
                Some(value) => text::write(value, self.options.delimiter, &mut line),
            }
        }
        line.push(b'\n');
        line
    }
}
