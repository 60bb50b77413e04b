//! The errors for what cannot be kept up to date: each names the clause, the reason, and what to write instead.

use datafusion::common::JoinType;
use datafusion::logical_expr::LogicalPlan;

use crate::error::Error;

/// A node that no operator exists for.
pub(super) fn node(plan: &LogicalPlan) -> Error {
    let (clause, reason, instead) = match plan {
        LogicalPlan::Limit(_) => (
            "LIMIT and OFFSET",
            "which rows are first changes with every new row",
            "Leave it out of the view and put it on the SELECT that reads the view.",
        ),
        LogicalPlan::Sort(_) => (
            "ORDER BY",
            "the result is a table, and tables have no order",
            "Leave it out of the view and put it on the SELECT that reads the view.",
        ),
        LogicalPlan::Distinct(_) => (
            "DISTINCT ON",
            "which row of a group is the first changes with every new row",
            "Use GROUP BY with min() or max(), or SELECT DISTINCT.",
        ),
        LogicalPlan::Window(_) => (
            "A window function (OVER)",
            "each new row changes the results of other rows",
            "Use GROUP BY, or tumble() and hop() for windows in time.",
        ),
        LogicalPlan::Join(join) => (
            match join.join_type {
                JoinType::LeftSemi | JoinType::RightSemi => "EXISTS or IN (SELECT ..)",
                JoinType::LeftAnti | JoinType::RightAnti => "NOT EXISTS or NOT IN (SELECT ..)",
                JoinType::LeftMark | JoinType::RightMark => "EXISTS or IN (SELECT ..)",
                _ => "JOIN",
            },
            "joins are not incremental yet",
            "Join when reading: keep one view per side and join them in the SELECT that reads them.",
        ),
        LogicalPlan::Subquery(_) => ("A subquery in an expression", SUBQUERY_REASON, SUBQUERY_INSTEAD),
        LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => (
            "A SELECT without a table",
            "it never changes, so there is nothing to keep up to date",
            "Select from a source, stream, table or view.",
        ),
        LogicalPlan::RecursiveQuery(_) => (
            "WITH RECURSIVE",
            "recursion is not incremental",
            "Run it as a one-off SELECT over a view.",
        ),
        LogicalPlan::TableScan(scan) => {
            return Error::Unsupported {
                message: format!(
                    "{} cannot be read by a streaming view: it has no change log",
                    scan.table_name
                ),
                hint: Some("Read from a source, stream, table or view.".to_owned()),
            };
        }
        other => {
            return Error::Unsupported {
                message: format!(
                    "{} cannot be kept up to date by a streaming view",
                    other.display()
                ),
                hint: Some("Run it as a one-off SELECT over a view.".to_owned()),
            };
        }
    };
    clause_error(clause, reason, instead)
}

const SUBQUERY_REASON: &str = "the subquery's result changes for rows that were already handed on";
const SUBQUERY_INSTEAD: &str =
    "Make the subquery a view of its own and combine both in the SELECT that reads them.";

/// A subquery within an expression.
pub(super) fn subquery() -> Error {
    clause_error("A subquery in an expression", SUBQUERY_REASON, SUBQUERY_INSTEAD)
}

pub(super) fn clause_error(clause: &str, reason: &str, instead: &str) -> Error {
    Error::Unsupported {
        message: format!("{clause} cannot be kept up to date by a streaming view: {reason}"),
        hint: Some(instead.to_owned()),
    }
}
