//! Rows that came too late for a view: what they belong to was final, and its state freed.
//!
//! They are kept in a relation beside the view's: what the operator saw as JSON, and the row of the source with all its
//! columns in a struct of the source's own, where [`trace`] finds it. [`retention`] takes them away again, and [`target`]
//! sends them to a table.

pub(crate) mod retention;
pub(crate) mod target;
pub(crate) mod trace;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use millpond_catalog::ObjectId;
use millpond_storage::ChangeBatch;

use super::step::QueryInput;
use crate::dataflow::Dataflow;
use crate::epoch::EpochContext;
use crate::error::Result;
use crate::operator::LateRow;
use crate::runtime::{join, nullable};
use crate::source::Place;

use target::LateTarget;

/// A relation or source with a watermark that a query reads.
#[derive(Debug, Clone)]
pub struct LateSource {
    pub object: ObjectId,
    pub name: String,
    /// All its columns.
    pub schema: SchemaRef,
}

impl LateSource {
    /// The column of the stored relation that holds the source's row.
    pub fn column(&self) -> String {
        format!("row_of_{}", self.object)
    }

    /// All its columns, of which each may be unknown.
    pub fn fields(&self) -> Fields {
        nullable(&self.schema).fields().clone()
    }
}

/// The sources of a query that rows can come too late from, each once, by id.
pub(crate) fn sources(dataflow: &Dataflow, inputs: &[QueryInput]) -> Vec<LateSource> {
    let timed = dataflow
        .inputs
        .iter()
        .zip(inputs)
        .filter(|(input, _)| input.is_timed());
    let mut sources: Vec<LateSource> = timed
        .map(|(_, input)| LateSource {
            object: input.object,
            name: input.name.clone(),
            schema: input.schema(),
        })
        .collect();
    sources.sort_by_key(|source| source.object);
    sources.dedup_by_key(|source| source.object);
    sources
}

/// Columns of the relation that [`crate::engine::Engine::late_rows`] returns: `epoch`, the epoch's processing `time`, the
/// `operator` that dropped the row, its `event_time`, the `watermark`, what the operator saw as JSON, the name of the
/// `source`, its `partition` and `offset` where it knows them, and per source a struct of all its columns.
pub fn schema(sources: &[LateSource]) -> SchemaRef {
    let time = |name: &str| {
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        Field::new(name, utc, false)
    };
    let mut fields = vec![
        Field::new("epoch", DataType::Int64, false),
        time("time"),
        Field::new("operator", DataType::Utf8, false),
        time("event_time"),
        time("watermark"),
        Field::new("row", DataType::Utf8, false),
        Field::new("source", DataType::Utf8, true),
        Field::new("partition", DataType::Utf8, true),
        Field::new("offset", DataType::Int64, true),
    ];
    let rows = sources
        .iter()
        .map(|source| Field::new(source.column(), DataType::Struct(source.fields()), true));
    fields.extend(rows);
    Arc::new(Schema::new(fields))
}

/// Late rows of one source.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// Index in the [`sources`] of the query; `None` where they came from several.
    pub(crate) source: Option<usize>,
    /// All columns of the source, where they could be found.
    pub(crate) rows: Option<RecordBatch>,
    /// Where they stand, where the source can tell.
    pub(crate) places: Option<Vec<Place>>,
    /// With the name of the operator.
    pub(crate) late: Vec<(String, LateRow)>,
}

/// What an epoch adds.
#[derive(Default)]
pub(crate) struct Added {
    pub(crate) kept: Vec<ChangeBatch>,
    /// For the table that gets them, too.
    pub(crate) sent: Vec<ChangeBatch>,
}

/// The rows that an epoch adds.
pub(crate) fn changes(
    context: &EpochContext,
    sources: &[LateSource],
    told: &[Told],
    target: Option<&LateTarget>,
) -> Result<Added> {
    let (schema, mut all) = (schema(sources), Added::default());
    for told in told {
        let stored = added(context, sources, told, &schema)?;
        if let Some(target) = target {
            all.sent.push(target.rows(&stored, sources, told.source)?);
        }
        all.kept.push(stored);
    }
    Ok(Added {
        kept: join(all.kept)?,
        sent: join(all.sent)?,
    })
}

fn partitions(told: &Told) -> ArrayRef {
    match &told.places {
        Some(places) => {
            let partitions = places.iter().map(|place| place.partition.as_deref());
            Arc::new(StringArray::from_iter(partitions))
        }
        None => new_null_array(&DataType::Utf8, told.late.len()),
    }
}

fn offsets(told: &Told) -> ArrayRef {
    match &told.places {
        Some(places) => Arc::new(Int64Array::from_iter_values(
            places.iter().map(|place| place.offset),
        )),
        None => new_null_array(&DataType::Int64, told.late.len()),
    }
}

fn added(
    context: &EpochContext,
    sources: &[LateSource],
    told: &Told,
    schema: &SchemaRef,
) -> Result<ChangeBatch> {
    let (late, length) = (&told.late, told.late.len());
    let times = |of: &dyn Fn(&LateRow) -> i64| -> ArrayRef {
        let times = TimestampMicrosecondArray::from_iter_values(late.iter().map(|(_, row)| of(row)));
        Arc::new(times.with_timezone("UTC"))
    };
    let epoch = i64::try_from(context.epoch.0).unwrap_or(i64::MAX);
    let source = told.source.map(|source| sources[source].name.as_str());
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_value(epoch, length)),
        times(&|_| context.processing_time_us),
        Arc::new(StringArray::from_iter_values(
            late.iter().map(|(operator, _)| operator),
        )),
        times(&|row| row.time_us),
        times(&|row| row.watermark_us),
        Arc::new(StringArray::from_iter_values(
            late.iter()
                .map(|(_, row)| String::from_utf8_lossy(&row.json()).into_owned()),
        )),
        Arc::new(StringArray::from_iter(std::iter::repeat_n(source, length))),
        partitions(told),
        offsets(told),
    ];
    for (index, source) in sources.iter().enumerate() {
        let rows = told.rows.as_ref().filter(|_| told.source == Some(index));
        columns.push(match rows {
            Some(rows) => Arc::new(StructArray::try_new(
                source.fields(),
                rows.columns().to_vec(),
                None,
            )?),
            None => new_null_array(&DataType::Struct(source.fields()), length),
        });
    }
    let batch = RecordBatch::try_new(Arc::clone(schema), columns)?;
    let weights = late.iter().map(|(_, row)| row.count).collect::<Vec<_>>();
    Ok(ChangeBatch::new(batch, weights.into()))
}
