//! The first rows of a group, read off its order without looking at the others.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, UInt64Array};
use millpond_storage::ChangeBatch;

use crate::error::Result;
use crate::operator::map::record_batch;
use crate::operator::recompute::keyed_rows::{KeyedRows, Row};
use crate::operator::recompute::spec::{FirstRows, Ranking, RecomputeSpec};

/// A run of equal rows of a group with their numbers: `number` is that of the first, and of the others too unless rows
/// are counted one by one.
struct Numbered<'a> {
    row: Row<'a>,
    number: u64,
    copies: u64,
}

/// Numbers the rows of a group; rows that are not there have no number.
fn numbered<'a>(ranking: Ranking, rows: impl Iterator<Item = Row<'a>>) -> impl Iterator<Item = Numbered<'a>> {
    let (mut before, mut number) = (0_u64, 0_u64);
    let mut last: Option<&[u8]> = None;
    rows.filter(|row| row.weight() > 0).map(move |row| {
        let copies = row.weight().unsigned_abs();
        let is_peer = last == Some(row.order());
        number = match ranking {
            Ranking::RowNumber => before + 1,
            Ranking::Rank if is_peer => number,
            Ranking::Rank => before + 1,
            Ranking::DenseRank if is_peer => number,
            Ranking::DenseRank => number + 1,
        };
        last = Some(row.order());
        before += copies;
        Numbered { row, number, copies }
    })
}

impl FirstRows {
    /// The result of some groups: their rows, as insertions.
    pub(super) fn of<'a>(
        &self,
        spec: &RecomputeSpec,
        state: &KeyedRows,
        groups: impl Iterator<Item = impl Iterator<Item = Row<'a>>>,
    ) -> Result<ChangeBatch> {
        let to = self.to.unwrap_or(u64::MAX);
        let (mut rows, mut numbers, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups {
            for Numbered { row, number, copies } in
                numbered(self.ranking, group).take_while(|numbered| numbered.number <= to)
            {
                let last = match self.ranking {
                    Ranking::RowNumber => number + (copies - 1),
                    Ranking::Rank | Ranking::DenseRank => number,
                };
                if last < self.from {
                    continue;
                }
                match self.ranking {
                    Ranking::RowNumber if self.numbered => {
                        for number in number.max(self.from)..=last.min(to) {
                            rows.push(row);
                            numbers.push(number);
                            weights.push(1);
                        }
                    }
                    Ranking::RowNumber => {
                        rows.push(row);
                        weights.push((last.min(to) - number.max(self.from) + 1) as i64);
                    }
                    Ranking::Rank | Ranking::DenseRank => {
                        rows.push(row);
                        numbers.push(number);
                        weights.push(row.weight());
                    }
                }
            }
        }
        let length = rows.len();
        let input = state.decode(rows.into_iter())?;
        let mut columns: Vec<ArrayRef> = self
            .columns
            .iter()
            .map(|column| Arc::clone(input.column(*column)))
            .collect();
        if self.numbered {
            columns.push(Arc::new(UInt64Array::from(numbers)));
        }
        let rows = record_batch(&spec.output, columns, length)?;
        Ok(ChangeBatch::new(rows, Int64Array::from(weights)))
    }

    /// The rows of a group that can never be among the first again if rows are only added.
    pub(super) fn beyond<'a>(&self, group: impl Iterator<Item = Row<'a>>) -> Vec<Box<[u8]>> {
        let Some(to) = self.to else { return Vec::new() };
        numbered(self.ranking, group)
            .filter(|numbered| numbered.number > to)
            .map(|numbered| numbered.row.encoded().into())
            .collect()
    }
}
