//! A relation at a fixed point, as a table of DataFusion.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, stream};
use millpond_catalog::ObjectId;
use millpond_storage::KeyRange;

use crate::logical::{RelationSource, Rows};
use crate::oneoff::{Readable, key_range};

pub(super) struct RelationProvider {
    object: ObjectId,
    rows: Rows,
    schema: SchemaRef,
    relations: Arc<dyn Readable>,
}

impl RelationProvider {
    pub fn new(source: &RelationSource, relations: Arc<dyn Readable>) -> Self {
        Self {
            object: source.object,
            rows: source.rows,
            schema: Arc::clone(&source.schema),
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

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let has_index = self.rows == Rows::Snapshot && !self.relations.orders(self.object).is_empty();
        let support = |filter: &&Expr| match has_index && key_range::is_comparison(filter, &self.schema) {
            // A filter above looks at what the index finds once more.
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            None => Arc::clone(&self.schema),
            Some(projection) => Arc::new(self.schema.project(projection)?),
        };
        let range = match self.rows {
            // Run once, there is one moment.
            Rows::Snapshot | Rows::LookedUp => {
                key_range::choose(filters, &self.schema, &self.relations.orders(self.object))?
            }
            Rows::Written | Rows::Numbered => None,
        };
        let rows = RelationRows {
            range,
            object: self.object,
            rows: self.rows,
            number: self.schema.fields().len().saturating_sub(1),
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
    range: Option<KeyRange>,
    object: ObjectId,
    rows: Rows,
    /// Position of the column with the row's number, where rows are numbered.
    number: usize,
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
        let projection = self.projection.as_deref();
        let rows = match self.rows {
            Rows::Snapshot | Rows::LookedUp => match &self.range {
                Some(range) => self.relations.scan_range(self.object, projection, range),
                None => self.relations.scan(self.object, projection),
            },
            Rows::Written => self.relations.written(projection),
            Rows::Numbered => self.numbered(),
        };
        rows.unwrap_or_else(|error| {
            let failed = stream::iter([Err(DataFusionError::from(error))]);
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), failed))
        })
    }
}

impl RelationRows {
    /// Rows with their numbers. A snapshot gives its rows in the same order at every scan.
    fn numbered(&self) -> crate::error::Result<SendableRecordBatchStream> {
        let wanted: Vec<usize> = match &self.projection {
            Some(projection) => projection.clone(),
            None => (0..=self.number).collect(),
        };
        let stored: Vec<usize> = wanted
            .iter()
            .copied()
            .filter(|column| *column != self.number)
            .collect();
        let rows = self.relations.scan(self.object, Some(&stored))?;
        let schema = Arc::clone(&self.schema);
        let number = self.number;
        let mut next = 0_i64;
        let numbered = rows.map(move |batch| {
            let batch = batch?;
            let mut rest = batch.columns().iter();
            let begin = next;
            next += i64::try_from(batch.num_rows()).unwrap_or(i64::MAX);
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(begin..next));
            let columns = wanted.iter().map(|column| match *column == number {
                true => Some(Arc::clone(&numbers)),
                false => rest.next().cloned(),
            });
            let columns = columns.flatten().collect();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(
                Arc::clone(&schema),
                columns,
                &options,
            )?)
        });
        let adapter = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), numbered);
        Ok(Box::pin(adapter))
    }
}
