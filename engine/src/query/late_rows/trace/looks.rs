//! What rows look like, as bytes that are equal for equal rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use arrow::row::{RowConverter, SortField};

use crate::error::Result;
use crate::expression::row_as_json;

pub(super) struct Looks {
    /// `None` for rows with a type that it does not know.
    converter: Option<RowConverter>,
    /// The rows that were asked for last.
    last: Option<(Arc<RecordBatch>, Vec<Vec<u8>>)>,
}

impl Looks {
    /// Of rows with these columns; which of them may be NULL does not matter.
    pub(super) fn new(schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields: Vec<SortField> = fields
            .map(|field| SortField::new(field.data_type().clone()))
            .collect();
        let known = RowConverter::supports_fields(&fields);
        Ok(Self {
            converter: known.then(|| RowConverter::new(fields)).transpose()?,
            last: None,
        })
    }

    pub(super) fn of_all(&self, rows: &RecordBatch) -> Result<Vec<Vec<u8>>> {
        if let Some(converter) = &self.converter
            && rows.num_columns() > 0
        {
            let columns: &[ArrayRef] = rows.columns();
            let rows = converter.convert_columns(columns)?;
            return Ok(rows.iter().map(|row| row.as_ref().to_vec()).collect());
        }
        Ok((0..rows.num_rows()).map(|row| row_as_json(rows, row)).collect())
    }

    /// Of one row; neighbours mostly share their batch.
    pub(super) fn of_shared(&mut self, rows: &Arc<RecordBatch>, row: usize) -> Result<Vec<u8>> {
        if let Some((last, looks)) = &self.last
            && Arc::ptr_eq(last, rows)
        {
            return Ok(looks[row].clone());
        }
        let looks = self.of_all(rows)?;
        let look = looks[row].clone();
        self.last = Some((Arc::clone(rows), looks));
        Ok(look)
    }
}
