//! Joins as plain data.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::JoinType;
use datafusion::physical_expr::PhysicalExpr;
use itertools::Itertools;

/// A join of two inputs, port 0 being the left one.
#[derive(Debug, Clone)]
pub struct JoinSpec {
    pub kind: JoinType,
    pub inputs: [SchemaRef; 2],
    /// How many of each input's columns, from the first, belong to its rows; those after them only carry keys.
    pub widths: [usize; 2],
    /// Columns that are equal in rows that match, in pairs.
    pub keys: [Vec<usize>; 2],
    /// NULL keys match each other, instead of nothing.
    pub nulls_match: bool,
    /// What else a pair of rows must meet to match.
    pub filter: Option<JoinFilter>,
    pub output: SchemaRef,
    /// A filter that fails on a pair stops the query instead of setting the pair aside.
    pub fail_on_error: bool,
}

/// A predicate over some columns of a pair of rows.
#[derive(Debug, Clone)]
pub struct JoinFilter {
    /// Side and position of each column.
    pub columns: Vec<(usize, usize)>,
    pub schema: SchemaRef,
    pub predicate: Arc<dyn PhysicalExpr>,
}

/// What becomes of the rows of one side by themselves, beside the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A row without a match comes out with NULLs for the other side.
    Extended,
    /// Rows with a match come out.
    Semi,
    /// Rows without a match come out.
    Anti,
    /// All rows come out with a column that says whether there is a match.
    Mark,
}

impl JoinSpec {
    /// Pairs of matching rows come out.
    pub fn has_pairs(&self) -> bool {
        matches!(
            self.kind,
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
        )
    }

    pub fn role(&self, side: usize) -> Option<Role> {
        match (self.kind, side) {
            (JoinType::Left | JoinType::Full, 0) | (JoinType::Right | JoinType::Full, 1) => {
                Some(Role::Extended)
            }
            (JoinType::LeftSemi, 0) | (JoinType::RightSemi, 1) => Some(Role::Semi),
            (JoinType::LeftAnti, 0) | (JoinType::RightAnti, 1) => Some(Role::Anti),
            (JoinType::LeftMark, 0) | (JoinType::RightMark, 1) => Some(Role::Mark),
            _ => None,
        }
    }

    /// Insertions make insertions only: a match that is there stays.
    pub fn keeps_append_only(&self) -> bool {
        matches!(
            self.kind,
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi
        )
    }
}

impl fmt::Display for JoinSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            JoinType::Inner if self.keys[0].is_empty() && self.filter.is_none() => "cross".to_owned(),
            JoinType::LeftSemi => "left semi".to_owned(),
            JoinType::RightSemi => "right semi".to_owned(),
            JoinType::LeftAnti => "left anti".to_owned(),
            JoinType::RightAnti => "right anti".to_owned(),
            JoinType::LeftMark => "left mark".to_owned(),
            JoinType::RightMark => "right mark".to_owned(),
            kind => kind.to_string().to_lowercase(),
        };
        f.write_str(&name)?;
        if !self.keys[0].is_empty() {
            let equal = if self.nulls_match {
                "is not distinct from"
            } else {
                "="
            };
            let column = |side: usize, column: usize| self.inputs[side].field(column).name();
            let pairs = self.keys[0].iter().zip(&self.keys[1]);
            let pairs = pairs.map(|(l, r)| format!("{} {equal} {}", column(0, *l), column(1, *r)));
            write!(f, " on [{}]", { pairs }.join(", "))?;
        }
        match &self.filter {
            Some(filter) => write!(f, " where {}", filter.predicate),
            None => Ok(()),
        }
    }
}
