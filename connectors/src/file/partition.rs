//! Columns whose values stand in the path: `date=2026-01-01/hour=03/part-0.parquet`.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use millpond_catalog::Column;

use crate::format::rows::projected_schema;
use crate::format::{OnBadRow, value_of_text};

/// What Hive and Spark write for NULL.
pub const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// Declared columns, by position, and their text in a path, ascending; `None` is NULL.
pub type PathValues = Vec<(usize, Option<String>)>;

/// The name of a folder that stands for a value.
pub fn key_and_value(name: &str) -> Option<(&str, &str)> {
    name.split_once('=').filter(|(key, _)| !key.is_empty())
}

/// The columns that the folders of `path` name; an inner folder wins over an outer one.
pub fn values(path: &str, columns: &[Column]) -> PathValues {
    let folders = Path::new(path).parent().map(Path::components);
    let mut found = vec![None; columns.len()];
    for folder in folders.into_iter().flatten() {
        let folder = folder.as_os_str().to_string_lossy();
        let Some((key, value)) = key_and_value(&folder) else {
            continue;
        };
        let key = percent_decoded(key);
        let exact = columns.iter().position(|column| column.name == key);
        let column = exact.or_else(|| {
            columns
                .iter()
                .position(|column| column.name.eq_ignore_ascii_case(&key))
        });
        if let Some(column) = column {
            found[column] = Some((value != NULL_NAME).then(|| percent_decoded(value)));
        }
    }
    let named = found.into_iter().enumerate();
    named
        .filter_map(|(column, value)| value.map(|value| (column, value)))
        .collect()
}

/// `%3A` and its like become the characters they stand for; what is no such thing stays.
fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let code = (*byte == b'%')
            .then(|| std::str::from_utf8(after.get(..2)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Adds the columns of the path to the rows of a file.
#[derive(Debug, Clone)]
pub struct PathColumns {
    /// Of the rows with them.
    schema: SchemaRef,
    /// Positions in the declared columns that the file itself has to give.
    pub content: Vec<usize>,
    /// Positions in the declared columns that the path gives, wanted or not.
    pub from_path: Vec<usize>,
    /// Where in the projection, and the value as an array of one.
    values: Vec<(usize, ArrayRef)>,
}

impl PathColumns {
    /// Fails when a value of the path does not fit its column.
    pub fn new(
        columns: &[Column],
        projection: &[usize],
        values: &PathValues,
        on_bad_row: OnBadRow,
    ) -> Result<PathColumns, String> {
        let mut arrays = Vec::new();
        for (place, column) in projection.iter().enumerate() {
            let Some((_, text)) = values.iter().find(|(named, _)| named == column) else {
                continue;
            };
            let column = &columns[*column];
            let value = match value_of_text(column, text.as_deref()) {
                Err(_) if on_bad_row == OnBadRow::Null => value_of_text(column, None),
                value => value,
            };
            arrays.push((place, value.map_err(|error| format!("in the path: {error}"))?));
        }
        let named = |column: &usize| values.iter().any(|(named, _)| named == column);
        Ok(PathColumns {
            schema: projected_schema(columns, projection),
            content: projection
                .iter()
                .copied()
                .filter(|column| !named(column))
                .collect(),
            from_path: values.iter().map(|(column, _)| *column).collect(),
            values: arrays,
        })
    }

    /// `rows` has the columns that the file gives.
    pub fn add(&self, rows: RecordBatch) -> RecordBatch {
        if self.values.is_empty() {
            return rows;
        }
        let repeat = UInt64Array::from(vec![0; rows.num_rows()]);
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        for (place, value) in &self.values {
            let repeated = take(value.as_ref(), &repeat, None).expect("the first of one value");
            columns.insert(*place, repeated);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .expect("columns of the path put in their places")
    }
}

#[cfg(test)]
mod tests;
