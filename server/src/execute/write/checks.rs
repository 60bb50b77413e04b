//! What a table asks of new rows: no NULL where it is forbidden, texts that fit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use millpond_catalog::Object;
use millpond_sql::plan::RowChecks;

use crate::error::{Error, Result, ValueError};

/// A table and what it asks.
pub(super) struct Checks<'a> {
    pub table: &'a Object,
    pub rows: &'a RowChecks,
}

impl Checks<'_> {
    /// The batch in the table's own schema.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.table.schema();
        for column in &self.rows.not_null {
            if batch.column(*column).logical_null_count() > 0 {
                return Err(ValueError::NotNull {
                    relation: self.table.name.name.clone(),
                    schema: self.table.name.schema.clone(),
                    column: schema.field(*column).name().clone(),
                }
                .into());
            }
        }
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (array, field) in batch.columns().iter().zip(schema.fields()) {
            let same = array.data_type() == field.data_type();
            columns.push(if same {
                array.clone()
            } else {
                cast(array, field.data_type())?
            });
        }
        for (column, length) in &self.rows.max_length {
            columns[*column] = fit(&columns[*column], *length)?;
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }
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
