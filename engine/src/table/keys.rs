//! The keys that the rows of a table have, for primary keys and UNIQUE.
//!
//! An index is made when it is first asked for and follows every commit from then on. Who asks keeps others from changing
//! the table meanwhile, so what it says holds until his own change.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use millpond_storage::{ChangeBatch, RowKeys, Snapshot};

use crate::error::Result;

/// The columns of a key.
#[derive(Debug)]
pub struct KeyColumns {
    positions: Vec<usize>,
    keys: RowKeys,
}

impl KeyColumns {
    pub fn new(schema: &SchemaRef, positions: &[usize]) -> Result<Self> {
        let keys = RowKeys::new(Arc::new(schema.project(positions)?))?;
        Ok(Self {
            positions: positions.to_vec(),
            keys,
        })
    }

    /// The key of each row; `None` where a column of it is NULL, which is like no other value.
    pub fn of(&self, rows: &RecordBatch) -> Result<Vec<Option<Box<[u8]>>>> {
        let columns = rows.project(&self.positions)?;
        let keys = self.keys.keys(&columns)?;
        let is_null = |row: usize| columns.columns().iter().any(|column| column.is_null(row));
        Ok((0..rows.num_rows())
            .map(|row| (!is_null(row)).then(|| Box::from(keys.key(row))))
            .collect())
    }
}

/// The keys of all committed rows of a table.
#[derive(Debug)]
pub struct KeyIndex {
    pub columns: Arc<KeyColumns>,
    held: HashSet<Box<[u8]>>,
}

impl KeyIndex {
    pub(crate) fn load(snapshot: &Arc<Snapshot>, positions: &[usize]) -> Result<Self> {
        let columns = Arc::new(KeyColumns::new(&snapshot.schema(), positions)?);
        let mut index = Self {
            columns,
            held: HashSet::new(),
        };
        for rows in snapshot.scan() {
            index.held.extend(index.columns.of(&rows?)?.into_iter().flatten());
        }
        Ok(index)
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.held.contains(key)
    }

    /// Follows a commit.
    pub(crate) fn apply(&mut self, changes: &[ChangeBatch]) -> Result<()> {
        let mut added = Vec::new();
        for batch in changes {
            for (row, key) in self.columns.of(batch.rows())?.into_iter().enumerate() {
                match key {
                    Some(key) if batch.weight(row) < 0 => drop(self.held.remove(&key)),
                    Some(key) => added.push(key),
                    None => {}
                }
            }
        }
        self.held.extend(added);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    fn rows(numbers: &[Option<i64>]) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        RecordBatch::try_from_iter_with_nullable([("n", numbers, true)]).unwrap()
    }

    #[test]
    fn an_index_follows_commits() {
        let all = rows(&[Some(1), Some(2), None]);
        let columns = Arc::new(KeyColumns::new(&all.schema(), &[0]).unwrap());
        let mut index = KeyIndex {
            columns: columns.clone(),
            held: HashSet::new(),
        };
        index.apply(&[ChangeBatch::insertions(all.clone())]).unwrap();
        let keys = columns.of(&all).unwrap();
        assert!(keys[2].is_none());
        let has = |index: &KeyIndex, n: usize| index.contains(keys[n].as_ref().unwrap());
        assert!(has(&index, 0) && has(&index, 1));
        // One row goes; another takes its key in the same commit, in whatever order they stand.
        let moved = ChangeBatch::new(rows(&[Some(1), Some(1), Some(2)]), vec![1, -1, -1].into());
        index.apply(&[moved]).unwrap();
        assert!(has(&index, 0) && !has(&index, 1));
    }
}
