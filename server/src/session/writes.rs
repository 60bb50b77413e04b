//! What a transaction has changed and not committed.

use std::collections::{BTreeMap, HashMap};

use millpond_catalog::ObjectId;
use millpond_engine::table::keys::KeyColumns;
use millpond_storage::ChangeBatch;

use crate::error::Result;

/// Changes in the order in which they were made, with the places of savepoints.
#[derive(Debug, Default)]
pub struct Writes {
    changes: Vec<(ObjectId, ChangeBatch)>,
    /// As many as the transaction has savepoints: how many changes there were when each was set.
    savepoints: Vec<usize>,
    /// What the changes do to keys, by table and positions of the key's columns.
    keys: HashMap<(ObjectId, Vec<usize>), KeyCounts>,
}

/// How many more rows have a key after some changes than before.
#[derive(Debug, Default)]
pub struct KeyCounts {
    /// Changes of the transaction that were counted.
    counted: usize,
    counts: HashMap<Box<[u8]>, i64>,
}

impl KeyCounts {
    pub fn of(&self, key: &[u8]) -> i64 {
        self.counts.get(key).copied().unwrap_or(0)
    }

    pub fn add(&mut self, changes: &ChangeBatch, columns: &KeyColumns) -> Result<()> {
        for (row, key) in columns.of(changes.rows())?.into_iter().enumerate() {
            if let Some(key) = key {
                *self.counts.entry(key).or_default() += changes.weight(row);
            }
        }
        Ok(())
    }
}

impl Writes {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn push(&mut self, table: ObjectId, changes: Vec<ChangeBatch>) {
        let changes = changes.into_iter().filter(|changes| !changes.is_empty());
        self.changes.extend(changes.map(|changes| (table, changes)));
    }

    /// All changes by table.
    pub fn by_table(&self) -> BTreeMap<ObjectId, Vec<ChangeBatch>> {
        let mut tables = BTreeMap::<ObjectId, Vec<ChangeBatch>>::new();
        for (table, changes) in &self.changes {
            tables.entry(*table).or_default().push(changes.clone());
        }
        tables
    }

    /// What the transaction has done to a key. It is put back by [`Writes::put_key_counts`].
    pub fn take_key_counts(
        &mut self,
        table: ObjectId,
        positions: &[usize],
        columns: &KeyColumns,
    ) -> Result<KeyCounts> {
        let mut counts = self.keys.remove(&(table, positions.to_vec())).unwrap_or_default();
        for (changed, changes) in &self.changes[counts.counted..] {
            if *changed == table {
                counts.add(changes, columns)?;
            }
        }
        counts.counted = self.changes.len();
        Ok(counts)
    }

    pub fn put_key_counts(&mut self, table: ObjectId, positions: &[usize], counts: KeyCounts) {
        self.keys.insert((table, positions.to_vec()), counts);
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.changes.clear();
        self.savepoints.clear();
    }

    pub fn set_savepoint(&mut self) {
        self.savepoints.push(self.changes.len());
    }

    /// Forgets all savepoints but the oldest `count`; what was changed stays.
    pub fn release(&mut self, count: usize) {
        self.savepoints.truncate(count);
    }

    /// Takes back what was changed since the newest of the oldest `count` savepoints, which stays.
    pub fn roll_back_to(&mut self, count: usize) {
        self.keys.clear();
        self.savepoints.truncate(count);
        self.changes
            .truncate(self.savepoints.last().copied().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};

    use super::*;

    fn row(n: i64) -> Vec<ChangeBatch> {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![n]));
        vec![ChangeBatch::insertions(
            RecordBatch::try_from_iter([("n", numbers)]).unwrap(),
        )]
    }

    fn count(writes: &Writes) -> usize {
        writes.by_table().values().map(Vec::len).sum()
    }

    #[test]
    fn savepoints_take_back_what_came_after() {
        let mut writes = Writes::default();
        writes.push(ObjectId(1), row(1));
        writes.set_savepoint();
        writes.push(ObjectId(2), row(2));
        writes.set_savepoint();
        writes.push(ObjectId(1), row(3));
        writes.roll_back_to(2);
        assert_eq!(count(&writes), 2);
        writes.push(ObjectId(1), row(4));
        writes.release(1);
        assert_eq!(count(&writes), 3);
        writes.roll_back_to(1);
        assert_eq!(count(&writes), 1);
        writes.clear();
        assert!(writes.is_empty());
    }
}
