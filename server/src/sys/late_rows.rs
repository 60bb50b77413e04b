//! `sys.late_rows`: rows that came too late for a view, with the watermark that they were late by.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::TimestampMicrosecondType;
use datafusion::error::{DataFusionError, Result};
use millpond_engine::query::status::QueryStatus;

use super::running;
use crate::pg_catalog::{Rows, SystemContext, Value};

pub fn late_rows(context: &SystemContext, rows: &mut Rows) {
    for (status, _) in running(context) {
        if let Err(error) = add_query(context, &status, rows) {
            rows.fail(error);
        }
    }
}

fn add_query(context: &SystemContext, status: &QueryStatus, rows: &mut Rows) -> Result<()> {
    // A query that was dropped meanwhile has none.
    let engine = context.server.engine.as_ref();
    let Some(Ok(relation)) = engine.map(|engine| engine.late_rows(status.object)) else {
        return Ok(());
    };
    for batch in relation.snapshot().scan() {
        let batch = batch.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let column = |name: &str| -> Result<ArrayRef> {
            let column = batch.column_by_name(name).cloned();
            column.ok_or_else(|| DataFusionError::Internal(format!("late rows have no column {name}")))
        };
        let (epoch, time, operator) = (column("epoch")?, column("time")?, column("operator")?);
        let (event_time, watermark, row) = (column("event_time")?, column("watermark")?, column("row")?);
        let micros =
            |array: &ArrayRef, row: usize| array.as_primitive::<TimestampMicrosecondType>().value(row);
        for position in 0..batch.num_rows() {
            let value = |array: &ArrayRef| Value::read(array as &dyn Array, position);
            let lateness = micros(&watermark, position).saturating_sub(micros(&event_time, position));
            rows.add([
                ("query", (&status.name).into()),
                ("operator_name", value(&operator)),
                ("event_time", value(&event_time)),
                ("watermark", value(&watermark)),
                ("lateness", Value::Interval(lateness)),
                ("epoch", value(&epoch)),
                ("time", value(&time)),
                ("row", value(&row)),
            ]);
        }
    }
    Ok(())
}
