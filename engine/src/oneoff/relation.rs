//! A relation at a fixed point, as a table of DataFusion.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;
use millpond_catalog::ObjectId;

use crate::oneoff::Readable;

pub(super) struct RelationProvider {
    object: ObjectId,
    schema: SchemaRef,
    relations: Arc<dyn Readable>,
}

impl RelationProvider {
    pub fn new(object: ObjectId, schema: SchemaRef, relations: Arc<dyn Readable>) -> Self {
        Self {
            object,
            schema,
            relations,
        }
    }
}

impl fmt::Debug for RelationProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelationProvider({})", self.object)
    }
}

#[async_trait]
impl TableProvider for RelationProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            None => Arc::clone(&self.schema),
            Some(projection) => Arc::new(self.schema.project(projection)?),
        };
        let rows = RelationRows {
            object: self.object,
            projection: projection.cloned(),
            schema: Arc::clone(&schema),
            relations: Arc::clone(&self.relations),
        };
        Ok(Arc::new(StreamingTableExec::try_new(
            schema,
            vec![Arc::new(rows)],
            None,
            [],
            false,
            limit,
        )?))
    }
}

struct RelationRows {
    object: ObjectId,
    projection: Option<Vec<usize>>,
    schema: SchemaRef,
    relations: Arc<dyn Readable>,
}

impl fmt::Debug for RelationRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelationRows({})", self.object)
    }
}

impl PartitionStream for RelationRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.relations
            .scan(self.object, self.projection.as_deref())
            .unwrap_or_else(|error| {
                let failed = stream::iter([Err(DataFusionError::from(error))]);
                Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), failed))
            })
    }
}
