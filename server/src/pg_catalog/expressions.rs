//! Changing the expressions of a plan's node in place.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Maps the expressions of one node. Its columns keep their names, and its schema follows from the new expressions.
pub fn map_expressions(
    node: LogicalPlan,
    mut map: impl FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&node);
    let mapped = node.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(map(expr)?.update_data(|expr| name.restore(expr)))
    })?;
    if mapped.transformed {
        Ok(Transformed::yes(mapped.data.recompute_schema()?))
    } else {
        Ok(mapped)
    }
}
