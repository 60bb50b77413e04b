//! `sys.bad_rows`: input that could not be decoded and rows on which an expression failed, with what is known of them.

use arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::error::{DataFusionError, Result};
use millpond_engine::query::status::QueryStatus;

use super::running;
use crate::pg_catalog::{Rows, SystemContext, Value};

pub fn bad_rows(context: &SystemContext, rows: &mut Rows) {
    for (status, _) in running(context) {
        if let Err(error) = add_query(context, &status, rows) {
            rows.fail(error);
        }
    }
}

fn add_query(context: &SystemContext, status: &QueryStatus, rows: &mut Rows) -> Result<()> {
    // A query that was dropped meanwhile has none.
    let Some(Ok(relation)) = context
        .server
        .engine
        .as_ref()
        .map(|engine| engine.bad_rows(status.object))
    else {
        return Ok(());
    };
    for batch in relation.snapshot().scan() {
        let batch = batch.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let column = |name: &str| -> Result<ArrayRef> { Ok(named(&batch, name)?.clone()) };
        let (epoch, time, origin) = (column("epoch")?, column("time")?, column("origin")?);
        let (position, bytes, error) = (column("position")?, column("bytes")?, column("error")?);
        for row in 0..batch.num_rows() {
            let value = |array: &ArrayRef| Value::read(array as &dyn Array, row);
            rows.add([
                ("query", (&status.name).into()),
                ("source", value(&origin)),
                ("position", value(&position)),
                ("bytes", value(&bytes)),
                ("error", value(&error)),
                ("epoch", value(&epoch)),
                ("time", value(&time)),
            ]);
        }
    }
    Ok(())
}

fn named<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch
        .column_by_name(name)
        .ok_or_else(|| DataFusionError::Internal(format!("bad rows have no column {name}")))
}
