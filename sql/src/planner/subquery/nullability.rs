//! Takes `nullable(..)` away where its argument may be NULL anyway.
//!
//! Around a subquery it was needed. Around the column that the subquery has become it would hide an equality from the
//! rules that look for join keys.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::NULLABLE;

#[derive(Debug, Default)]
pub struct PlainNullable;

fn is_nullable_call(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func == *NULLABLE)
}

impl OptimizerRule for PlainNullable {
    fn name(&self) -> &str {
        "plain_nullable"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !super::has_expression(&plan, is_nullable_call)? {
            return Ok(Transformed::no(plan));
        }
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| match expr {
                Expr::ScalarFunction(mut call)
                    if call.func == *NULLABLE
                        && matches!(call.args.as_slice(), [Expr::Column(_)])
                        && call.args[0].nullable(&schema)? =>
                {
                    Ok(Transformed::yes(call.args.remove(0)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    }
}
