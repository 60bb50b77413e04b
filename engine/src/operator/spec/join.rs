//! Joins as plain data.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::JoinType;
use datafusion::physical_expr::PhysicalExpr;
use itertools::Itertools;

use crate::window::Micros;

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
    /// What pairs that match have to do with each other in time, if anything.
    pub times: Option<JoinTimes>,
    /// A side whose rows are only added: each is paired, once, with the rows that the other side has when it comes, and
    /// nothing is kept of it.
    pub passing: Option<usize>,
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

/// Matching rows are near each other in time, by which rows become final and are forgotten.
#[derive(Debug, Clone)]
pub struct JoinTimes {
    /// Position of the time in each input.
    pub columns: [usize; 2],
    /// In rows that match, the right time minus the left one is at least this and at most that, in microseconds.
    pub least: Option<i64>,
    pub most: Option<i64>,
    /// What a row gives by itself for want of a match comes out once, when no match can come any more.
    pub final_only: bool,
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

    /// The least time of the rows of a side that can still find a partner, given the watermark of each input.
    pub fn final_below(&self, side: usize, watermarks: [Option<i64>; 2]) -> Option<i64> {
        let times = self.times.as_ref()?;
        let other = watermarks[1 - side]?;
        Some(match side {
            0 => other.saturating_sub(times.most?),
            _ => other.saturating_add(times.least?),
        })
    }

    /// The least time of the rows of a side that matter. Where a row of the other side comes out by itself or not, its
    /// partners matter until it is final.
    pub fn freed_below(&self, side: usize, watermarks: [Option<i64>; 2]) -> Option<i64> {
        let times = self.times.as_ref()?;
        let is_final = self.final_below(side, watermarks)?;
        if self.role(1 - side).is_none() {
            return Some(is_final);
        }
        let reach = times.most?.saturating_sub(times.least?);
        Some(is_final.min(watermarks[side]?.saturating_sub(reach)))
    }

    /// The watermarks free rows of this side.
    pub fn frees(&self, side: usize) -> bool {
        self.freed_below(side, [Some(0); 2]).is_some()
    }

    /// What rows of this side give by themselves comes out when they are final.
    pub fn defers(&self, side: usize) -> bool {
        let final_only = self.times.as_ref().is_some_and(|times| times.final_only);
        final_only && !matches!(self.role(side), None | Some(Role::Semi))
    }

    /// What comes out depends on how the rows of this side match those of the other over time.
    pub fn counts(&self, side: usize) -> bool {
        self.filter.is_some() && self.role(side).is_some()
    }

    /// Late rows of this side are dropped: their partners may be gone, or may have come out without them.
    pub fn drops_late(&self, side: usize) -> bool {
        self.frees(1 - side) || self.defers(1 - side)
    }

    /// Insertions make insertions only: a match that is there stays.
    pub fn keeps_append_only(&self) -> bool {
        matches!(
            self.kind,
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi
        ) || self.passing.is_some()
            || self.times.as_ref().is_some_and(|times| times.final_only)
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
        if let Some(filter) = &self.filter {
            write!(f, " where {}", filter.predicate)?;
        }
        if let Some(side) = self.passing {
            let sides = ["left", "right"];
            write!(
                f,
                ", {} rows meet the {} rows of their epoch",
                sides[side],
                sides[1 - side]
            )?;
        }
        match &self.times {
            Some(times) => write!(f, ", {}", TimesDisplay(self, times)),
            None => Ok(()),
        }
    }
}

struct TimesDisplay<'a>(&'a JoinSpec, &'a JoinTimes);

impl fmt::Display for TimesDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimesDisplay(spec, times) = self;
        let name = |side: usize| spec.inputs[side].field(times.columns[side]).name();
        let bound =
            |bound: Option<i64>, open: &str| bound.map_or(open.to_owned(), |us| Micros(us).to_string());
        write!(
            f,
            "right {} - left {} in {} .. {}",
            name(1),
            name(0),
            bound(times.least, "any"),
            bound(times.most, "any")
        )?;
        if times.final_only {
            f.write_str(", rows without a match come out when none can come")?;
        }
        Ok(())
    }
}
