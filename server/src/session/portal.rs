//! Prepared statements, and portals: statements with their parameters bound, whose rows can be fetched in pieces.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use millpond_catalog::SqlType;
use millpond_sql::ParsedStatement;
use millpond_sql::plan::OutputColumn;
use millpond_sql::statement::Direction;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::Result;
use crate::execute::Planned;
use crate::outcome::{RowStream, RowsTag};
use crate::pg::format::Format;

/// A statement that was parsed and planned once to learn its types.
#[derive(Debug, Clone)]
pub struct PreparedStatement {
    /// `None` for a text without a statement.
    pub statement: Option<ParsedStatement>,
    /// Types the client gave, to plan it again with.
    pub declared: Vec<Option<SqlType>>,
    /// Types of all parameters.
    pub parameters: Vec<SqlType>,
    /// Columns of the result; `None` when there is none.
    pub columns: Option<Vec<OutputColumn>>,
    /// Made by PREPARE.
    pub from_sql: bool,
    /// When it was prepared, microseconds since 1970.
    pub prepared_us: i64,
}

/// A bound statement. A cursor is a portal that SQL made.
#[derive(Debug)]
pub struct Portal {
    pub columns: Option<Vec<OutputColumn>>,
    pub formats: Vec<Format>,
    /// Lives on when its transaction ends.
    pub hold: bool,
    /// Its rows have no end, so that a FETCH takes those that are there.
    pub live: bool,
    /// Later ones have greater numbers.
    pub number: u64,
    pub state: PortalState,
}

#[derive(Debug)]
pub enum PortalState {
    /// Not executed yet; `None` for a text without a statement.
    Ready(Option<Box<(ParsedStatement, Planned)>>),
    /// Some of the rows may have been fetched.
    Open { rows: SharedRows, tag: RowsTag },
    /// A statement without rows was executed.
    Finished,
}

/// Rows that are fetched in pieces, by whoever holds the lock.
pub type SharedRows = Arc<Mutex<FetchRows>>;

/// A stream of batches and what is left of the last one.
pub struct FetchRows {
    stream: RowStream,
    rest: Option<RecordBatch>,
    /// For a cursor that may go backward.
    scroll: Option<Scroll>,
}

/// Everything a cursor has read, and where it stands.
#[derive(Default)]
struct Scroll {
    read: Vec<RecordBatch>,
    rows: usize,
    /// The row that was given last, from 1; 0 before the first, one more than there are rows behind the last.
    position: usize,
}

impl std::fmt::Debug for FetchRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FetchRows")
    }
}

impl FetchRows {
    pub fn new(stream: RowStream) -> Self {
        // A portal that is at its end may be asked again.
        Self {
            stream: stream.fuse().boxed(),
            rest: None,
            scroll: None,
        }
    }

    /// Rows that can be gone through in both directions.
    pub fn scrolling(stream: RowStream) -> SharedRows {
        Arc::new(Mutex::new(Self {
            scroll: Some(Scroll::default()),
            ..Self::new(stream)
        }))
    }

    pub fn scrolls(&self) -> bool {
        self.scroll.is_some()
    }

    /// The rows that a move passes, in its order.
    ///
    /// # Errors
    /// Those of the query.
    pub async fn go(&mut self, direction: Direction) -> Result<Vec<RecordBatch>> {
        let Some(scroll) = &mut self.scroll else {
            return Ok(Vec::new());
        };
        let position = scroll.position;
        let add = |count: i64| i64::try_from(position).unwrap_or(i64::MAX).saturating_add(count);
        let wanted = match direction {
            Direction::Forward(Some(count)) => {
                position.saturating_add(usize::try_from(count).unwrap_or(usize::MAX))
            }
            Direction::Forward(None) => usize::MAX,
            Direction::Backward(_) => position,
            Direction::Absolute(row) if row < 0 => usize::MAX,
            Direction::Absolute(row) => usize::try_from(row).unwrap_or(usize::MAX),
            Direction::Relative(count) => usize::try_from(add(count)).unwrap_or(0),
        };
        while scroll.rows < wanted {
            match self.stream.next().await.transpose()? {
                Some(batch) => {
                    scroll.rows += batch.num_rows();
                    scroll.read.push(batch);
                }
                None => break,
            }
        }
        Ok(scroll.pass(direction))
    }

    pub fn shared(stream: RowStream) -> SharedRows {
        Arc::new(Mutex::new(Self::new(stream)))
    }

    /// The next rows, at most `rows_max`; `None` at the end.
    pub async fn next(&mut self, rows_max: usize) -> Option<Result<RecordBatch>> {
        let batch = loop {
            match self.rest.take() {
                Some(batch) if batch.num_rows() > 0 => break batch,
                _ => match self.stream.next().await? {
                    Ok(batch) => self.rest = Some(batch),
                    Err(error) => return Some(Err(error)),
                },
            }
        };
        if batch.num_rows() <= rows_max {
            return Some(Ok(batch));
        }
        self.rest = Some(batch.slice(rows_max, batch.num_rows() - rows_max));
        Some(Ok(batch.slice(0, rows_max)))
    }
}

/// A stream over the next `rows_max` rows, or all without a limit. What is not read from it stays in `rows`.
pub fn fetch(rows: SharedRows, rows_max: Option<u64>) -> BoxStream<'static, Result<RecordBatch>> {
    let left = rows_max.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    stream::unfold((rows, left), |(rows, left)| async move {
        if left == 0 {
            return None;
        }
        let next = rows.lock().await.next(left).await?;
        let left = match &next {
            Ok(batch) if left != usize::MAX => left - batch.num_rows(),
            Ok(_) => left,
            // Nothing comes after an error.
            Err(_) => 0,
        };
        Some((next, (rows, left)))
    })
    .boxed()
}

/// As [`fetch`] over rows that have no end: waits for the first of them, then gives what is there. With a time, waits so
/// long for all of them.
pub fn fetch_live(
    rows: SharedRows,
    rows_max: Option<u64>,
    timeout: Option<Duration>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let until = timeout.map(|timeout| Instant::now() + timeout);
    let all = fetch(rows, rows_max);
    stream::unfold((all, false), move |(mut all, begun)| async move {
        let next = match until {
            Some(until) => tokio::time::timeout_at(until, all.next()).await.ok()??,
            None if begun => all.next().now_or_never()??,
            None => all.next().await?,
        };
        Some((next, (all, true)))
    })
    .boxed()
}

impl Scroll {
    /// Moves, and gives the rows that are passed.
    fn pass(&mut self, direction: Direction) -> Vec<RecordBatch> {
        let (rows, position) = (self.rows, self.position);
        let index = |row: i64| usize::try_from(row.max(0)).unwrap_or(usize::MAX).min(rows + 1);
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        match direction {
            // None on: the row where the cursor stands.
            Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0) => {
                self.at(position)
            }
            Direction::Forward(count) => {
                let count = count
                    .and_then(|count| usize::try_from(count).ok())
                    .unwrap_or(usize::MAX);
                let end = position.saturating_add(count);
                self.position = end.min(rows + 1);
                self.slice(position + 1, end.min(rows))
            }
            Direction::Backward(count) => {
                let count = count
                    .and_then(|count| usize::try_from(count).ok())
                    .unwrap_or(usize::MAX);
                let begin = position.saturating_sub(count);
                self.position = begin;
                let passed = (begin.max(1)..position.min(rows + 1)).rev();
                passed.flat_map(|row| self.at(row)).collect()
            }
            Direction::Absolute(row) => {
                self.position = match row < 0 {
                    true => index(signed(rows) + 1 + row),
                    false => index(row),
                };
                self.at(self.position)
            }
            Direction::Relative(count) => {
                self.position = index(signed(position).saturating_add(count));
                self.at(self.position)
            }
        }
    }

    fn at(&self, row: usize) -> Vec<RecordBatch> {
        self.slice(row.max(1), if row == 0 { 0 } else { row })
    }

    /// Rows `first` to `last`, from 1 and both included, as far as there are any.
    fn slice(&self, first: usize, last: usize) -> Vec<RecordBatch> {
        let (mut slices, mut before) = (Vec::new(), 0);
        for batch in &self.read {
            let end = before + batch.num_rows();
            let (from, to) = ((first - 1).max(before), last.min(end));
            if from < to {
                slices.push(batch.slice(from - before, to - from));
            }
            before = end;
        }
        slices
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::{DataType, Field, Int32Type, Schema};

    use super::*;

    fn batch(values: &[i32]) -> RecordBatch {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int32, false)]));
        RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(values.to_vec()))]).unwrap()
    }

    async fn values(stream: BoxStream<'static, Result<RecordBatch>>) -> Vec<i32> {
        let batches: Vec<_> = stream.collect().await;
        batches
            .into_iter()
            .flat_map(|b| b.unwrap().column(0).as_primitive::<Int32Type>().values().to_vec())
            .collect()
    }

    #[tokio::test]
    async fn rows_are_fetched_in_pieces_over_batch_borders() {
        let batches = [batch(&[1, 2, 3]), batch(&[]), batch(&[4, 5])].map(Ok);
        let rows = FetchRows::shared(stream::iter(batches).boxed());
        assert_eq!(values(fetch(rows.clone(), Some(2))).await, [1, 2]);
        assert_eq!(values(fetch(rows.clone(), Some(0))).await, [0; 0]);
        assert_eq!(values(fetch(rows.clone(), Some(2))).await, [3, 4]);
        assert_eq!(values(fetch(rows.clone(), None)).await, [5]);
        assert_eq!(values(fetch(rows, Some(1))).await, [0; 0]);
    }

    #[tokio::test]
    async fn a_scrolling_cursor_goes_both_ways() {
        let batches = [batch(&[1, 2, 3]), batch(&[4, 5])].map(Ok);
        let rows = FetchRows::scrolling(stream::iter(batches).boxed());
        for (direction, expected) in [
            (Direction::Forward(Some(2)), vec![1, 2]),
            (Direction::Relative(0), vec![2]),
            (Direction::Forward(Some(2)), vec![3, 4]),
            (Direction::Backward(Some(2)), vec![3, 2]),
            (Direction::Absolute(4), vec![4]),
            (Direction::Absolute(-1), vec![5]),
            (Direction::Forward(None), vec![]),
            (Direction::Backward(Some(1)), vec![5]),
            (Direction::Backward(None), vec![4, 3, 2, 1]),
            (Direction::Backward(Some(1)), vec![]),
            (Direction::Relative(3), vec![3]),
            (Direction::Absolute(0), vec![]),
            (Direction::Forward(None), vec![1, 2, 3, 4, 5]),
            (Direction::Absolute(9), vec![]),
        ] {
            let passed = rows.lock().await.go(direction).await.unwrap();
            let passed = stream::iter(passed.into_iter().map(Ok)).boxed();
            assert_eq!(values(passed).await, expected, "{direction:?}");
        }
    }
}
