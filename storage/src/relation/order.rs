//! Orders of a segment's rows by some of its columns: what reads through an index search.
//!
//! An order is made when it is first asked for and lives as long as its segment. Rows never change in a segment, and
//! segments are summed as the relation grows, so each row is ordered about as often as it is copied.

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};

/// The rows that have given values in the first columns of an order and lie between bounds in the next.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// Positions of the columns that the order is by.
    pub columns: Vec<usize>,
    /// Values of the first columns, each of one row.
    pub equal: Vec<ArrayRef>,
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
}

/// The end of a range in the column behind the equal ones.
#[derive(Debug, Clone)]
pub struct Bound {
    /// Of one row.
    pub value: ArrayRef,
    pub inclusive: bool,
}

/// Positions of rows, sorted.
#[derive(Debug)]
pub(crate) struct Order {
    keys: Rows,
    rows: Vec<u32>,
}

impl Order {
    pub(crate) fn new(batch: &RecordBatch, columns: &[usize]) -> Result<Order, ArrowError> {
        let columns: Vec<ArrayRef> = columns
            .iter()
            .map(|column| batch.column(*column).clone())
            .collect();
        let keys = encode(&columns)?;
        let mut rows: Vec<u32> =
            (0..u32::try_from(batch.num_rows()).expect("a segment has less than 4 G rows")).collect();
        rows.sort_unstable_by(|a, b| keys.row(*a as usize).cmp(&keys.row(*b as usize)));
        Ok(Order { keys, rows })
    }

    /// The rows of the range, and NULLs of its last column where it has no lower bound. In no order.
    pub(crate) fn find(&self, range: &KeyRange) -> Result<&[u32], ArrowError> {
        let key = |bound: Option<&Bound>| {
            let mut columns = range.equal.clone();
            columns.extend(bound.map(|bound| bound.value.clone()));
            match columns.is_empty() {
                true => Ok(Vec::new()),
                false => Ok::<_, ArrowError>(encode(&columns)?.row(0).as_ref().to_vec()),
            }
        };
        let below = |lower: &[u8], inclusive: bool| {
            self.rows.partition_point(|row| match self.compare(*row, lower) {
                Ordering::Less => true,
                Ordering::Equal => !inclusive,
                Ordering::Greater => false,
            })
        };
        let is_inclusive = |bound: Option<&Bound>| bound.is_none_or(|bound| bound.inclusive);
        let (lower, upper) = (range.lower.as_ref(), range.upper.as_ref());
        let start = below(&key(lower)?, is_inclusive(lower));
        let end = below(&key(upper)?, !is_inclusive(upper));
        Ok(self.rows.get(Range { start, end }).unwrap_or_default())
    }

    /// Columns are encoded one after the other and none is the beginning of another, so as much of a row as the key has
    /// stands for the key's columns.
    fn compare(&self, row: u32, key: &[u8]) -> Ordering {
        let row = self.keys.row(row as usize);
        let row = row.as_ref();
        row[..key.len().min(row.len())].cmp(key)
    }
}

fn encode(columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
    let fields = columns
        .iter()
        .map(|column| SortField::new(column.data_type().clone()));
    RowConverter::new(fields.collect())?.convert_columns(columns)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn ranges_hold_what_a_filter_keeps() {
        let numbers: Vec<Option<i64>> = (0..200).map(|n| (n % 7 != 0).then_some(n * 37 % 20)).collect();
        let texts: Vec<String> = (0..200).map(|n| "ab".repeat(n % 30)).collect();
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("n", Arc::new(Int64Array::from(numbers.clone())) as ArrayRef, true),
            ("s", Arc::new(StringArray::from(texts.clone())), true),
        ])
        .unwrap();
        let order = Order::new(&batch, &[0, 1]).unwrap();
        let number = |n: i64| Arc::new(Int64Array::from(vec![n])) as ArrayRef;
        let text = |s: &str| Arc::new(StringArray::from(vec![s])) as ArrayRef;
        let found = |range: KeyRange| {
            let mut rows = order.find(&range).unwrap().to_vec();
            rows.sort_unstable();
            rows
        };
        let expected = |keep: &dyn Fn(i64, &str) -> bool| {
            let rows = numbers.iter().zip(&texts).enumerate();
            rows.filter(|(_, (n, s))| n.is_some_and(|n| keep(n, s)))
                .map(|(row, _)| row as u32)
                .collect::<Vec<_>>()
        };
        let range = |equal, lower, upper| KeyRange {
            columns: vec![0, 1],
            equal,
            lower,
            upper,
        };
        for value in [-1, 0, 7, 19, 25] {
            let at = |inclusive| {
                Some(Bound {
                    value: number(value),
                    inclusive,
                })
            };
            assert_eq!(
                found(range(vec![number(value)], None, None)),
                expected(&|n, _| n == value)
            );
            assert_eq!(found(range(vec![], at(true), None)), expected(&|n, _| n >= value));
            assert_eq!(found(range(vec![], at(false), None)), expected(&|n, _| n > value));
            let above = Some(Bound {
                value: number(-5),
                inclusive: true,
            });
            assert_eq!(
                found(range(vec![], above.clone(), at(true))),
                expected(&|n, _| n <= value)
            );
            assert_eq!(
                found(range(vec![], above, at(false))),
                expected(&|n, _| n < value)
            );
            for bound in ["", "abab", "abababababababababababababababab", "b"] {
                let at = |inclusive| {
                    Some(Bound {
                        value: text(bound),
                        inclusive,
                    })
                };
                let both = vec![number(value), text(bound)];
                assert_eq!(
                    found(range(both, None, None)),
                    expected(&|n, s| n == value && s == bound)
                );
                let lower = range(vec![number(value)], at(false), None);
                assert_eq!(found(lower), expected(&|n, s| n == value && s > bound));
                let upper = range(vec![number(value)], None, at(true));
                assert_eq!(found(upper), expected(&|n, s| n == value && s <= bound));
            }
        }
        // Bounds that leave nothing.
        let (low, high) = (
            Some(Bound {
                value: number(9),
                inclusive: true,
            }),
            Some(Bound {
                value: number(3),
                inclusive: true,
            }),
        );
        assert!(found(range(vec![], low, high)).is_empty());
    }
}
