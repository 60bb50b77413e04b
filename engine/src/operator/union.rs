//! All changes of all inputs.

use arrow::datatypes::SchemaRef;
use millpond_storage::ChangeBatch;

use crate::error::Result;
use crate::operator::map::record_batch;
use crate::operator::{Operator, Output};

/// Names and nullability may differ between the inputs; the union's schema wins.
pub(crate) struct Union {
    schema: SchemaRef,
}

impl Union {
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema }
    }
}

impl Operator for Union {
    fn push(&mut self, _port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        let rows = record_batch(
            &self.schema,
            changes.rows().columns().to_vec(),
            changes.num_rows(),
        )?;
        output.send(changes.with_rows(rows));
        Ok(())
    }
}
