//! One-off queries: a logical plan over relations at fixed points, run once by DataFusion.
//!
//! Windows, aggregates and integer arithmetic are the ones that streaming views use, so a view equals its own SELECT run
//! over the same rows.

mod arithmetic;
mod key_range;
mod relation;
mod repeat;
mod session;
mod window;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::Optimizer;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;
use futures::{StreamExt, stream};
use millpond_catalog::ObjectId;
use millpond_storage::KeyRange;

pub(crate) use repeat::{Repeated, slot, slot_column};

use crate::error::{Error, Result};
use crate::logical::RelationSource;
use crate::oneoff::relation::RelationProvider;
use crate::oneoff::window::WindowPlanner;

/// The relations that a query reads, each at a fixed point.
pub trait Readable: Send + Sync {
    /// The rows of `object`, with the columns in `projection` (in that order; all when `None`). Dropping the stream stops
    /// the reading.
    fn scan(&self, object: ObjectId, projection: Option<&[usize]>) -> Result<SendableRecordBatchStream>;

    /// The columns of each index of `object`.
    fn orders(&self, _object: ObjectId) -> Vec<Vec<usize>> {
        Vec::new()
    }

    /// As [`Readable::scan`]; rows that are not in the range may be left out.
    fn scan_range(
        &self,
        object: ObjectId,
        projection: Option<&[usize]>,
        _range: &KeyRange,
    ) -> Result<SendableRecordBatchStream> {
        self.scan(object, projection)
    }

    /// The rows that the running statement has written or taken away: see [`crate::logical::Rows::Written`].
    fn written(&self, _projection: Option<&[usize]>) -> Result<SendableRecordBatchStream> {
        Err(Error::Bug("the statement has written no rows".to_owned()))
    }
}

#[derive(Debug, Clone)]
pub struct OneoffOptions {
    /// Bytes that sorts, hash tables and the like may hold together.
    pub memory_bytes_max: usize,
    /// Threads that may work on the query at once.
    pub parallelism: usize,
}

impl Default for OneoffOptions {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 30,
            parallelism: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Plans the query and starts it. Dropping the stream cancels it.
///
/// Errors are DataFusion's, as the stream's own are; `expression::sqlstate` knows their SQLSTATE.
pub async fn execute(
    plan: LogicalPlan,
    relations: Arc<dyn Readable>,
    options: &OneoffOptions,
) -> DataFusionResult<SendableRecordBatchStream> {
    let state = session(options)?;
    let physical = physical(&state, plan, &relations).await?;
    start(physical, state.task_ctx())
}

/// The rows of a UNION ALL come in the order of its queries, as users expect; the library would mix them.
fn start(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
) -> DataFusionResult<SendableRecordBatchStream> {
    let inner = plan
        .downcast_ref::<CooperativeExec>()
        .map_or(&plan, CooperativeExec::input);
    let Some(union) = inner.downcast_ref::<UnionExec>() else {
        return execute_stream(plan, context);
    };
    let queries = { union.inputs().iter() }
        .map(|query| start(Arc::clone(query), Arc::clone(&context)))
        .collect::<DataFusionResult<Vec<_>>>()?;
    let rows = stream::iter(queries).flatten();
    Ok(Box::pin(RecordBatchStreamAdapter::new(plan.schema(), rows)))
}

/// The physical plan that [`execute`] would run, as text for EXPLAIN.
pub async fn explain(
    plan: LogicalPlan,
    relations: Arc<dyn Readable>,
    options: &OneoffOptions,
) -> DataFusionResult<String> {
    let physical = physical(&session(options)?, plan, &relations).await?;
    Ok(datafusion::physical_plan::displayable(physical.as_ref())
        .indent(false)
        .to_string())
}

fn session(options: &OneoffOptions) -> DataFusionResult<SessionState> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_limit(options.memory_bytes_max, 1.0)
        .build_arc()?;
    let config = tolerant(SessionConfig::new().with_target_partitions(options.parallelism.max(1)));
    let mut rules = Optimizer::new().rules;
    // It computes a sum as the sum of sums, whose type is another one here.
    rules.retain(|rule| rule.name() != "single_distinct_aggregation_to_group_by");
    Ok(SessionStateBuilder::new()
        .with_optimizer_rules(rules)
        .with_config(config)
        .with_runtime_env(runtime)
        // DISTINCT ON is planned with it.
        .with_aggregate_functions(vec![first_value_udaf()])
        .build())
}

/// The physical expressions of the library call more results nullable than its logical ones, which it takes for a fault of
/// its own below an aggregate.
fn tolerant(mut config: SessionConfig) -> SessionConfig {
    config
        .options_mut()
        .execution
        .skip_physical_aggregate_schema_check = true;
    config
}

async fn physical(
    state: &SessionState,
    plan: LogicalPlan,
    relations: &Arc<dyn Readable>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let plan = state.optimize(&resolve(plan, relations)?)?;
    let plan = arithmetic::checked(plan)?;
    let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(WindowPlanner)]);
    yielding(planner.create_physical_plan(&plan, state).await?)
}

/// Makes every join give way now and then. A join can make rows for minutes out of what it has read already; without
/// this, a query that was cancelled would keep its thread until the join is done.
fn yielding(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let wrapped = plan.transform_up(|node| {
        Ok(if node.children().len() > 1 {
            Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>)
        } else {
            Transformed::no(node)
        })
    })?;
    Ok(wrapped.data)
}

/// Puts the rows of each relation in the place of its name.
fn resolve(plan: LogicalPlan, relations: &Arc<dyn Readable>) -> DataFusionResult<LogicalPlan> {
    let resolved = plan.transform_up_with_subqueries(|plan| {
        let LogicalPlan::TableScan(mut scan) = plan else {
            return Ok(Transformed::no(plan));
        };
        let Some(source) = scan.source.downcast_ref::<RelationSource>() else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        let provider = RelationProvider::new(source, Arc::clone(relations));
        scan.source = provider_as_source(Arc::new(provider));
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(resolved.data)
}
