//! System tables as DataFusion sees them: a table whose rows are computed when it is scanned.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::{TableType, provider_as_source};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableSource};
use datafusion::physical_plan::ExecutionPlan;

use super::SystemContext;
use super::definition::{self, SystemTable};

/// The system table of that name, to be planned and executed in the same statement.
pub fn system_table(schema: &str, name: &str, context: &Arc<SystemContext>) -> Option<Arc<dyn TableSource>> {
    let table = definition::find(schema, name)?;
    Some(provider_as_source(Arc::new(SystemTableProvider {
        table,
        context: context.clone(),
    })))
}

/// Names of all relations of a system schema.
pub fn system_table_names(schema: &str) -> Vec<String> {
    definition::all()
        .filter(|table| table.schema == schema)
        .map(|table| table.name.to_owned())
        .collect()
}

#[derive(Debug)]
struct SystemTableProvider {
    table: &'static SystemTable,
    context: Arc<SystemContext>,
}

#[async_trait]
impl TableProvider for SystemTableProvider {
    fn schema(&self) -> SchemaRef {
        self.table.arrow.clone()
    }

    fn table_type(&self) -> TableType {
        if self.table.is_view {
            TableType::View
        } else {
            TableType::Base
        }
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let batch = self.context.rows(self.table)?;
        let plan = MemorySourceConfig::try_new_exec(&[vec![batch]], self.schema(), projection.cloned())?;
        Ok(plan)
    }
}
