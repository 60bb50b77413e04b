//! Builds the rows of a system table from named values.
//!
//! A row names only the columns that say something; the others are NULL, or the zero of their type where the definition
//! says not null.

use std::collections::HashMap;

use arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::error::{DataFusionError, Result};

use super::definition::SystemTable;
pub use super::value::Value;
use super::value::array;

/// The rows of one table, in the making.
pub struct Rows {
    table: &'static SystemTable,
    positions: HashMap<&'static str, usize>,
    columns: Vec<Vec<Value>>,
    error: Option<DataFusionError>,
}

impl Rows {
    pub fn new(table: &'static SystemTable) -> Self {
        let positions = table
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| (c.name.as_str(), i))
            .collect();
        Self {
            table,
            positions,
            columns: vec![Vec::new(); table.columns.len()],
            error: None,
        }
    }

    /// Adds a row. Values for columns that the table does not have are left out, so that tables which show the same
    /// things with different columns can share the code that fills them.
    pub fn add<const N: usize>(&mut self, values: [(&str, Value); N]) {
        let mut row: Vec<Option<Value>> = vec![None; self.columns.len()];
        for (name, value) in values {
            if let Some(&position) = self.positions.get(name) {
                row[position] = Some(value);
            }
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value.unwrap_or(Value::Null));
        }
    }

    /// Makes the table unreadable: what its rows come from could not be read.
    pub fn fail(&mut self, error: DataFusionError) {
        self.error.get_or_insert(error);
    }

    /// # Errors
    /// The first one that [`Rows::fail`] was told.
    pub fn finish(self) -> Result<RecordBatch> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let rows = self.columns.first().map_or(0, Vec::len);
        let arrays = self
            .table
            .columns
            .iter()
            .zip(&self.columns)
            .map(|(c, values)| array(&c.sql_type.arrow(), c.nullable, values))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(
            self.table.arrow.clone(),
            arrays,
            &options,
        )?)
    }
}
