//! Change batches: rows with weights, the one form in which data moves between relations, operators and disk.
//!
//! A change `(row, +n)` adds the row n times, `(row, -n)` takes it away n times. A relation is the sum of its changes, so
//! batches may arrive in any order within an epoch, and adjacent ranges of a log may be summed into one.

use arrow::array::{Array, Int64Array, RecordBatch};
use arrow::compute::{SlicesIterator, filter_record_batch};
use arrow::datatypes::SchemaRef;

/// Rows and how often each is added or removed.
///
/// Invariant: weights, where present, are as many as the rows, not null, and none is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeBatch {
    rows: RecordBatch,
    /// `None` = every row counts +1, which is what sources and append-only relations produce.
    weights: Option<Int64Array>,
}

impl ChangeBatch {
    /// Every row added once.
    pub fn insertions(rows: RecordBatch) -> Self {
        Self { rows, weights: None }
    }

    /// Every row taken away once.
    pub fn retractions(rows: RecordBatch) -> Self {
        let weights = Int64Array::from(vec![-1; rows.num_rows()]);
        Self {
            rows,
            weights: Some(weights),
        }
    }

    /// Rows with their weights; rows of weight zero are left out.
    pub fn new(rows: RecordBatch, weights: Int64Array) -> Self {
        assert_eq!(rows.num_rows(), weights.len(), "a weight per row");
        assert_eq!(weights.null_count(), 0, "weights are never null");
        if weights.values().contains(&0) {
            let keep = weights
                .values()
                .iter()
                .map(|w| Some(*w != 0))
                .collect::<arrow::array::BooleanArray>();
            let rows = filter_record_batch(&rows, &keep).expect("a mask of the batch's own length");
            let mut kept = Vec::with_capacity(rows.num_rows());
            for (start, end) in SlicesIterator::new(&keep) {
                kept.extend_from_slice(&weights.values()[start..end]);
            }
            return Self {
                rows,
                weights: Some(kept.into()),
            };
        }
        Self {
            rows,
            weights: Some(weights),
        }
    }

    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// `None` when every row counts +1.
    pub fn weights(&self) -> Option<&Int64Array> {
        self.weights.as_ref()
    }

    pub fn weight(&self, row: usize) -> i64 {
        self.weights.as_ref().map_or(1, |w| w.value(row))
    }

    pub fn into_parts(self) -> (RecordBatch, Option<Int64Array>) {
        (self.rows, self.weights)
    }

    pub fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// Number of distinct entries, not the sum of weights.
    pub fn num_rows(&self) -> usize {
        self.rows.num_rows()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.num_rows() == 0
    }

    /// Bytes of the rows' buffers, shared ones counted in full.
    pub fn memory_size(&self) -> usize {
        self.rows.get_array_memory_size() + self.weights.as_ref().map_or(0, |w| w.get_array_memory_size())
    }

    /// The same weights over other rows, for operators that map row by row.
    pub fn with_rows(&self, rows: RecordBatch) -> Self {
        assert_eq!(rows.num_rows(), self.rows.num_rows(), "one row out per row in");
        Self {
            rows,
            weights: self.weights.clone(),
        }
    }

    /// Rows `offset..offset + length`, without copying.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        Self {
            rows: self.rows.slice(offset, length),
            weights: self.weights.as_ref().map(|w| w.slice(offset, length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::ArrayRef;

    use super::*;

    fn rows(numbers: &[i64]) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    #[test]
    fn rows_of_weight_zero_are_left_out() {
        let changes = ChangeBatch::new(rows(&[1, 2, 3, 4]), vec![1, 0, -2, 0].into());
        assert_eq!(changes, ChangeBatch::new(rows(&[1, 3]), vec![1, -2].into()));
        assert!(ChangeBatch::new(rows(&[1]), vec![0].into()).is_empty());
    }

    #[test]
    fn a_slice_keeps_the_weights_of_its_rows() {
        let changes = ChangeBatch::new(rows(&[1, 2, 3]), vec![1, 5, -2].into()).slice(1, 2);
        assert_eq!((changes.weight(0), changes.weight(1)), (5, -2));
        assert_eq!(ChangeBatch::insertions(rows(&[1, 2])).slice(1, 1).weight(0), 1);
        assert_eq!(ChangeBatch::retractions(rows(&[1, 2])).weight(1), -1);
    }
}
