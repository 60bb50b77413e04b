//! Which group a row belongs to: group keys interned as numbers from 0, in columns.
//!
//! Keys are equal in the sense of GROUP BY (NULLs are equal, NaNs are equal, 0.0 = -0.0). A batch is looked up column by
//! column: first all rows by hash alone, then each column's values are compared in one typed loop. Rows whose hash is
//! that of another key are rare and resolved one by one.

mod key_column;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use hashbrown::HashTable;

use crate::error::Result;
use crate::hash::hash_canonical_rows;
use crate::operator::group_table::key_column::{KeyColumn, key_column};

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

    /// Column `column` of the keys of `groups`.
    pub fn key(&self, column: usize, groups: &[usize]) -> Result<ArrayRef> {
        self.columns[column].build(groups)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, Float64Array, Int64Array, ListArray, StringArray};
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
