//! `sys.late_rows('v' [, 'source'])` in FROM: the rows that came too late for a view, with all columns of the source that
//! they came from. Behind those stand what is known of their coming; `INSERT INTO source SELECT ..` puts them back.

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, IntervalMonthDayNanoArray, RecordBatch, StructArray,
    new_null_array,
};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{Field, IntervalMonthDayNano, Schema, SchemaRef, TimestampMicrosecondType};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableSource};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::scalar::ScalarValue;
use futures::stream;
use millpond_catalog::{ObjectId, SqlType};
use millpond_engine::engine::Engine;
use millpond_engine::query::late_rows::LateSource;
use millpond_sql::{Error, ErrorKind};
use millpond_storage::Relation;

use crate::execute::evaluate;
use crate::function::query_object;
use crate::pg_catalog::SystemContext;

pub const NAME: &str = "late_rows";

/// What follows the columns of the source.
const TOLD: [(&str, SqlType); 7] = [
    ("source", SqlType::Text),
    ("partition", SqlType::Text),
    ("offset", SqlType::Int8),
    ("event_time", SqlType::TimestampTz),
    ("watermark", SqlType::TimestampTz),
    ("lateness", SqlType::Interval),
    ("epoch", SqlType::Int8),
];

#[derive(Clone)]
struct LateRows {
    relation: Arc<Relation>,
    source: LateSource,
    schema: SchemaRef,
}

pub fn late_rows(
    engine: &Engine,
    context: &SystemContext,
    arguments: &[Expr],
) -> Result<Arc<dyn TableSource>> {
    let names = arguments.iter().map(text).collect::<Result<Vec<_>>>()?;
    let (view, source) = match &names[..] {
        [view] => (view, None),
        [view, source] => (view, Some(source.as_str())),
        _ => {
            let error = Error::new(
                ErrorKind::UndefinedFunction,
                "sys.late_rows takes the name of a streaming view, and of one of its sources",
            );
            return Err(external(error.with_hint("Write FROM sys.late_rows('v').")));
        }
    };
    let id = query_object(context, view)?;
    let sources = engine.late_sources(id).map_err(engine_error)?;
    let source = choose(context, view, sources, source)?;
    let relation = engine.late_rows(id).map_err(engine_error)?;
    let own = source.fields();
    let mut fields: Vec<Field> = own.iter().map(|field| field.as_ref().clone()).collect();
    for (name, sql_type) in TOLD {
        // A column of the source keeps its name.
        let mut name = name.to_owned();
        while fields.iter().any(|field| *field.name() == name) {
            name.insert(0, '_');
        }
        fields.push(sql_type.field(&name, true));
    }
    let schema = Arc::new(Schema::new(fields));
    let rows = LateRows {
        relation,
        source,
        schema: Arc::clone(&schema),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)])?;
    Ok(provider_as_source(Arc::new(table)))
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn engine_error(error: millpond_engine::error::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn text(argument: &Expr) -> Result<String> {
    let value = evaluate(argument).ok();
    match value.as_ref().and_then(ScalarValue::try_as_str) {
        Some(Some(text)) => Ok(text.to_owned()),
        _ => Err(external(
            Error::unsupported("sys.late_rows takes constant names")
                .with_hint("Write FROM sys.late_rows('v')."),
        )),
    }
}

/// The source that is meant.
fn choose(
    context: &SystemContext,
    view: &str,
    mut sources: Vec<LateSource>,
    wanted: Option<&str>,
) -> Result<LateSource> {
    let name = |id: ObjectId| {
        let object = context.catalog.get(id);
        object.map_or_else(String::new, |object| object.name.name.clone())
    };
    let names: Vec<String> = sources
        .iter()
        .map(|source| format!("'{}'", name(source.object)))
        .collect();
    let found = match wanted {
        None if sources.len() == 1 => Some(0),
        None => None,
        Some(wanted) => sources
            .iter()
            .position(|source| source.name == wanted || name(source.object) == wanted),
    };
    match (found, wanted) {
        (Some(found), _) => Ok(sources.swap_remove(found)),
        (None, _) if sources.is_empty() => {
            let message = format!("\"{view}\" reads nothing with a watermark, so no row is late for it");
            Err(external(Error::invalid(message)))
        }
        (None, None) => {
            let error = Error::invalid(format!("\"{view}\" reads several sources with a watermark"));
            let hint = format!("Name one of them behind the view: {}.", names.join(", "));
            Err(external(error.with_hint(hint)))
        }
        (None, Some(wanted)) => {
            let message = format!("\"{view}\" reads no source \"{wanted}\" with a watermark");
            let error = Error::new(ErrorKind::UndefinedTable, message);
            Err(external(
                error.with_hint(format!("It reads {}.", names.join(", "))),
            ))
        }
    }
}

impl LateRows {
    /// Stored rows as they are shown.
    fn shown(&self, stored: &RecordBatch) -> Result<RecordBatch> {
        let source = column(stored, "source")?.as_string::<i32>();
        let own: BooleanArray = { source.iter() }
            .map(|source| Some(source.is_none_or(|source| source == self.source.name)))
            .collect();
        let stored = filter_record_batch(stored, &own)?;
        let rows = column(&stored, &self.source.column())?.as_struct();
        let mut columns = self.columns(rows);
        for name in ["source", "partition", "offset", "event_time", "watermark"] {
            columns.push(Arc::clone(column(&stored, name)?));
        }
        let micros = |name: &str| -> Result<Vec<i64>> {
            let times = column(&stored, name)?.as_primitive::<TimestampMicrosecondType>();
            Ok(times.values().to_vec())
        };
        let lateness = { micros("watermark")?.into_iter() }
            .zip(micros("event_time")?)
            .map(|(watermark, time)| watermark.saturating_sub(time).saturating_mul(1000))
            .map(|nanos| IntervalMonthDayNano::new(0, 0, nanos));
        columns.push(Arc::new(IntervalMonthDayNanoArray::from_iter_values(lateness)));
        columns.push(Arc::clone(column(&stored, "epoch")?));
        let columns = columns
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| Ok(cast(column, field.data_type())?));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// The source's own columns.
    fn columns(&self, rows: &StructArray) -> Vec<ArrayRef> {
        let fields = self.source.schema.fields().iter().enumerate();
        fields
            .map(|(position, field)| match rows.columns().get(position) {
                Some(column) => Arc::clone(column),
                None => new_null_array(field.data_type(), rows.len()),
            })
            .collect()
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch
        .column_by_name(name)
        .ok_or_else(|| DataFusionError::Internal(format!("late rows have no column {name}")))
}

impl fmt::Debug for LateRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LateRows({})", self.source.name)
    }
}

impl PartitionStream for LateRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (this, mut stored) = (self.clone(), self.relation.snapshot().scan());
        let batches = std::iter::from_fn(move || {
            let batch = stored.next()?;
            let batch = batch.map_err(|error| DataFusionError::External(Box::new(error)));
            Some(batch.and_then(|batch| this.shown(&batch)))
        });
        Box::pin(RecordBatchStreamAdapter::new(
            self.schema.clone(),
            stream::iter(batches),
        ))
    }
}
