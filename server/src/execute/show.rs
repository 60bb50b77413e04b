//! SHOW: an answer that planning has found already.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use millpond_sql::plan::{OutputColumn, Rows};

use crate::error::Result;
use crate::outcome::{Outcome, RowsTag};

pub(super) fn show(rows: Rows) -> Result<Outcome> {
    text_rows(rows.columns, &rows.rows, RowsTag::Fixed("SHOW"))
}

/// Rows of text.
pub(super) fn text_rows(
    columns: Vec<OutputColumn>,
    rows: &[Vec<Option<String>>],
    tag: RowsTag,
) -> Result<Outcome> {
    let fields: Vec<_> = columns
        .iter()
        .map(|c| Field::new(&c.name, DataType::Utf8, true))
        .collect();
    let arrays = (0..columns.len())
        .map(|i| {
            Arc::new(
                rows.iter()
                    .map(|row| row.get(i).cloned().flatten())
                    .collect::<StringArray>(),
            ) as ArrayRef
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?;
    Ok(Outcome::batch(columns, batch, tag))
}
