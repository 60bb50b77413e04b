//! Which group a row belongs to: group keys interned as numbers from 0, in columns.
//!
//! Keys are equal in the sense of GROUP BY (NULLs are equal, NaNs are equal, 0.0 = -0.0). A batch is looked up column by
//! column: first all rows by hash alone, then each column's values are compared in one typed loop. Rows whose hash is
//! that of another key are rare and resolved one by one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, BooleanBufferBuilder, GenericByteBuilder,
    PrimitiveArray, downcast_primitive, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{BinaryType, ByteArrayType, DataType, Utf8Type};

use arrow::row::{RowConverter, SortField};
use hashbrown::HashTable;

use crate::error::Result;
use crate::hash::{canonical, hash_canonical_rows, not_a_key};

pub(crate) struct GroupTable {
    /// Hash and group of every key.
    table: HashTable<(u64, u32)>,
    columns: Vec<Box<dyn KeyColumn>>,
    groups: usize,
    hashes: Vec<u64>,
    /// All ones; tests clear bits to make collisions.
    hash_mask: u64,
}

impl GroupTable {
    pub fn new(types: &[DataType]) -> Result<Self> {
        let columns = types.iter().map(key_column).collect::<Result<_>>()?;
        Ok(Self {
            table: HashTable::new(),
            columns,
            groups: 0,
            hashes: Vec::new(),
            hash_mask: u64::MAX,
        })
    }

    /// Number of groups; they are `0..len()`.
    pub fn len(&self) -> usize {
        self.groups
    }

    /// The group of each row, into `groups`, which is overwritten. Unknown keys become new groups in order of appearance.
    pub fn intern(&mut self, keys: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()> {
        debug_assert_eq!(keys.len(), self.columns.len());
        let keys: Vec<ArrayRef> = self
            .columns
            .iter()
            .zip(keys)
            .map(|(column, key)| column.prepare(key))
            .collect::<Result<_>>()?;
        let mut hashes = std::mem::take(&mut self.hashes);
        hash_canonical_rows(&keys, rows, &mut hashes)?;
        groups.clear();
        groups.reserve(rows);
        let mut new_rows = Vec::new();
        for (row, hash) in hashes.iter_mut().enumerate() {
            *hash &= self.hash_mask;
            let hash = *hash;
            match self.table.find(hash, |entry| entry.0 == hash) {
                Some(entry) => groups.push(entry.1 as usize),
                None => {
                    self.table
                        .insert_unique(hash, (hash, self.groups as u32), |entry| entry.0);
                    groups.push(self.groups);
                    self.groups += 1;
                    new_rows.push(row);
                }
            }
        }
        for (column, key) in self.columns.iter_mut().zip(&keys) {
            column.append(key, &new_rows);
        }
        let same = self
            .columns
            .iter()
            .zip(&keys)
            .all(|(column, key)| column.all_equal(key, groups));
        if !same {
            self.separate(&keys, &hashes, groups);
        }
        self.hashes = hashes;
        Ok(())
    }

    /// Gives rows that were taken for another key of equal hash their own group.
    fn separate(&mut self, keys: &[ArrayRef], hashes: &[u64], groups: &mut [usize]) {
        for (row, group) in groups.iter_mut().enumerate() {
            let hash = hashes[row];
            let columns = &self.columns;
            let equal = |group: usize| {
                columns
                    .iter()
                    .zip(keys)
                    .all(|(column, key)| column.equal(group, key, row))
            };
            if equal(*group) {
                continue;
            }
            *group = match self
                .table
                .find(hash, |entry| entry.0 == hash && equal(entry.1 as usize))
            {
                Some(entry) => entry.1 as usize,
                None => {
                    self.table
                        .insert_unique(hash, (hash, self.groups as u32), |entry| entry.0);
                    for (column, key) in self.columns.iter_mut().zip(keys) {
                        column.append(key, &[row]);
                    }
                    self.groups += 1;
                    self.groups - 1
                }
            };
        }
    }

    /// The keys of `groups`, in the types that were interned.
    pub fn keys(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        self.columns.iter().map(|column| column.build(groups)).collect()
    }

    /// Keeps the groups in `keep`, ascending, and renumbers them from 0.
    pub fn retain(&mut self, keep: &[usize]) {
        let mut renumbered = vec![u32::MAX; self.groups];
        for (new, old) in keep.iter().enumerate() {
            renumbered[*old] = new as u32;
        }
        let mut table = HashTable::with_capacity(keep.len());
        for (hash, group) in self.table.drain() {
            let group = renumbered[group as usize];
            if group != u32::MAX {
                table.insert_unique(hash, (hash, group), |entry: &(u64, u32)| entry.0);
            }
        }
        self.table = table;
        self.columns.iter_mut().for_each(|column| column.retain(keep));
        self.groups = keep.len();
    }

    pub fn clear(&mut self) {
        // An empty table is cleared in time proportional to its capacity.
        if self.table.capacity() > 8 * self.groups.max(1024) {
            self.table = HashTable::new()
        } else {
            self.table.clear()
        }
        self.columns.iter_mut().for_each(|column| column.retain(&[]));
        self.groups = 0;
    }

    pub fn memory(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| column.memory()).sum();
        self.table.allocation_size() + self.hashes.capacity() * size_of::<u64>() + columns
    }
}

/// The values of one key column, by group. Arrays passed in were made by [`KeyColumn::prepare`].
trait KeyColumn: Send + Sync {
    /// The array in the form that the other functions take: equal keys are equal bits.
    fn prepare(&self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(canonical(array))
    }
    fn append(&mut self, array: &ArrayRef, rows: &[usize]);
    /// True when each row's value is that of its group.
    fn all_equal(&self, array: &ArrayRef, groups: &[usize]) -> bool;
    fn equal(&self, group: usize, array: &ArrayRef, row: usize) -> bool;
    fn build(&self, groups: &[usize]) -> Result<ArrayRef>;
    fn retain(&mut self, keep: &[usize]);
    fn memory(&self) -> usize;
}

fn key_column(data_type: &DataType) -> Result<Box<dyn KeyColumn>> {
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
            return groups
                .iter()
                .enumerate()
                .all(|(row, group)| self.equal(*group, array, row));
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

    fn all_equal(&self, array: &ArrayRef, groups: &[usize]) -> bool {
        groups
            .iter()
            .enumerate()
            .all(|(row, group)| self.equal(*group, array, row))
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

    fn all_equal(&self, array: &ArrayRef, groups: &[usize]) -> bool {
        groups
            .iter()
            .enumerate()
            .all(|(row, group)| self.equal(*group, array, row))
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

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    /// Interns in two batches; the groups of all rows.
    fn intern(table: &mut GroupTable, keys: &[ArrayRef]) -> Vec<usize> {
        let rows = keys[0].len();
        let half = rows / 2;
        let mut all = Vec::new();
        for (offset, length) in [(0, half), (half, rows - half)] {
            let part: Vec<ArrayRef> = keys.iter().map(|key| key.slice(offset, length)).collect();
            let mut groups = Vec::new();
            table.intern(&part, length, &mut groups).unwrap();
            all.extend(groups);
        }
        all
    }

    fn columns() -> Vec<ArrayRef> {
        let ints = [Some(1), Some(2), None, Some(1), None, Some(2), Some(1), Some(3)];
        let texts = [
            Some("a"),
            Some("b"),
            Some("c"),
            Some("a"),
            Some("c"),
            None,
            Some("x"),
            None,
        ];
        vec![
            Arc::new(Int64Array::from(ints.to_vec())),
            Arc::new(StringArray::from(texts.to_vec())),
        ]
    }

    #[test]
    fn colliding_hashes_are_told_apart() {
        for hash_mask in [u64::MAX, 1, 0] {
            let mut table = GroupTable::new(&[DataType::Int64, DataType::Utf8]).unwrap();
            table.hash_mask = hash_mask;
            let groups = intern(&mut table, &columns());
            assert_eq!(table.len(), 6, "mask {hash_mask}");
            let keys = table.keys(&groups).unwrap();
            assert_eq!(keys, columns(), "mask {hash_mask}");
        }
    }

    #[test]
    fn kept_groups_are_found_again() {
        for hash_mask in [u64::MAX, 0] {
            let mut table = GroupTable::new(&[DataType::Int64, DataType::Utf8]).unwrap();
            table.hash_mask = hash_mask;
            let before = intern(&mut table, &columns());
            let kept: Vec<usize> = vec![before[1], before[2], before[5]];
            let mut keep = kept.clone();
            keep.sort_unstable();
            table.retain(&keep);
            assert_eq!(table.len(), 3);
            let after = intern(&mut table, &columns());
            assert_eq!(table.len(), 6);
            assert!(
                [after[1], after[2], after[4], after[5]]
                    .iter()
                    .all(|group| *group < 3)
            );
            assert_eq!(table.keys(&after).unwrap(), columns());
        }
    }

    #[test]
    fn zeros_are_one_key_and_so_are_nans() {
        let mut table = GroupTable::new(&[DataType::Float64]).unwrap();
        let negative_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, f64::NAN, -0.0, negative_nan, 1.0]));
        assert_eq!(intern(&mut table, &[floats]), [0, 1, 0, 1, 2]);
    }

    #[test]
    fn lists_are_keys() {
        let lists = [
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(1), None]),
        ];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let mut table = GroupTable::new(&[lists.data_type().clone()]).unwrap();
        let groups = intern(&mut table, &[Arc::clone(&lists)]);
        assert_eq!(groups, [0, 1, 2, 0]);
        assert_eq!(table.keys(&groups).unwrap(), [lists]);
    }
}
