//! Lists become rows and structs become columns.
//!
//! Several lists of one row are unnested side by side, the shorter ones filled up with NULL. A row without elements gives
//! no row, unless NULL lists are to be preserved as one NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt32Array, new_null_array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Int64Type};
use millpond_storage::ChangeBatch;

use crate::error::{Error, Result};
use crate::operator::map::record_batch;
use crate::operator::spec::UnnestSpec;
use crate::operator::{Operator, Output};

pub(crate) struct Unnest {
    spec: UnnestSpec,
}

impl Unnest {
    pub fn new(spec: UnnestSpec) -> Self {
        Self { spec }
    }

    fn unnest(&self, changes: &ChangeBatch) -> Result<ChangeBatch> {
        let rows = changes.rows();
        let lists = self
            .spec
            .lists
            .iter()
            .map(|column| Ok((*column, as_list(rows.column(*column))?)));
        let lists = lists.collect::<Result<Vec<_>>>()?;
        // One entry per output row: the input row, and which element of its lists.
        let (mut origins, mut elements) = (Vec::new(), Vec::new());
        for row in 0..rows.num_rows() {
            let length = lists
                .iter()
                .map(|(_, list)| self.length(list, row))
                .max()
                .unwrap_or(1);
            origins.extend(std::iter::repeat_n(row as u32, length));
            elements.extend(0..length);
        }
        let origins = UInt32Array::from(origins);
        let mut columns = Vec::with_capacity(self.spec.sources.len());
        let mut struct_field = 0;
        for (output, source) in self.spec.sources.iter().enumerate() {
            if let Some((_, list)) = lists.iter().find(|(column, _)| column == source) {
                columns.push(take(
                    list.values(),
                    &element_positions(list, &origins, &elements),
                    None,
                )?);
                continue;
            }
            let column = rows.column(*source);
            if !self.spec.structs.contains(source) {
                columns.push(take(column, &origins, None)?);
                continue;
            }
            // Output columns of one struct stand together, in the order of its fields.
            struct_field = if output > 0 && self.spec.sources[output - 1] == *source {
                struct_field + 1
            } else {
                0
            };
            columns.push(take(&field_of(column, struct_field)?, &origins, None)?);
        }
        let length = origins.len();
        let rows = record_batch(&self.spec.output, columns, length)?;
        Ok(match changes.weights() {
            None => ChangeBatch::insertions(rows),
            Some(weights) => {
                let weights = take(weights, &origins, None)?;
                ChangeBatch::new(rows, weights.as_primitive::<Int64Type>().clone())
            }
        })
    }

    /// Output rows for one list.
    fn length(&self, list: &ListArray, row: usize) -> usize {
        let options = &self.spec.options;
        match list.value_length(row) as usize {
            _ if list.is_null(row) => usize::from(options.preserve_nulls()),
            0 => usize::from(options.expand_empty_as_null()),
            length => length,
        }
    }
}

impl Operator for Unnest {
    fn push(&mut self, _port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        output.send(self.unnest(&changes)?);
        Ok(())
    }
}

fn as_list(column: &ArrayRef) -> Result<ListArray> {
    let element = match column.data_type() {
        DataType::List(_) => return Ok(column.as_list::<i32>().clone()),
        DataType::LargeList(element) | DataType::FixedSizeList(element, _) => Arc::clone(element),
        DataType::Null => Arc::new(Field::new_list_field(DataType::Null, true)),
        other => return Err(Error::Bug(format!("{other} is no list"))),
    };
    let list = DataType::List(element);
    let list = if column.data_type().is_null() {
        new_null_array(&list, column.len())
    } else {
        cast(column, &list)?
    };
    Ok(list.as_list::<i32>().clone())
}

/// Where each output row's element stands in the list's values; NULL where the list is too short.
fn element_positions(list: &ListArray, origins: &UInt32Array, elements: &[usize]) -> Int64Array {
    let position = |(row, element): (&u32, &usize)| {
        let row = *row as usize;
        let there = list.is_valid(row) && *element < list.value_length(row) as usize;
        there.then(|| i64::from(list.value_offsets()[row]) + *element as i64)
    };
    origins.values().iter().zip(elements).map(position).collect()
}

/// A field of a struct, NULL where the struct is.
fn field_of(column: &ArrayRef, field: usize) -> Result<ArrayRef> {
    let column = column.as_struct();
    let values = column.column(field);
    match column.nulls() {
        None => Ok(Arc::clone(values)),
        Some(nulls) => Ok(arrow::compute::nullif(
            values,
            &arrow::array::BooleanArray::new(!nulls.inner(), None),
        )?),
    }
}
