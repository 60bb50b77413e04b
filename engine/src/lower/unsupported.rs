//! The errors for what cannot be kept up to date: each names the clause, the reason, and what to write instead.

use datafusion::logical_expr::LogicalPlan;

use crate::error::Error;

/// A node that no operator exists for.
pub(super) fn node(plan: &LogicalPlan) -> Error {
    let (clause, reason, instead) = match plan {
        LogicalPlan::Limit(_) => (
            "LIMIT and OFFSET with an expression",
            "how many rows they keep must not change",
            "Use a number.",
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

/// A subquery within an expression, which no rule could make a join.
pub(super) fn subquery() -> Error {
    clause_error(
        "This subquery",
        "it depends on the row around it in a way that cannot be written as a join",
        "Compare its columns with the outer ones by = in its WHERE clause, or write it as a join.",
    )
}

pub(super) fn clause_error(clause: &str, reason: &str, instead: &str) -> Error {
    Error::Unsupported {
        message: format!("{clause} cannot be kept up to date by a streaming view: {reason}"),
        hint: Some(instead.to_owned()),
    }
}
