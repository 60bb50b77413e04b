//! Change batches as Arrow IPC streams: how rows and weights stand in files and values.
//!
//! One stream per payload, all batches of one schema. Weights, where any batch has them, are a last column that is told by
//! its field metadata, so that no user column can be mistaken for it. What is read is checked against the invariants of
//! [`ChangeBatch`] before it is handed on.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;

use crate::change::ChangeBatch;
use crate::error::{Error, Result};

const WEIGHT_COLUMN: &str = "__weight";
const WEIGHT_MARK: &str = "millpond.weight";
/// Rows per IPC batch: bounds what a reader holds at once.
const BLOCK_ROWS: usize = 32 * 1024;

fn with_weight_column(schema: &Schema) -> SchemaRef {
    let mark = HashMap::from([(WEIGHT_MARK.to_string(), String::new())]);
    let weight = Arc::new(Field::new(WEIGHT_COLUMN, DataType::Int64, false).with_metadata(mark));
    let fields = schema
        .fields()
        .iter()
        .cloned()
        .chain([weight])
        .collect::<Vec<_>>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn without_weight_column(schema: &SchemaRef) -> (SchemaRef, bool) {
    match schema.fields().split_last() {
        Some((last, rest)) if last.metadata().contains_key(WEIGHT_MARK) => (
            Arc::new(Schema::new_with_metadata(
                rest.to_vec(),
                schema.metadata().clone(),
            )),
            true,
        ),
        _ => (schema.clone(), false),
    }
}

/// A batch that may have no columns.
pub(crate) fn batch(
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new_with_options(
        schema,
        columns,
        &RecordBatchOptions::new().with_row_count(Some(rows)),
    )
}

/// Writes `changes`, all of which have `schema`, as one stream.
pub(crate) fn write(out: impl Write, schema: &SchemaRef, changes: &[ChangeBatch]) -> Result<(), ArrowError> {
    let weighted = changes.iter().any(|c| c.weights().is_some());
    let written = if weighted {
        with_weight_column(schema)
    } else {
        schema.clone()
    };
    let mut writer = StreamWriter::try_new(out, &written)?;
    for changes in changes {
        for start in (0..changes.num_rows()).step_by(BLOCK_ROWS) {
            let (rows, weights) = changes
                .slice(start, BLOCK_ROWS.min(changes.num_rows() - start))
                .into_parts();
            let count = rows.num_rows();
            let mut columns = rows.columns().to_vec();
            if weighted {
                columns.push(Arc::new(
                    weights.unwrap_or_else(|| Int64Array::from(vec![1; count])),
                ));
            }
            writer.write(&batch(written.clone(), columns, count)?)?;
        }
    }
    writer.finish()
}

/// Reads change batches one by one. `place` names the file or record in errors.
pub(crate) struct ChangeReader {
    reader: StreamReader<io::BufReader<Box<dyn Read + Send>>>,
    schema: SchemaRef,
    weighted: bool,
    place: String,
}

impl ChangeReader {
    /// With `expected`, the stored columns must have its types, and the batches come with that very schema.
    pub(crate) fn open(
        source: Box<dyn Read + Send>,
        expected: Option<&SchemaRef>,
        place: String,
    ) -> Result<Self> {
        let reader = StreamReader::try_new_buffered(source, None)
            .map_err(|error| read_error(&place, "open", error))?;
        let (stored, weighted) = without_weight_column(&reader.schema());
        let schema = match expected {
            None => stored,
            Some(expected) if same_types(&stored, expected) => expected.clone(),
            Some(expected) => {
                let what = format!("it has columns {} instead of {}", types(&stored), types(expected));
                return Err(Error::corrupt(place, what));
            }
        };
        Ok(Self {
            reader,
            schema,
            weighted,
            place,
        })
    }

    fn changes(&self, stored: RecordBatch) -> Result<ChangeBatch> {
        let (count, mut columns) = (stored.num_rows(), stored.columns().to_vec());
        let weights = if self.weighted { columns.pop() } else { None };
        let rows = batch(self.schema.clone(), columns, count)
            .map_err(|error| Error::corrupt(&self.place, error.to_string()))?;
        let Some(weights) = weights else {
            return Ok(ChangeBatch::insertions(rows));
        };
        match weights.as_primitive_opt::<Int64Type>() {
            Some(weights) if weights.null_count() == 0 && !weights.values().contains(&0) => {
                Ok(ChangeBatch::new(rows, weights.clone()))
            }
            _ => Err(Error::corrupt(
                &self.place,
                "its weights are not whole numbers other than zero",
            )),
        }
    }
}

impl Iterator for ChangeReader {
    type Item = Result<ChangeBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.reader.next() {
            Some(Ok(stored)) => Some(self.changes(stored)),
            Some(Err(error)) => Some(Err(read_error(&self.place, "read", error))),
            // The end of the stream must be the end of the source, which verifies its own last frame.
            None => match self.reader.get_mut().read(&mut [0]) {
                Ok(0) => None,
                Ok(_) => Some(Err(Error::corrupt(&self.place, "bytes follow the last batch"))),
                Err(error) => Some(Err(read_error(
                    &self.place,
                    "read",
                    ArrowError::IoError(String::new(), error),
                ))),
            },
        }
    }
}

fn read_error(place: &str, action: &'static str, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) if source.kind() != io::ErrorKind::InvalidData => {
            Error::io(place, action, source)
        }
        ArrowError::IoError(_, source) => Error::corrupt(place, source.to_string()),
        other => Error::corrupt(place, other.to_string()),
    }
}

/// Names and metadata may differ (a column can be renamed), what the bytes mean may not.
pub(crate) fn same_types(a: &Schema, b: &Schema) -> bool {
    a.fields().len() == b.fields().len()
        && a.fields()
            .iter()
            .zip(b.fields())
            .all(|(a, b)| a.data_type().equals_datatype(b.data_type()))
}

pub(crate) fn types(schema: &Schema) -> String {
    let fields = schema
        .fields()
        .iter()
        .map(|f| format!("{} {}", f.name(), f.data_type()))
        .collect::<Vec<_>>();
    format!("({})", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;

    use super::*;

    fn sample() -> (SchemaRef, RecordBatch) {
        let mark = HashMap::from([("sql".to_string(), "text".to_string())]);
        let schema = Arc::new(Schema::new_with_metadata(
            vec![Field::new("__weight", DataType::Utf8, true).with_metadata(mark.clone())],
            mark,
        ));
        let rows = batch(
            schema.clone(),
            vec![Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]))],
            3,
        );
        (schema, rows.unwrap())
    }

    fn read(bytes: Vec<u8>, expected: Option<&SchemaRef>) -> Result<Vec<ChangeBatch>> {
        ChangeReader::open(Box::new(io::Cursor::new(bytes)), expected, "test".to_string())?.collect()
    }

    #[test]
    fn weights_and_metadata_survive() {
        let (schema, rows) = sample();
        let plain = ChangeBatch::insertions(rows.clone());
        let weighted = ChangeBatch::new(rows.clone(), vec![1, -2, 3].into());
        let mut bytes = Vec::new();
        write(&mut bytes, &schema, &[plain.clone(), weighted.clone()]).unwrap();
        let back = read(bytes, None).unwrap();
        assert_eq!(back[0].rows(), &rows);
        assert_eq!(back[0].weights().unwrap().values(), &[1, 1, 1]);
        assert_eq!(back[1], weighted);
        assert_eq!(back[1].schema().metadata(), schema.metadata());

        let mut bytes = Vec::new();
        write(&mut bytes, &schema, std::slice::from_ref(&plain)).unwrap();
        assert_eq!(read(bytes, Some(&schema)).unwrap(), [plain]);
    }

    #[test]
    fn batches_without_columns_keep_their_count() {
        let schema = Arc::new(Schema::empty());
        let changes = ChangeBatch::insertions(batch(schema.clone(), vec![], 5).unwrap());
        let mut bytes = Vec::new();
        write(&mut bytes, &schema, std::slice::from_ref(&changes)).unwrap();
        assert_eq!(read(bytes, None).unwrap(), [changes]);
    }

    #[test]
    fn other_columns_and_cut_streams_are_damage() {
        let (schema, rows) = sample();
        let mut bytes = Vec::new();
        write(&mut bytes, &schema, &[ChangeBatch::insertions(rows)]).unwrap();
        let other = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        assert!(matches!(
            read(bytes.clone(), Some(&other)),
            Err(Error::Corrupt { .. })
        ));
        bytes.truncate(bytes.len() - 40);
        assert!(matches!(
            read(bytes, None),
            Err(Error::Corrupt { .. } | Error::Io { .. })
        ));
    }
}
