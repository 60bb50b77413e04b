//! What a [`Recompute`](super::Recompute) keeps and computes, as plain data.

use std::fmt;

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;
use itertools::Itertools;

/// Rows kept per group, from which the results of the groups that an epoch touches are computed anew.
#[derive(Debug, Clone)]
pub struct RecomputeSpec {
    pub input: SchemaRef,
    /// Input columns; rows that are equal in them are one group and meet on one worker. Without keys all rows are.
    pub keys: Vec<usize>,
    /// The order of a group's rows. Where it leaves two rows open their columns decide, so that it is always the same.
    pub order: Vec<OrderColumn>,
    /// A key that says when no more rows of its groups can come. It is the first of the keys.
    pub closing: Option<ClosingKey>,
    /// Groups are closed by the clock.
    pub by_clock: bool,
    pub computation: Computation,
    /// No retractions come in.
    pub append_only: bool,
    /// Groups come out once, when they are closed, and not before.
    pub final_only: bool,
    pub output: SchemaRef,
    /// A computation that fails stops the query instead of being set aside.
    pub fail_on_error: bool,
    /// The computation in the words of the query, for EXPLAIN.
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderColumn {
    pub column: usize,
    pub options: SortOptions,
}

/// A bound of a window in time, among the keys of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosingKey {
    pub column: usize,
    /// From the bound to the end of the window, in microseconds.
    pub to_end: i64,
}

#[derive(Debug, Clone)]
pub enum Computation {
    /// A plan over the rows of any number of groups, which keeps groups apart. Its columns are those of the output.
    Plan {
        plan: Box<LogicalPlan>,
        /// There is a result without rows too: an aggregate without keys.
        of_nothing: bool,
    },
    First(FirstRows),
}

/// The rows of each group that come first in its order.
#[derive(Debug, Clone)]
pub struct FirstRows {
    pub ranking: Ranking,
    /// The least number that is kept, from 1.
    pub from: u64,
    /// The greatest number that is kept.
    pub to: Option<u64>,
    /// Input columns that are handed on.
    pub columns: Vec<usize>,
    /// The number is the last column of the output.
    pub numbered: bool,
}

/// How rows are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranking {
    RowNumber,
    /// Rows that are equal in the order share a number, and leave a gap after it.
    Rank,
    /// The same without gaps.
    DenseRank,
}

impl RecomputeSpec {
    /// What bounds the state, in words.
    pub fn state_bound(&self) -> String {
        let name = |column: &usize| self.input.field(*column).name();
        let of = match self.keys.is_empty() {
            true => String::new(),
            false => format!(" per ({})", self.keys.iter().map(name).join(", ")),
        };
        let rows = match &self.computation {
            Computation::First(FirstRows {
                to: Some(to),
                ranking,
                ..
            }) if self.append_only => match ranking {
                Ranking::RowNumber => format!("the first {to} rows{of}"),
                Ranking::Rank | Ranking::DenseRank => format!("the rows numbered up to {to}{of}"),
            },
            _ if self.keys.is_empty() => "all input rows".to_owned(),
            _ => format!("all input rows{of}"),
        };
        match self.closing {
            Some(_) => format!("{rows}, until the watermark passes the window's end"),
            None => format!("{rows}, kept for ever"),
        }
    }
}

impl fmt::Display for RecomputeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: usize| self.input.field(column).name();
        let kind = match &self.computation {
            Computation::Plan { .. } => "Recompute",
            Computation::First(_) => "FirstRows",
        };
        write!(
            f,
            "{kind} by [{}]",
            self.keys.iter().map(|key| name(*key)).join(", ")
        )?;
        if !self.order.is_empty() {
            let columns = self.order.iter().map(|order| {
                let direction = if order.options.descending { " desc" } else { "" };
                let nulls = match (order.options.descending, order.options.nulls_first) {
                    (true, false) => " nulls last",
                    (false, true) => " nulls first",
                    _ => "",
                };
                format!("{}{direction}{nulls}", name(order.column))
            });
            write!(f, " ordered by [{}]", columns.format(", "))?;
        }
        write!(f, ": {}", self.description)?;
        write!(
            f,
            ", emits {}",
            if self.final_only {
                "when the window is final"
            } else {
                "changes"
            }
        )
    }
}
