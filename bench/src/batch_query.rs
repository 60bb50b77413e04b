//! DataFusion alone: the equivalent batch query, run once over the same data, its result discarded.

use std::sync::Arc;

use anyhow::Result;
use datafusion::datasource::MemTable;
use datafusion::prelude::{JsonReadOptions, SessionConfig, SessionContext};
use futures::StreamExt;

use crate::nexmark;
use crate::parquet_table::ParquetTable;
use crate::queries::Query;
use crate::streaming_query::{Format, Input};

/// Runs the query on so many threads; the number of rows of its result.
pub fn run(query: &Query, input: &Input, threads: usize) -> Result<usize> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
        let schema = nexmark::schema();
        match input {
            Input::Memory(batches) => {
                let mut partitions = vec![Vec::new(); threads];
                for (index, batch) in batches.iter().enumerate() {
                    partitions[index % threads].push(batch.clone());
                }
                context.register_table("bid", Arc::new(MemTable::try_new(schema, partitions)?))?;
            }
            Input::Files(folder, Format::Parquet) => {
                let table = ParquetTable::open(folder, threads)?;
                context.register_table("bid", Arc::new(table))?;
            }
            Input::Files(folder, Format::Json) => {
                let options = JsonReadOptions::default().schema(&schema).file_extension(".json");
                context
                    .register_json("bid", folder.to_string_lossy(), options)
                    .await?;
            }
        }
        // On a task of its own, so that the work is on the runtime's threads only.
        let mut rows = context.sql(query.batch).await?.execute_stream().await?;
        let counted = tokio::spawn(async move {
            let mut count = 0;
            while let Some(batch) = rows.next().await {
                count += batch?.num_rows();
            }
            Ok::<_, datafusion::error::DataFusionError>(count)
        });
        Ok(counted.await??)
    })
}
