//! Complete mode: the view is the whole result of an aggregation, and nothing of it is freed by the watermark.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::Distinct;
use millpond_catalog::OutputMode;

use crate::dataflow::Notice;
use crate::error::{Error, Result};
use crate::lower::LowerOptions;

/// As in Spark, complete mode is for aggregations: a result that grows with its input is not to be kept as a whole.
pub(super) fn check(plan: &LogicalPlan, options: &LowerOptions) -> Result<()> {
    if options.output_mode != OutputMode::Complete {
        return Ok(());
    }
    let mut aggregates = false;
    plan.apply(|node| {
        aggregates |= matches!(
            node,
            LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(Distinct::All(_))
        );
        Ok(TreeNodeRecursion::Continue)
    })?;
    if aggregates {
        return Ok(());
    }
    Err(Error::Unsupported {
        message:
            "output_mode 'complete' needs an aggregation: without one the result only grows with its input"
                .to_owned(),
        hint: Some("Use output_mode 'update', which shows the same rows, or 'append'.".to_owned()),
    })
}

/// What the author of a query in complete mode should know, unless its result is one row.
pub(super) fn remark(plan: &LogicalPlan, options: &LowerOptions) -> Option<Notice> {
    let has_groups = |node: &LogicalPlan| match node {
        LogicalPlan::Aggregate(aggregate) => !aggregate.group_expr.is_empty(),
        node => matches!(node, LogicalPlan::Distinct(_)),
    };
    let has_groups = plan.exists(|node| Ok(has_groups(node))).unwrap_or(false);
    (options.output_mode == OutputMode::Complete && has_groups).then(|| Notice {
        message: "output_mode 'complete' keeps and shows every group for ever, however many there will be"
            .to_owned(),
        hint: "In output_mode 'update' the watermark frees what is final, and the view shows the same."
            .to_owned(),
    })
}
