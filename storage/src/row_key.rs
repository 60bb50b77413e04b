//! When two rows are the same row, and summing changes by it.
//!
//! Rows are equal when all columns are: NULL equals NULL, -0.0 equals 0.0 and every NaN equals every NaN, as in Postgres'
//! grouping. A row's key is its encoding in Arrow's row format with floats made canonical, so equal keys mean equal rows.

use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, LargeListArray, ListArray, RecordBatch, StructArray,
};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use hashbrown::HashTable;

use crate::change::ChangeBatch;
use crate::error::{Error, Result};
use crate::ipc;

/// Tests use few hashes, so that different rows often have equal ones.
const HASH_MASK: u64 = if cfg!(test) { 0xf } else { u64::MAX };

/// Makes keys of rows of one schema.
#[derive(Debug)]
pub struct RowKeys {
    schema: SchemaRef,
    /// `None` without columns, where all rows are equal.
    converter: Option<RowConverter>,
    /// Columns in which a float must be made canonical.
    floats: Vec<bool>,
    hasher: RandomState,
}

/// The keys of a batch's rows and their hashes.
#[derive(Debug)]
pub struct Keys {
    rows: Option<Rows>,
    pub(crate) hashes: Vec<u64>,
}

impl Keys {
    /// Bytes that are equal for equal rows only.
    pub fn key(&self, row: usize) -> &[u8] {
        self.rows.as_ref().map_or(&[], |rows| rows.row(row).data())
    }
}

/// Changes in which every row stands once, with its key.
pub(crate) struct Net {
    /// Keys of the batches that were summed.
    keys: Vec<Keys>,
    /// Per row of the sum: batch and row it was taken from.
    origins: Vec<(usize, usize)>,
    pub rows: RecordBatch,
    pub weights: Vec<i64>,
}

impl Net {
    pub(crate) fn key(&self, row: usize) -> &[u8] {
        let (batch, row) = self.origins[row];
        self.keys[batch].key(row)
    }

    pub(crate) fn hash(&self, row: usize) -> u64 {
        let (batch, row) = self.origins[row];
        self.keys[batch].hashes[row]
    }

    pub(crate) fn into_changes(self) -> Option<ChangeBatch> {
        if self.weights.is_empty() {
            return None;
        }
        Some(match self.weights.iter().all(|w| *w == 1) {
            true => ChangeBatch::insertions(self.rows),
            false => ChangeBatch::new(self.rows, self.weights.into()),
        })
    }
}

/// Sums equal rows over all batches and leaves out what cancels; `None` when nothing is left. All batches have one schema.
///
/// Rows keep the order of their first appearance.
pub fn consolidate(changes: &[ChangeBatch]) -> Result<Option<ChangeBatch>> {
    let Some(first) = changes.first() else {
        return Ok(None);
    };
    Ok(RowKeys::new(first.schema())?.sum(changes)?.into_changes())
}

impl RowKeys {
    pub fn new(schema: SchemaRef) -> Result<Self> {
        let fields = schema
            .fields()
            .iter()
            .map(|f| SortField::new(f.data_type().clone()))
            .collect::<Vec<_>>();
        let converter = match fields.is_empty() {
            true => None,
            false => Some(RowConverter::new(fields).map_err(|error| unsupported(&schema, error))?),
        };
        let floats = schema.fields().iter().map(|f| has_float(f.data_type())).collect();
        Ok(Self {
            schema,
            converter,
            floats,
            hasher: RandomState::new(),
        })
    }

    pub fn keys(&self, rows: &RecordBatch) -> Result<Keys> {
        let Some(converter) = &self.converter else {
            return Ok(Keys {
                rows: None,
                hashes: vec![0; rows.num_rows()],
            });
        };
        let columns = rows
            .columns()
            .iter()
            .zip(&self.floats)
            .map(|(column, float)| {
                if *float {
                    canonical(column)
                } else {
                    Ok(column.clone())
                }
            })
            .collect::<Result<Vec<_>, _>>()
            .and_then(|columns| converter.convert_columns(&columns))
            .map_err(|error| unsupported(&self.schema, error))?;
        let hashes = columns
            .iter()
            .map(|row| self.hasher.hash_one(row.data()) & HASH_MASK)
            .collect();
        Ok(Keys {
            rows: Some(columns),
            hashes,
        })
    }

    /// Sums equal rows; what cancels is left out.
    pub(crate) fn sum(&self, changes: &[ChangeBatch]) -> Result<Net> {
        let keys = changes
            .iter()
            .map(|c| self.keys(c.rows()))
            .collect::<Result<Vec<_>>>()?;
        let total = changes.iter().map(ChangeBatch::num_rows).sum();
        let mut origins: Vec<(usize, usize)> = Vec::with_capacity(total);
        let mut weights: Vec<i64> = Vec::with_capacity(total);
        let mut seen: HashTable<u32> = HashTable::with_capacity(total);
        for (batch, changes) in changes.iter().enumerate() {
            for row in 0..changes.num_rows() {
                let (hash, key) = (keys[batch].hashes[row], keys[batch].key(row));
                let same = |found: &u32| {
                    let (batch, row) = origins[*found as usize];
                    keys[batch].hashes[row] == hash && keys[batch].key(row) == key
                };
                match seen.find(hash, same) {
                    Some(found) => weights[*found as usize] += changes.weight(row),
                    None => {
                        let index = u32::try_from(origins.len())
                            .map_err(|_| Error::Invalid("more than 4 G rows in one epoch".to_string()))?;
                        origins.push((batch, row));
                        weights.push(changes.weight(row));
                        seen.insert_unique(hash, index, |i| {
                            let (batch, row) = origins[*i as usize];
                            keys[batch].hashes[row]
                        });
                    }
                }
            }
        }
        let mut kept = weights.iter().map(|w| *w != 0);
        origins.retain(|_| kept.next().expect("as many origins as weights"));
        weights.retain(|w| *w != 0);
        let batches = changes.iter().map(ChangeBatch::rows).collect::<Vec<_>>();
        let rows = gather(&self.schema, &batches, &origins)?;
        Ok(Net {
            keys,
            origins,
            rows,
            weights,
        })
    }
}

/// Rows picked out of batches: pairs of batch and row.
pub(crate) fn gather(
    schema: &SchemaRef,
    batches: &[&RecordBatch],
    picks: &[(usize, usize)],
) -> Result<RecordBatch> {
    if schema.fields().is_empty() || picks.is_empty() {
        let columns = schema
            .fields()
            .iter()
            .map(|f| arrow::array::new_empty_array(f.data_type()))
            .collect();
        return ipc::batch(schema.clone(), columns, picks.len()).map_err(|error| unsupported(schema, error));
    }
    interleave_record_batch(batches, picks).map_err(|error| unsupported(schema, error))
}

fn unsupported(schema: &Schema, error: ArrowError) -> Error {
    Error::Invalid(format!("rows {} cannot be compared: {error}", ipc::types(schema)))
}

fn has_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            has_float(field.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_float(field.data_type())),
        _ => false,
    }
}

/// The same values with -0.0 as 0.0 and one NaN.
fn canonical(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    macro_rules! floats {
        ($type:ty, $zero:expr, $nan:expr) => {
            Arc::new(column.as_primitive::<$type>().unary::<_, $type>(|v| {
                if v.is_nan() {
                    $nan
                } else if v == -$zero {
                    $zero
                } else {
                    v
                }
            }))
        };
    }
    Ok(match column.data_type() {
        DataType::Float16 => floats!(Float16Type, half_zero(), half_zero() / half_zero()),
        DataType::Float32 => floats!(Float32Type, 0.0f32, f32::NAN),
        DataType::Float64 => floats!(Float64Type, 0.0f64, f64::NAN),
        DataType::List(field) if has_float(field.data_type()) => {
            let (field, offsets, values, nulls) = column.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::try_new(field, offsets, canonical(&values)?, nulls)?)
        }
        DataType::LargeList(field) if has_float(field.data_type()) => {
            let (field, offsets, values, nulls) = column.as_list::<i64>().clone().into_parts();
            Arc::new(LargeListArray::try_new(
                field,
                offsets,
                canonical(&values)?,
                nulls,
            )?)
        }
        DataType::FixedSizeList(field, size) if has_float(field.data_type()) => {
            let (field, size, values, nulls) = (
                field.clone(),
                *size,
                column.as_fixed_size_list().values(),
                column.nulls(),
            );
            Arc::new(FixedSizeListArray::try_new(
                field,
                size,
                canonical(values)?,
                nulls.cloned(),
            )?)
        }
        DataType::Struct(_) => {
            let (fields, columns, nulls) = column.as_struct().clone().into_parts();
            let columns = columns.iter().map(canonical).collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new(fields, columns, nulls)?)
        }
        _ => column.clone(),
    })
}

/// 0.0 of the type that Arrow uses for Float16.
fn half_zero() -> <Float16Type as arrow::datatypes::ArrowPrimitiveType>::Native {
    Default::default()
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringArray};
    use arrow::datatypes::{Field, Int32Type};

    use super::*;

    fn changes(columns: Vec<(&str, ArrayRef)>, weights: Vec<i64>) -> ChangeBatch {
        ChangeBatch::new(
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap(),
            weights.into(),
        )
    }

    #[test]
    fn equal_rows_are_summed_over_batches() {
        let a = changes(
            vec![("s", Arc::new(StringArray::from(vec![Some("a"), None, Some("b")])))],
            vec![1, 1, 2],
        );
        let b = changes(
            vec![("s", Arc::new(StringArray::from(vec![None, Some("b"), Some("")])))],
            vec![1, -2, 1],
        );
        let sum = consolidate(&[a, b]).unwrap().unwrap();
        let strings = sum.rows().column(0).as_string::<i32>().iter().collect::<Vec<_>>();
        assert_eq!(strings, [Some("a"), None, Some("")]);
        assert_eq!(sum.weights().unwrap().values(), &[1, 2, 1]);
    }

    #[test]
    fn what_cancels_is_gone() {
        let a = changes(vec![("n", Arc::new(Int64Array::from(vec![1, 2])))], vec![1, -1]);
        let b = changes(vec![("n", Arc::new(Int64Array::from(vec![2, 1])))], vec![1, -1]);
        assert_eq!(consolidate(&[a, b]).unwrap(), None);
        assert_eq!(consolidate(&[]).unwrap(), None);
    }

    #[test]
    fn floats_are_equal_as_in_postgres() {
        let other_nan = f64::from_bits(f64::NAN.to_bits() ^ 0x8000_0000_0000_0001);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![
            0.0,
            -0.0,
            f64::NAN,
            other_nan,
            f64::INFINITY,
        ]));
        let sum = consolidate(&[changes(vec![("f", floats.clone())], vec![1; 5])])
            .unwrap()
            .unwrap();
        assert_eq!(sum.weights().unwrap().values(), &[2, 2, 1]);

        let field = Arc::new(Field::new("f", DataType::Float64, true));
        let structs: ArrayRef = Arc::new(StructArray::new(vec![field].into(), vec![floats], None));
        let sum = consolidate(&[changes(vec![("s", structs)], vec![1; 5])])
            .unwrap()
            .unwrap();
        assert_eq!(sum.num_rows(), 3);
    }

    #[test]
    fn nested_floats_are_canonical_and_nulls_kept() {
        let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(vec![
            Some(vec![Some(0.0), None]),
            Some(vec![Some(-0.0), None]),
            None,
            Some(vec![]),
        ]);
        let sum = consolidate(&[changes(vec![("l", Arc::new(lists))], vec![1; 4])])
            .unwrap()
            .unwrap();
        assert_eq!(sum.weights().unwrap().values(), &[2, 1, 1]);
        let fixed = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(
            vec![Some(vec![Some(0.0)]), Some(vec![Some(-0.0)]), None],
            1,
        );
        let sum = consolidate(&[changes(vec![("l", Arc::new(fixed))], vec![1; 3])])
            .unwrap()
            .unwrap();
        assert_eq!(sum.num_rows(), 2);
    }

    #[test]
    fn rows_without_columns_are_all_equal() {
        let schema = Arc::new(Schema::empty());
        let changes = ChangeBatch::insertions(ipc::batch(schema, vec![], 4).unwrap());
        let sum = consolidate(&[changes.clone(), changes]).unwrap().unwrap();
        assert_eq!((sum.num_rows(), sum.weight(0)), (1, 8));
    }

    #[test]
    fn dictionaries_compare_by_value() {
        let values: arrow::array::DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
        let sum = consolidate(&[changes(vec![("d", Arc::new(values))], vec![1, 1, -1])])
            .unwrap()
            .unwrap();
        assert_eq!(sum.num_rows(), 1);
    }
}
