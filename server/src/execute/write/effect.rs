//! What a statement does to its table, out of the rows of its query.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Int64Type, Schema};
use millpond_sql::plan::{Write, WriteAction};
use millpond_storage::ChangeBatch;

use super::checks::Checks;
use crate::error::{Error, Result};

/// What a statement does to its table.
#[derive(Default)]
pub(super) struct Effect {
    pub changes: Vec<ChangeBatch>,
    /// New rows.
    pub new: Vec<RecordBatch>,
    /// The rows that RETURNING sees.
    pub written: Vec<RecordBatch>,
    pub count: u64,
}

impl Effect {
    /// Takes in rows of the statement's query; `met` are the numbers of the rows that came before.
    pub fn add(
        &mut self,
        write: &Write,
        checks: &Checks<'_>,
        met: &mut HashSet<i64>,
        batch: &RecordBatch,
    ) -> Result<()> {
        let width = checks.table.columns.len();
        let schema = checks.table.schema();
        let (rows, batch, first) = match write.action {
            WriteAction::Insert => {
                self.insert(checks.apply(batch)?);
                return Ok(());
            }
            WriteAction::Update | WriteAction::Delete => {
                let batch = first_of_each(batch, met)?;
                let columns = |first: usize| (first..first + width).collect::<Vec<_>>();
                let old = RecordBatch::try_new(schema, batch.columns()[1..=width].to_vec())?;
                self.changes.push(ChangeBatch::retractions(old.clone()));
                if write.action == WriteAction::Delete {
                    (old, batch, 1 + width)
                } else {
                    let new = checks.apply(&batch.project(&columns(1 + width))?)?;
                    self.changes.push(ChangeBatch::insertions(new.clone()));
                    self.new.push(new.clone());
                    (new, batch, 1 + 2 * width)
                }
            }
        };
        self.count += rows.num_rows() as u64;
        if write.returning.is_some() {
            self.written.push(beside(&rows, &batch, first)?);
        }
        Ok(())
    }

    /// Takes in new rows.
    pub fn insert(&mut self, rows: RecordBatch) {
        if rows.num_rows() == 0 {
            return;
        }
        self.count += rows.num_rows() as u64;
        self.changes.push(ChangeBatch::insertions(rows.clone()));
        self.written.push(rows.clone());
        self.new.push(rows);
    }
}

/// The rows whose number, in the first column, did not come before.
fn first_of_each(batch: &RecordBatch, met: &mut HashSet<i64>) -> Result<RecordBatch> {
    let numbers = batch.column(0).as_primitive_opt::<Int64Type>();
    let numbers = numbers.ok_or_else(|| Error::Bug("the rows of a table have no numbers".into()))?;
    let keep: BooleanArray = numbers
        .values()
        .iter()
        .map(|number| Some(met.insert(*number)))
        .collect();
    if keep.true_count() == keep.len() {
        return Ok(batch.clone());
    }
    Ok(filter_record_batch(batch, &keep)?)
}

/// Rows of the table with the columns of `batch` from `first` on beside them.
fn beside(rows: &RecordBatch, batch: &RecordBatch, first: usize) -> Result<RecordBatch> {
    let schema = rows.schema();
    let batch_schema = batch.schema();
    let others = batch_schema.fields().iter().skip(first).cloned();
    let fields: Vec<Arc<Field>> = schema.fields().iter().cloned().chain(others).collect();
    let columns = rows.columns().iter().chain(&batch.columns()[first..]).cloned();
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.collect(),
    )?)
}
