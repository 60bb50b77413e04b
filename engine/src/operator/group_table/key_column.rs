//! The values of one group key column, by group: one implementation per way of storing values.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, BooleanBufferBuilder, GenericByteBuilder,
    PrimitiveArray, downcast_primitive, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{BinaryType, ByteArrayType, DataType, Utf8Type};
use arrow::row::{RowConverter, SortField};

use crate::error::Result;
use crate::hash::{canonical, not_a_key};

/// The values of one key column, by group. Arrays passed in were made by [`KeyColumn::prepare`].
pub(super) trait KeyColumn: Send + Sync {
    /// The array in the form that the other functions take: equal keys are equal bits.
    fn prepare(&self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(canonical(array))
    }
    fn append(&mut self, array: &ArrayRef, rows: &[usize]);
    /// True when each row's value is that of its group.
    fn all_equal(&self, array: &ArrayRef, groups: &[usize]) -> bool {
        row_by_row(self, array, groups)
    }
    fn equal(&self, group: usize, array: &ArrayRef, row: usize) -> bool;
    fn build(&self, groups: &[usize]) -> Result<ArrayRef>;
    fn retain(&mut self, keep: &[usize]);
    fn memory(&self) -> usize;
}

fn row_by_row<C: KeyColumn + ?Sized>(column: &C, array: &ArrayRef, groups: &[usize]) -> bool {
    groups
        .iter()
        .enumerate()
        .all(|(row, group)| column.equal(*group, array, row))
}

/// An empty column for keys of this type.
pub(super) fn key_column(data_type: &DataType) -> Result<Box<dyn KeyColumn>> {
    macro_rules! primitive {
        ($t:ty, $data_type:expr) => {
            Box::new(PrimitiveColumn::<$t> {
                data_type: $data_type.clone(),
                values: Vec::new(),
                nulls: Nulls::default(),
            })
        };
    }
    Ok(downcast_primitive! {
        data_type => (primitive, data_type),
        DataType::Boolean => Box::new(BooleanColumn::default()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Box::new(BytesColumn::<Utf8Type>::new(data_type)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Box::new(BytesColumn::<BinaryType>::new(data_type))
        }
        DataType::Null => Box::new(NullColumn),
        _ => {
            let converter = RowConverter::new(vec![SortField::new(data_type.clone())]);
            let converter = converter.map_err(|_| not_a_key(data_type))?;
            Box::new(RowColumn { converter, bytes: BytesColumn::<BinaryType>::new(&DataType::Binary) })
        }
    })
}

/// Which groups have NULL as their value; nothing is stored until one does.
#[derive(Default)]
struct Nulls(Vec<bool>);

impl Nulls {
    fn is_null(&self, group: usize) -> bool {
        self.0.get(group).copied().unwrap_or(false)
    }

    fn append(&mut self, groups_before: usize, array: &dyn Array, rows: &[usize]) {
        if array.null_count() == 0 {
            return;
        }
        self.0.resize(groups_before, false);
        self.0.extend(rows.iter().map(|row| array.is_null(*row)));
    }

    fn build(&self, groups: &[usize]) -> Option<NullBuffer> {
        (!self.0.is_empty()).then(|| groups.iter().map(|group| !self.is_null(*group)).collect())
    }

    fn retain(&mut self, keep: &[usize]) {
        if !self.0.is_empty() {
            self.0 = keep.iter().map(|group| self.is_null(*group)).collect();
        }
    }
}

struct PrimitiveColumn<T: ArrowPrimitiveType> {
    data_type: DataType,
    values: Vec<T::Native>,
    nulls: Nulls,
}

/// Bits, not values: a NaN key equals itself.
fn same_bits<N: arrow::datatypes::ToByteSlice>(a: &N, b: &N) -> bool {
    a.to_byte_slice() == b.to_byte_slice()
}

impl<T: ArrowPrimitiveType> KeyColumn for PrimitiveColumn<T> {
    fn append(&mut self, array: &ArrayRef, rows: &[usize]) {
        let array = array.as_primitive::<T>();
        self.nulls.append(self.values.len(), array, rows);
        let values = array.values();
        self.values.extend(rows.iter().map(|row| values[*row]));
    }

    fn all_equal(&self, array: &ArrayRef, groups: &[usize]) -> bool {
        if array.null_count() > 0 || !self.nulls.0.is_empty() {
            return row_by_row(self, array, groups);
        }
        let values = array.as_primitive::<T>().values();
        // Without an early exit, so that the loop has no branch.
        values.iter().zip(groups).fold(true, |same, (value, group)| {
            same & same_bits(value, &self.values[*group])
        })
    }

    fn equal(&self, group: usize, array: &ArrayRef, row: usize) -> bool {
        match (self.nulls.is_null(group), array.is_null(row)) {
            (false, false) => same_bits(&self.values[group], &array.as_primitive::<T>().values()[row]),
            (a, b) => a == b,
        }
    }

    fn build(&self, groups: &[usize]) -> Result<ArrayRef> {
        let values = groups.iter().map(|group| self.values[*group]).collect::<Vec<_>>();
        let array = PrimitiveArray::<T>::try_new(values.into(), self.nulls.build(groups))?;
        Ok(Arc::new(array.with_data_type(self.data_type.clone())))
    }

    fn retain(&mut self, keep: &[usize]) {
        self.nulls.retain(keep);
        self.values = keep.iter().map(|group| self.values[*group]).collect();
    }

    fn memory(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.nulls.0.capacity()
    }
}

#[derive(Default)]
struct BooleanColumn {
    values: Vec<bool>,
    nulls: Nulls,
}

impl KeyColumn for BooleanColumn {
    fn append(&mut self, array: &ArrayRef, rows: &[usize]) {
        let array = array.as_boolean();
        self.nulls.append(self.values.len(), array, rows);
        self.values.extend(rows.iter().map(|row| array.value(*row)));
    }

    fn equal(&self, group: usize, array: &ArrayRef, row: usize) -> bool {
        match (self.nulls.is_null(group), array.is_null(row)) {
            (false, false) => self.values[group] == array.as_boolean().value(row),
            (a, b) => a == b,
        }
    }

    fn build(&self, groups: &[usize]) -> Result<ArrayRef> {
        let mut values = BooleanBufferBuilder::new(groups.len());
        groups.iter().for_each(|group| values.append(self.values[*group]));
        Ok(Arc::new(BooleanArray::new(
            values.finish(),
            self.nulls.build(groups),
        )))
    }

    fn retain(&mut self, keep: &[usize]) {
        self.nulls.retain(keep);
        self.values = keep.iter().map(|group| self.values[*group]).collect();
    }

    fn memory(&self) -> usize {
        self.values.capacity() + self.nulls.0.capacity()
    }
}

/// Texts and byte strings, one after the other.
struct BytesColumn<T: ByteArrayType<Offset = i32>> {
    data_type: DataType,
    bytes: Vec<u8>,
    /// Where each group's value ends; it starts where the one before ends.
    ends: Vec<usize>,
    nulls: Nulls,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: ByteArrayType<Offset = i32>> BytesColumn<T> {
    fn new(data_type: &DataType) -> Self {
        Self {
            data_type: data_type.clone(),
            bytes: Vec::new(),
            ends: Vec::new(),
            nulls: Nulls::default(),
            kind: std::marker::PhantomData,
        }
    }

    fn value(&self, group: usize) -> &[u8] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.bytes[start..self.ends[group]]
    }
}

impl<T: ByteArrayType<Offset = i32>> KeyColumn for BytesColumn<T> {
    fn prepare(&self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(if *array.data_type() == T::DATA_TYPE {
            Arc::clone(array)
        } else {
            cast(array, &T::DATA_TYPE)?
        })
    }

    fn append(&mut self, array: &ArrayRef, rows: &[usize]) {
        let array = array.as_bytes::<T>();
        self.nulls.append(self.ends.len(), array, rows);
        for row in rows {
            if array.is_valid(*row) {
                self.bytes.extend_from_slice(array.value(*row).as_ref());
            }
            self.ends.push(self.bytes.len());
        }
    }

    fn equal(&self, group: usize, array: &ArrayRef, row: usize) -> bool {
        match (self.nulls.is_null(group), array.is_null(row)) {
            (false, false) => {
                let value: &[u8] = array.as_bytes::<T>().value(row).as_ref();
                self.value(group) == value
            }
            (a, b) => a == b,
        }
    }

    fn build(&self, groups: &[usize]) -> Result<ArrayRef> {
        let mut builder = GenericByteBuilder::<BinaryType>::with_capacity(groups.len(), 0);
        for group in groups {
            if self.nulls.is_null(*group) {
                builder.append_null()
            } else {
                builder.append_value(self.value(*group))
            }
        }
        let array: ArrayRef = Arc::new(builder.finish());
        Ok(if self.data_type == DataType::Binary {
            array
        } else {
            cast(&array, &self.data_type)?
        })
    }

    fn retain(&mut self, keep: &[usize]) {
        self.nulls.retain(keep);
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(keep.len());
        for group in keep {
            bytes.extend_from_slice(self.value(*group));
            ends.push(bytes.len());
        }
        self.bytes = bytes;
        self.ends = ends;
    }

    fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>() + self.nulls.0.capacity()
    }
}

/// Lists, structs and the like, in Arrow's row form.
struct RowColumn {
    converter: RowConverter,
    bytes: BytesColumn<BinaryType>,
}

impl KeyColumn for RowColumn {
    fn prepare(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let rows = self.converter.convert_columns(std::slice::from_ref(array))?;
        let mut builder = GenericByteBuilder::<BinaryType>::with_capacity(array.len(), 0);
        rows.iter().for_each(|row| builder.append_value(row));
        Ok(Arc::new(builder.finish()))
    }

    fn append(&mut self, array: &ArrayRef, rows: &[usize]) {
        self.bytes.append(array, rows);
    }

    fn all_equal(&self, array: &ArrayRef, groups: &[usize]) -> bool {
        self.bytes.all_equal(array, groups)
    }

    fn equal(&self, group: usize, array: &ArrayRef, row: usize) -> bool {
        self.bytes.equal(group, array, row)
    }

    fn build(&self, groups: &[usize]) -> Result<ArrayRef> {
        let parser = self.converter.parser();
        let rows = groups.iter().map(|group| parser.parse(self.bytes.value(*group)));
        Ok(self.converter.convert_rows(rows)?.remove(0))
    }

    fn retain(&mut self, keep: &[usize]) {
        self.bytes.retain(keep);
    }

    fn memory(&self) -> usize {
        self.bytes.memory()
    }
}

/// A column of the type of a bare NULL.
struct NullColumn;

impl KeyColumn for NullColumn {
    fn append(&mut self, _array: &ArrayRef, _rows: &[usize]) {}

    fn all_equal(&self, _array: &ArrayRef, _groups: &[usize]) -> bool {
        true
    }

    fn equal(&self, _group: usize, _array: &ArrayRef, _row: usize) -> bool {
        true
    }

    fn build(&self, groups: &[usize]) -> Result<ArrayRef> {
        Ok(new_null_array(&DataType::Null, groups.len()))
    }

    fn retain(&mut self, _keep: &[usize]) {}

    fn memory(&self) -> usize {
        0
    }
}
