//! Session windows in a one-off query, by the same code as in a streaming one.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::UserDefinedLogicalNodeCore;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions, common,
};
use futures::stream;

use crate::logical::SessionAssign;
use crate::operator::session;
use crate::operator::spec::{OperatorSpec, SessionSpec};

#[derive(Debug)]
pub(super) struct SessionExec {
    spec: SessionSpec,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl SessionExec {
    pub fn try_new(assign: &SessionAssign, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let spec = SessionSpec {
            input: input.schema(),
            time: assign.time_column()?,
            gap: assign.gap()?,
            keys: assign.key_columns()?,
            watermark: false,
            final_only: false,
            output: Arc::clone(UserDefinedLogicalNodeCore::schema(assign).inner()),
        };
        Ok(Self::new(spec, input))
    }

    fn new(spec: SessionSpec, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&spec.output)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            spec,
            input,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for SessionExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "SessionExec: {}",
            OperatorSpec::SessionAssign(self.spec.clone())
        )
    }
}

impl ExecutionPlan for SessionExec {
    fn name(&self) -> &str {
        "SessionExec"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.spec.output)
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(self.spec.clone(), input))),
            _ => internal_err!("SessionExec has one child"),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let spec = self.spec.clone();
        let input = self.input.execute(partition, context)?;
        let rows = stream::once(async move {
            let batches = common::collect(input).await?;
            Ok(session::SessionAssign::run_once(spec, batches)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
