//! Input that is older than the watermark, kept while an epoch runs: what operators drop as late came from these rows.
//!
//! They are kept with all columns of their relation or source, whichever of them the query reads, and with their places.
//! A source that cannot give the other columns of a batch is read once more when something was dropped.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{cast, concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

use super::input::{InputBatch, InputQueue, InputReader};
use crate::error::Result;
use crate::source::{Place, WholeRows};

/// Old rows of one input.
#[derive(Debug, Clone, Default)]
pub(crate) struct OldRows {
    pub(crate) batches: Vec<OldBatch>,
    /// Some are missing.
    pub(crate) incomplete: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct OldBatch {
    /// With all columns, each of which may be NULL where it is not known.
    pub(crate) changes: ChangeBatch,
    pub(crate) places: Option<Vec<Place>>,
}

impl OldRows {
    pub(super) fn add(&mut self, mut other: OldRows) {
        self.batches.append(&mut other.batches);
        self.incomplete |= other.incomplete;
    }
}

/// The rows whose time in `column` is before the watermark.
pub(crate) fn older_than(changes: &ChangeBatch, column: usize, watermark: i64) -> Result<Vec<usize>> {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let times = cast(changes.rows().column(column), &micros)?;
    let times = times.as_primitive::<TimestampMicrosecondType>();
    let values = times.values().iter().enumerate();
    let old = values.filter(|(row, time)| **time < watermark && times.is_valid(*row));
    Ok(old.map(|(row, _)| row).collect())
}

impl InputReader {
    /// These rows of the batch that was read last; `None` if the source has to be read for them. With `partial`, columns
    /// that were not read are NULL.
    pub(crate) fn old_batch(
        &mut self,
        queue: &InputQueue,
        batch: &InputBatch,
        rows: &[usize],
        partial: bool,
    ) -> Result<Option<OldBatch>> {
        let positions = UInt32Array::from_iter_values(rows.iter().map(|row| *row as u32));
        if let Some((changes, cut)) = &batch.logged {
            let taken = take_record_batch(changes.rows(), &positions)?;
            let schema = nullable(&taken.schema());
            let taken = RecordBatch::try_new(schema, taken.columns().to_vec())?;
            let weights: Int64Array = rows.iter().map(|row| changes.weight(*row)).collect();
            let place = Place {
                partition: None,
                offset: i64::try_from(cut.0).unwrap_or(i64::MAX),
            };
            return Ok(Some(OldBatch {
                changes: ChangeBatch::new(taken, weights),
                places: Some(vec![place; rows.len()]),
            }));
        }
        let (Some(reader), Some(source)) = (&mut self.slice, &queue.source) else {
            return Ok(None);
        };
        let schema = nullable(&source.schema());
        let places = reader.places(rows)?;
        let read = take_record_batch(batch.changes.rows(), &positions)?;
        let read = widened(&read, &queue.projection, &schema)?;
        let rows = if partial || queue.projection.len() == schema.fields().len() {
            read
        } else {
            match reader.whole(rows)? {
                Some(whole) => completed(&read, whole, &schema)?,
                None => return Ok(None),
            }
        };
        Ok(Some(OldBatch {
            changes: ChangeBatch::insertions(rows),
            places,
        }))
    }
}

/// Whatever is known of rows: all columns, or those that were read.
fn completed(read: &RecordBatch, whole: WholeRows, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = RecordBatch::try_new(Arc::clone(schema), whole.rows.columns().to_vec())?;
    if whole.of.len() == read.num_rows() {
        return Ok(rows);
    }
    let both = concat_batches(schema, [&rows, read])?;
    let positions = (0..read.num_rows()).map(|row| match whole.of.binary_search(&row) {
        Ok(position) => position as u32,
        Err(_) => (rows.num_rows() + row) as u32,
    });
    Ok(take_record_batch(
        &both,
        &UInt32Array::from_iter_values(positions),
    )?)
}

/// All columns, NULL where they were not read.
fn widened(rows: &RecordBatch, projection: &[usize], schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().enumerate().map(|(column, field)| {
        let position = projection.iter().position(|read| *read == column);
        match position {
            Some(position) => Arc::clone(rows.column(position)),
            None => new_null_array(field.data_type(), rows.num_rows()),
        }
    });
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect())?)
}

/// The same columns, of which each may be unknown.
pub(crate) fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
