//! Parquet files as a table of DataFusion, which is built here without its own.
//!
//! Each partition reads its share of the files one after the other, and only the columns that the query needs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::project_schema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::nexmark;

const BATCH_ROWS: usize = 8192;

/// The bids of a folder.
#[derive(Debug)]
pub struct ParquetTable {
    files: Vec<PathBuf>,
    partitions: usize,
}

impl ParquetTable {
    pub fn open(folder: &Path, partitions: usize) -> anyhow::Result<ParquetTable> {
        let entries = std::fs::read_dir(folder)?;
        let mut files = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()?;
        files.sort();
        Ok(ParquetTable { files, partitions })
    }
}

#[async_trait]
impl TableProvider for ParquetTable {
    fn schema(&self) -> SchemaRef {
        nexmark::schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = project_schema(&self.schema(), projection)?;
        let columns = projection
            .cloned()
            .unwrap_or_else(|| (0..schema.fields().len()).collect());
        let partitions = (0..self.partitions).map(|partition| -> Arc<dyn PartitionStream> {
            let files = self.files.iter().skip(partition).step_by(self.partitions);
            Arc::new(Partition {
                files: files.cloned().collect(),
                columns: columns.clone(),
                schema: schema.clone(),
            })
        });
        let scan = StreamingTableExec::try_new(schema.clone(), partitions.collect(), None, [], false, limit)?;
        Ok(Arc::new(scan))
    }
}

#[derive(Debug)]
struct Partition {
    files: Vec<PathBuf>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, columns) = (self.schema.clone(), self.columns.clone());
        let batches = self
            .files
            .clone()
            .into_iter()
            .flat_map(move |file| match read(&file, &columns) {
                Ok(reader) => Box::new(reader) as Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
                Err(error) => Box::new(std::iter::once(Err(error))),
            });
        Box::pin(RecordBatchStreamAdapter::new(
            schema,
            futures::stream::iter(batches),
        ))
    }
}

fn read(file: &Path, columns: &[usize]) -> Result<impl Iterator<Item = Result<RecordBatch>> + Send + use<>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    let reader = builder
        .with_projection(mask)
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(reader.map(|batch| Ok(batch?)))
}
