//! A snapshot with changes on top that are not committed: what a transaction sees of its own work.

use std::sync::Arc;

use ahash::HashMap;
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;

use super::snapshot::Snapshot;
use crate::change::ChangeBatch;
use crate::error::{Error, Result};
use crate::row_key::RowKeys;

/// Changes to look at a snapshot through.
#[derive(Debug)]
pub struct Overlay {
    keys: RowKeys,
    /// By key: how many rows the changes take away.
    removed: HashMap<Box<[u8]>, u64>,
    /// Rows that the changes add, each as often as it comes.
    added: Vec<RecordBatch>,
}

impl Overlay {
    /// The sum of `changes`, all of `schema`.
    pub fn new(schema: SchemaRef, changes: &[ChangeBatch]) -> Result<Self> {
        let keys = RowKeys::new(schema.clone())?;
        let net = keys.sum(changes)?;
        let mut removed = HashMap::default();
        let mut picks = Vec::new();
        for (row, weight) in net.weights.iter().enumerate() {
            let times = weight.unsigned_abs();
            if *weight < 0 {
                removed.insert(Box::from(net.key(row)), times);
            } else {
                picks.extend((0..times).map(|_| (0, row)));
            }
        }
        let added = match picks.is_empty() {
            true => Vec::new(),
            false => vec![crate::row_key::gather(&schema, &[&net.rows], &picks)?],
        };
        Ok(Self { keys, removed, added })
    }

    /// The rows of `snapshot` that the changes leave, then those that they add. Every scan gives them in the same order.
    pub fn scan(
        self: &Arc<Self>,
        snapshot: &Arc<Snapshot>,
    ) -> impl Iterator<Item = Result<RecordBatch>> + Send + use<> {
        let overlay = Arc::clone(self);
        let mut removed = self.removed.clone();
        let left = snapshot
            .scan()
            .map(move |batch| overlay.leave(batch?, &mut removed));
        left.chain(self.added.clone().into_iter().map(Ok))
    }

    fn leave(&self, batch: RecordBatch, removed: &mut HashMap<Box<[u8]>, u64>) -> Result<RecordBatch> {
        if removed.is_empty() {
            return Ok(batch);
        }
        let keys = self.keys.keys(&batch)?;
        let stays = |row: usize| {
            let Some(times) = removed.get_mut(keys.key(row)) else {
                return true;
            };
            *times -= 1;
            if *times == 0 {
                removed.remove(keys.key(row));
            }
            false
        };
        let mask: BooleanArray = (0..batch.num_rows()).map(stays).map(Some).collect();
        filter_record_batch(&batch, &mask)
            .map_err(|error| Error::Invalid(format!("rows cannot be filtered: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::cut::Cut;
    use crate::relation::builder::Builder;

    fn rows(numbers: &[i64]) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    #[test]
    fn changes_that_are_not_committed_are_seen() {
        let schema = rows(&[]).schema();
        let mut builder = Builder::new(schema.clone(), false);
        builder
            .apply(&[ChangeBatch::insertions(rows(&[1, 2, 2, 2, 3]))])
            .unwrap();
        let snapshot = builder.snapshot(Cut(1));
        let changes = [
            ChangeBatch::retractions(rows(&[2, 2, 3, 9])),
            ChangeBatch::insertions(rows(&[9, 7, 7])),
        ];
        let overlay = Arc::new(Overlay::new(schema, &changes).unwrap());
        let mut seen = Vec::new();
        for batch in overlay.scan(&snapshot) {
            seen.extend_from_slice(batch.unwrap().column(0).as_primitive::<Int64Type>().values());
        }
        assert_eq!(seen, [1, 2, 7, 7]);
    }
}
