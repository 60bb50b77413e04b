//! The rules that plans go through, in one place.
//!
//! A one-off query takes the library's own list. A view takes the shorter list below: each rule in it gives a plan whose
//! result is the same at every moment of a changing input, never looks at statistics or clocks, and leaves no node that
//! an incremental operator could not follow. Its order is that of the library, because later rules rely on earlier ones.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use datafusion::common::alias::AliasGenerator;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::registry::{FunctionRegistry, MemoryFunctionRegistry};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan};
use datafusion::optimizer::analyzer::Analyzer;
use datafusion::optimizer::decorrelate_lateral_join::DecorrelateLateralJoin;
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::eliminate_filter::EliminateFilter;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerContext, OptimizerRule};

use crate::error::Result;
use crate::text::SourceText;

use super::provider::config_options;
use super::subquery::nullability::PlainNullable;
use super::subquery::projection::{ExistsInProjection, SubqueriesBelowAggregate};
use super::translate::translate;

/// Rules for queries that are kept up to date.
fn view_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    vec![
        Arc::new(SimplifyExpressions::new()),
        Arc::new(DistinctAsGroups),
        // Subqueries become joins, which have operators.
        Arc::new(RewriteSetComparison::new()),
        Arc::new(SubqueriesBelowAggregate),
        Arc::new(ExistsInProjection::default()),
        Arc::new(DecorrelatePredicateSubquery::new()),
        Arc::new(ScalarSubqueryToJoin::new()),
        Arc::new(DecorrelateLateralJoin::new()),
        Arc::new(PlainNullable),
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateFilter::new()),
        Arc::new(EliminateCrossJoin::new()),
        Arc::new(EliminateOuterJoin::new()),
        // Filters run before rows are exchanged and windows assigned.
        Arc::new(PushDownFilter::new()),
        // Columns that nobody reads are not decoded.
        Arc::new(OptimizeProjections::new()),
    ]
}

/// Types every expression.
pub fn analyze(plan: LogicalPlan, options: &ConfigOptions) -> DataFusionResult<LogicalPlan> {
    Analyzer::new().execute_and_check(plan, options, |_, _| {})
}

/// Optimizes the query of a view.
pub fn optimize_view(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let mut options = config_options("UTC");
    // The result of a subquery changes, so it is an input like any other.
    options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    let context =
        OptimizerContext::new_with_config_options(Arc::new(options)).without_query_execution_start_time();
    Optimizer::with_rules(view_rules()).optimize(plan, &Config::new(context)?, |_, _| {})
}

/// Optimizes the query of a SELECT or INSERT for running once, by the library's own rules.
///
/// # Errors
/// A query that no rule can bring into a form that runs.
pub fn optimize(query: LogicalPlan) -> Result<LogicalPlan> {
    let context = OptimizerContext::new_with_config_options(Arc::new(config_options("UTC")));
    let mut optimizer = Optimizer::new();
    // It computes a sum as the sum of sums, whose type is another one here.
    let of_sums = |name: &str| name == "single_distinct_aggregation_to_group_by";
    optimizer.rules.retain(|rule| !of_sums(rule.name()));
    let first: [Arc<dyn OptimizerRule + Send + Sync>; 2] = [
        Arc::new(SubqueriesBelowAggregate),
        Arc::new(ExistsInProjection::default()),
    ];
    optimizer.rules.splice(0..0, first);
    let optimized = Config::new(context).and_then(|config| optimizer.optimize(query, &config, |_, _| {}));
    optimized.map_err(|error| translate(error, &SourceText::new("")))
}

/// DISTINCT is a group without aggregates. The library's own rule would take DISTINCT ON with it, which has an operator.
#[derive(Debug)]
struct DistinctAsGroups;

impl OptimizerRule for DistinctAsGroups {
    fn name(&self) -> &str {
        "distinct_as_groups"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        let LogicalPlan::Distinct(Distinct::All(input)) = plan else {
            return Ok(Transformed::no(plan));
        };
        let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
        let groups = Aggregate::try_new(input, columns, Vec::new())?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(groups)))
    }
}

/// The library's context with a registry, in which its rule for DISTINCT ON looks for `first_value` and panics without.
struct Config {
    context: OptimizerContext,
    functions: MemoryFunctionRegistry,
}

impl Config {
    fn new(context: OptimizerContext) -> DataFusionResult<Self> {
        let mut functions = MemoryFunctionRegistry::new();
        functions.register_udaf(first_value_udaf())?;
        Ok(Self { context, functions })
    }
}

impl OptimizerConfig for Config {
    fn query_execution_start_time(&self) -> Option<DateTime<Utc>> {
        self.context.query_execution_start_time()
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        self.context.alias_generator()
    }

    fn options(&self) -> Arc<ConfigOptions> {
        self.context.options()
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        Some(&self.functions)
    }
}
