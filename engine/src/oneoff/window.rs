//! Window assignment in a one-off query, by the same function as in a streaming one.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::StreamExt;

use crate::logical::{SessionAssign, WindowAssign};
use crate::oneoff::session::SessionExec;
use crate::operator::spec::WindowAssignSpec;
use crate::operator::window_assign::expand;

pub(super) struct WindowPlanner;

#[async_trait]
impl ExtensionPlanner for WindowPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let [input] = physical_inputs else { return Ok(None) };
        if let Some(assign) = node.as_any().downcast_ref::<SessionAssign>() {
            return Ok(Some(Arc::new(SessionExec::try_new(assign, Arc::clone(input))?)));
        }
        let Some(assign) = node.as_any().downcast_ref::<WindowAssign>() else {
            return Ok(None);
        };
        let spec = WindowAssignSpec {
            time: assign.time_column()?,
            rule: assign.rule,
            output: Arc::clone(UserDefinedLogicalNode::schema(assign).inner()),
            drop_late: false,
        };
        Ok(Some(Arc::new(WindowExec::new(spec, Arc::clone(input)))))
    }
}

#[derive(Debug)]
struct WindowExec {
    spec: WindowAssignSpec,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl WindowExec {
    fn new(spec: WindowAssignSpec, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&spec.output)),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self {
            spec,
            input,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for WindowExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "WindowExec: {} over {}",
            self.spec.rule,
            self.spec.output.field(self.spec.time).name()
        )
    }
}

impl ExecutionPlan for WindowExec {
    fn name(&self) -> &str {
        "WindowExec"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.spec.output)
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
            (Some(input), true) => Ok(Arc::new(WindowExec::new(self.spec.clone(), input))),
            _ => internal_err!("WindowExec has one child"),
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
        let windows = input.map(move |rows| Ok(expand(&spec, &rows?, None)?.rows));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), windows)))
    }
}
