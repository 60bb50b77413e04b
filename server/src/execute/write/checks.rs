//! What a table asks of new rows: no NULL where it is forbidden, texts that fit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::Schema;
use millpond_catalog::Object;
use millpond_sql::plan::RowChecks;

use crate::error::{Error, Result, ValueError};
use crate::pg::encode::{Style, text_values};

/// Bytes of a value that an error shows.
const VALUE_BYTES: usize = 64;

/// A table and what it asks.
pub(super) struct Checks<'a> {
    pub table: &'a Object,
    pub rows: &'a RowChecks,
    /// How values print in errors.
    pub style: &'a Style,
}

impl Checks<'_> {
    /// The batch in the table's own schema.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.table.schema();
        for column in &self.rows.not_null {
            if let Some(nulls) = batch.column(*column).logical_nulls()
                && let Some(row) = (0..batch.num_rows()).find(|row| nulls.is_null(*row))
            {
                return Err(ValueError::NotNull {
                    relation: self.table.name.name.clone(),
                    schema: self.table.name.schema.clone(),
                    column: schema.field(*column).name().clone(),
                    row: row_text(&self.in_schema(batch)?, row, self.style)?,
                }
                .into());
            }
        }
        let mut columns = self.stored(batch)?;
        for (column, length) in &self.rows.max_length {
            columns[*column] = fit(&columns[*column], *length)?;
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }

    /// The columns in the types of the table.
    fn stored(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let schema = self.table.schema();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (array, field) in batch.columns().iter().zip(schema.fields()) {
            let same = array.data_type() == field.data_type();
            columns.push(if same {
                array.clone()
            } else {
                cast(array, field.data_type())?
            });
        }
        Ok(columns)
    }

    /// The batch as rows of the table, NULL or not.
    fn in_schema(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.table.schema();
        let fields = schema.fields().iter();
        let nullable = fields.map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
        let schema = Arc::new(Schema::new(nullable.collect::<Vec<_>>()));
        Ok(RecordBatch::try_new(schema, self.stored(batch)?)?)
    }
}

/// The values of a row with commas between them, as errors show them.
pub(super) fn row_text(rows: &RecordBatch, row: usize, style: &Style) -> Result<String> {
    let schema = rows.schema();
    let rows = rows.slice(row, 1);
    let values = rows.columns().iter().zip(schema.fields()).map(|(column, field)| {
        let text = text_values(column, field, style)?;
        Ok(match text.is_null(0) {
            true => "null".to_owned(),
            false => shortened(text.value(0)),
        })
    });
    Ok(values.collect::<Result<Vec<String>>>()?.join(", "))
}

/// Long values show their first 64 bytes.
fn shortened(text: &str) -> String {
    if text.len() <= VALUE_BYTES {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(VALUE_BYTES)])
}

/// Texts of at most `length` characters: blanks beyond are cut off, anything else beyond is an error.
fn fit(array: &ArrayRef, length: u32) -> Result<ArrayRef> {
    let Some(texts) = array.as_string_opt::<i32>() else {
        return Err(Error::Bug(format!(
            "a varchar is never stored as {}",
            array.data_type()
        )));
    };
    let length_max = length as usize;
    // Bytes are at least as many as characters.
    if texts.iter().flatten().all(|text| text.len() <= length_max) {
        return Ok(array.clone());
    }
    let fitted = texts
        .iter()
        .map(|text| {
            let Some(text) = text else { return Ok(None) };
            match text.char_indices().nth(length_max) {
                None => Ok(Some(text)),
                Some((end, _)) if text[end..].bytes().all(|b| b == b' ') => Ok(Some(&text[..end])),
                Some(_) => Err(ValueError::TooLong(length)),
            }
        })
        .collect::<Result<StringArray, ValueError>>()?;
    Ok(Arc::new(fitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(text: &str, length: u32) -> Result<String> {
        let array: ArrayRef = Arc::new(StringArray::from(vec![Some(text), None]));
        let fitted = fit(&array, length)?;
        assert!(fitted.is_null(1));
        Ok(fitted.as_string::<i32>().value(0).to_owned())
    }

    #[test]
    fn lengths_count_characters_and_blanks_beyond_are_cut() {
        assert_eq!(fitted("abc", 3).unwrap(), "abc");
        assert_eq!(fitted("ééé", 3).unwrap(), "ééé");
        assert_eq!(fitted("ab   ", 3).unwrap(), "ab ");
        assert!(matches!(
            fitted("abcd", 3),
            Err(Error::Value(ValueError::TooLong(3)))
        ));
    }
}
