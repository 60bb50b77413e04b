//! Rows that are there from the first epoch on and never change.

use arrow::array::RecordBatch;
use millpond_storage::ChangeBatch;

use crate::epoch::{Epoch, OperatorContext};
use crate::error::Result;
use crate::operator::{Operator, Output};

/// The first of the workers has all the rows.
pub(crate) struct Constant {
    rows: RecordBatch,
}

impl Constant {
    pub fn new(rows: RecordBatch) -> Self {
        Self { rows }
    }
}

impl Operator for Constant {
    fn push(&mut self, _port: usize, _changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        Ok(())
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        if context.epoch == Epoch(0) && context.worker == 0 {
            output.send(ChangeBatch::insertions(self.rows.clone()));
        }
        Ok(())
    }
}
