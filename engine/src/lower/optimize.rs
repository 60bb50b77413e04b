//! The rules that rewrite a view's plan before it is lowered.

use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::decorrelate_lateral_join::DecorrelateLateralJoin;
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::optimize_unions::OptimizeUnions;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Optimizer, OptimizerContext, OptimizerRule};

use crate::error::{Error, Result};

/// In the order they run. All keep a query's meaning for a relation that changes: none reads the clock, statistics or
/// data. Absent on purpose: rules that replace parts of the plan by constant rows.
fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(OptimizeUnions::new()),
        Arc::new(SimplifyExpressions::new()),
        // Subqueries become joins.
        Arc::new(DecorrelatePredicateSubquery::new()),
        Arc::new(ScalarSubqueryToJoin::new()),
        Arc::new(DecorrelateLateralJoin::new()),
        // What is equal on both sides becomes a key.
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateDuplicatedExpr::new()),
        Arc::new(EliminateCrossJoin::new()),
        Arc::new(EliminateOuterJoin::new()),
        Arc::new(PushDownFilter::new()),
        Arc::new(OptimizeProjections::new()),
    ]
}

/// The plan as it is lowered; `EXPLAIN (PLAN)` may show it.
pub fn optimize(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut options = ConfigOptions::default();
    // A subquery's result changes, so it is an input like any other.
    options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    // Without a start time now() stays a call instead of becoming a constant.
    let context = OptimizerContext::new_with_config_options(Arc::new(options))
        .without_query_execution_start_time()
        .with_skip_failing_rules(false);
    Optimizer::with_rules(rules())
        .optimize(plan, &context, |_, _| {})
        .map_err(|error| match error.find_root() {
            DataFusionError::Plan(message) | DataFusionError::NotImplemented(message) => Error::Unsupported {
                message: message.clone(),
                hint: None,
            },
            _ if matches!(error.find_root(), DataFusionError::Internal(_)) => Error::Bug(error.to_string()),
            // A constant expression that fails for every row: 1 / 0.
            _ => crate::expression::user_error(&error),
        })
}
