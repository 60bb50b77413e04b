//! `LATE DATA TO t`: late rows go into a table, too, with the commit of the epoch that they came in.
//!
//! A column of the table is that of the source of the same name, else what is told of the row by that name.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray, RecordBatch, StructArray, new_null_array};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, IntervalUnit, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

use super::LateSource;
use crate::error::{Error, Result};
use crate::table::Table;

/// What is told of a late row, beside `lateness`.
const TOLD: [&str; 6] = [
    "source",
    "partition",
    "offset",
    "event_time",
    "watermark",
    "epoch",
];
const LATENESS: &str = "lateness";

pub(crate) struct LateTarget {
    pub(crate) table: Arc<Table>,
    /// Per source, where each column of the table comes from.
    columns: Vec<Vec<Origin>>,
}

#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A column of the source.
    Row(usize),
    Told(&'static str),
    Lateness,
    Nothing,
}

impl LateTarget {
    pub(crate) fn new(table: Arc<Table>, sources: &[LateSource]) -> Result<Self> {
        if sources.is_empty() {
            return Err(refused(
                "LATE DATA TO is given, but the query reads nothing with a watermark".to_owned(),
                "Rows are late by the watermark of a relation: WATERMARK FOR ts AS ts - INTERVAL '10 minutes'.",
            ));
        }
        let schema = table.relation.schema();
        let of_source = |source: &LateSource| {
            let columns = schema.fields().iter();
            columns
                .map(|field| origin(field, source, &table.name))
                .collect::<Result<Vec<_>>>()
        };
        let columns = sources.iter().map(of_source).collect::<Result<Vec<_>>>()?;
        let is_row = |origin: &Origin| matches!(origin, Origin::Row(_));
        if !columns.iter().flatten().any(is_row) {
            let message = format!("\"{}\" has no column of the rows that may be late", table.name);
            return Err(refused(
                message,
                "Late rows go by the names of their columns. LIKE makes a table with the columns of another.",
            ));
        }
        Ok(Self { table, columns })
    }

    /// The rows of the table that late rows as they are stored make. All of them come from one source, if any is known.
    pub(super) fn rows(
        &self,
        stored: &ChangeBatch,
        sources: &[LateSource],
        source: Option<usize>,
    ) -> Result<ChangeBatch> {
        let (schema, length) = (self.table.relation.schema(), stored.num_rows());
        // Of an unknown source, what is told of the row.
        let origins = &self.columns[source.unwrap_or(0)];
        let row = source
            .map(|source| column(stored.rows(), &sources[source].column()))
            .transpose()?;
        let row: Option<&StructArray> = row.map(|row| row.as_struct());
        let columns = schema.fields().iter().zip(origins).map(|(field, origin)| {
            Ok(match (origin, row) {
                (Origin::Row(position), Some(row)) => Arc::clone(row.column(*position)),
                (Origin::Told(name), _) => Arc::clone(column(stored.rows(), name)?),
                (Origin::Lateness, _) => lateness(stored.rows())?,
                (Origin::Row(_), None) | (Origin::Nothing, _) => new_null_array(field.data_type(), length),
            })
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        Ok(stored.with_rows(RecordBatch::try_new(schema.clone(), columns)?))
    }
}

fn origin(field: &Field, source: &LateSource, table: &str) -> Result<Origin> {
    let name = field.name();
    if let Some((position, own)) = source.schema.column_with_name(name) {
        let same = own.data_type() == field.data_type() && own.metadata() == field.metadata();
        return match same {
            true => Ok(Origin::Row(position)),
            false => Err(other_type(name, table, &source.name)),
        };
    }
    let stored = super::schema(&[]);
    let (origin, data_type) = match TOLD.into_iter().find(|told| *told == name) {
        Some(told) => (
            Origin::Told(told),
            stored.field_with_name(told)?.data_type().clone(),
        ),
        None if name == LATENESS => (Origin::Lateness, DataType::Interval(IntervalUnit::MonthDayNano)),
        None => return Ok(Origin::Nothing),
    };
    match *field.data_type() == data_type {
        true => Ok(origin),
        false => Err(other_type(name, table, "sys.late_rows")),
    }
}

fn other_type(column: &str, table: &str, of: &str) -> Error {
    refused(
        format!("column \"{column}\" of \"{table}\" has another type than that of \"{of}\""),
        "Late rows go by the names of their columns, and keep their types.",
    )
}

fn refused(message: String, hint: &str) -> Error {
    Error::Unsupported {
        message,
        hint: Some(hint.to_owned()),
    }
}

fn column<'a>(rows: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    rows.column_by_name(name)
        .ok_or_else(|| Error::Bug(format!("late rows have no column {name}")))
}

/// By how much the watermark was past the row.
fn lateness(stored: &RecordBatch) -> Result<ArrayRef> {
    let micros = |name: &str| -> Result<ScalarBuffer<i64>> {
        Ok(column(stored, name)?
            .as_primitive::<TimestampMicrosecondType>()
            .values()
            .clone())
    };
    let (watermarks, times) = (micros("watermark")?, micros("event_time")?);
    let lateness = { watermarks.iter().zip(times.iter()) }
        .map(|(watermark, time)| watermark.saturating_sub(*time).saturating_mul(1000))
        .map(|nanos| IntervalMonthDayNano::new(0, 0, nanos));
    Ok(Arc::new(IntervalMonthDayNanoArray::from_iter_values(lateness)))
}
