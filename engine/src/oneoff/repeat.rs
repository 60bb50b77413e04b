//! A plan over the rows of one slot, planned once and run any number of times in the calling thread.
//!
//! It is planned as a one-off query, so it computes what that would. Only its sorts are made total: rows that the
//! query's order leaves open come in the order of their columns, so a run over the same rows gives the same result
//! whatever other rows are run with them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use futures::executor::block_on;
use futures::{TryStreamExt, stream};
use millpond_catalog::ObjectId;
use parking_lot::Mutex;

use crate::error::Result;
use crate::logical::{RelationSource, Rows};
use crate::oneoff::{Readable, physical, tolerant};
use crate::operator::map::record_batch;

/// Least number of rows that operators hand on at once.
const BATCH_ROWS_MIN: usize = 8192;

pub(crate) struct Repeated {
    plan: Arc<dyn ExecutionPlan>,
    slot: Arc<Slot>,
    state: SessionState,
}

/// The rows of the run under way.
#[derive(Default)]
struct Slot(Mutex<Option<RecordBatch>>);

/// Name of a column of the slot.
pub(crate) fn slot_column(position: usize) -> String {
    format!("c{position}")
}

/// A scan of the slot, whose columns have the types of those of `schema` and names of their own.
pub(crate) fn slot(schema: &Schema) -> DataFusionResult<LogicalPlan> {
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(i, field)| field.as_ref().clone().with_name(slot_column(i)));
    let source = RelationSource {
        object: ObjectId(0),
        name: "slot".to_owned(),
        schema: Arc::new(Schema::new(fields.collect::<Vec<Field>>())),
        watermark: None,
        times: Vec::new(),
        append_only: false,
        rows: Rows::Snapshot,
    };
    LogicalPlanBuilder::scan("slot", Arc::new(source), None)?.build()
}

impl Repeated {
    /// Plans `plan`, whose scans are all of one [`slot`].
    pub fn new(plan: LogicalPlan) -> Result<Self> {
        let config = SessionConfig::new()
            .with_target_partitions(1)
            .with_batch_size(BATCH_ROWS_MIN);
        let mut config = tolerant(config);
        // A filter that one run has learned must not be there in the next.
        config.options_mut().optimizer.enable_dynamic_filter_pushdown = false;
        let state = SessionStateBuilder::new().with_config(config).build();
        let slot = Arc::new(Slot::default());
        let relations: Arc<dyn Readable> = Arc::clone(&slot) as _;
        let plan = total(block_on(physical(&state, plan, &relations))?)?;
        Ok(Self { plan, slot, state })
    }

    /// The result over `rows`, which have the columns of the slot, under any names.
    pub fn run(&self, rows: RecordBatch) -> DataFusionResult<Vec<RecordBatch>> {
        // One batch from beginning to end: where it is cut could be seen in the results of some functions.
        let batch_rows = rows.num_rows().max(BATCH_ROWS_MIN);
        let config = match batch_rows {
            BATCH_ROWS_MIN => self.state.config().clone(),
            _ => self.state.config().clone().with_batch_size(batch_rows),
        };
        let context = TaskContext::new(
            None,
            self.state.session_id().to_owned(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            Arc::clone(self.state.runtime_env()),
        );
        *self.slot.0.lock() = Some(rows);
        let result = reset_plan_states(Arc::clone(&self.plan))
            .and_then(|plan| execute_stream(plan, Arc::new(context)))
            .and_then(|batches| block_on(batches.try_collect()));
        *self.slot.0.lock() = None;
        result
    }
}

impl Readable for Slot {
    fn scan(&self, _object: ObjectId, projection: Option<&[usize]>) -> Result<SendableRecordBatchStream> {
        let rows = self.0.lock().clone();
        let rows = rows.ok_or_else(|| DataFusionError::Internal("a run without rows".to_owned()))?;
        let all: Vec<usize> = (0..rows.num_columns()).collect();
        let columns = projection.unwrap_or(&all);
        let projected = rows.project(columns)?;
        let fields = projected.schema();
        let fields = fields.fields().iter().zip(columns);
        let fields = fields.map(|(field, column)| field.as_ref().clone().with_name(slot_column(*column)));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let rows = record_batch(&schema, projected.columns().to_vec(), rows.num_rows())?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            schema,
            stream::iter([Ok(rows)]),
        )))
    }
}

/// The plan with all columns as the last part of every sort's order.
fn total(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let total = plan.transform_up(|node| {
        let Some(sort) = node.downcast_ref::<SortExec>() else {
            return Ok(Transformed::no(node));
        };
        let schema = sort.input().schema();
        let columns = schema
            .fields()
            .iter()
            .enumerate()
            .map(|(i, field)| PhysicalSortExpr {
                expr: Arc::new(Column::new(field.name(), i)),
                options: SortOptions::default(),
            });
        let Some(order) = LexOrdering::new(sort.expr().iter().cloned().chain(columns)) else {
            return Ok(Transformed::no(node));
        };
        let sorted = SortExec::new(order, Arc::clone(sort.input()))
            .with_fetch(sort.fetch())
            .with_preserve_partitioning(sort.preserve_partitioning());
        Ok(Transformed::yes(Arc::new(sorted) as _))
    })?;
    Ok(total.data)
}
