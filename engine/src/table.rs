//! Changes of tables: concurrent callers share one synced write.
//!
//! Whoever finds no commit under way commits for all that have queued up; the others wait and find their answer. What one
//! caller brings, to however many tables, is wholly in one transaction and one cut, and it is durable before its caller
//! hears of it. A caller whose change depends on the rows of a table keeps others from changing them meanwhile.

pub mod keys;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use hashbrown::HashMap;
use millpond_catalog::ObjectId;
use millpond_storage::{ChangeBatch, Relation, Storage};
use parking_lot::Mutex;

use crate::cut::Timeline;
use crate::error::{Error, Result};
use keys::KeyIndex;

/// Bytes that one transaction takes in before the next group begins.
const GROUP_BYTES: usize = 64 << 20;

/// A table or insertable stream.
pub(crate) struct Table {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    pub(crate) relation: Arc<Relation>,
    /// Those that were asked for, by the positions of their columns.
    indexes: Mutex<HashMap<Vec<usize>, Arc<Mutex<KeyIndex>>>>,
}

impl Table {
    pub(crate) fn new(id: ObjectId, name: String, relation: Arc<Relation>) -> Self {
        Self {
            id,
            name,
            relation,
            indexes: Mutex::default(),
        }
    }

    /// The keys of all rows in the columns at `positions`.
    pub(crate) fn keys(&self, positions: &[usize]) -> Result<Arc<Mutex<KeyIndex>>> {
        let mut indexes = self.indexes.lock();
        if let Some(index) = indexes.get(positions) {
            return Ok(Arc::clone(index));
        }
        let index = KeyIndex::load(&self.relation.snapshot(), positions)?;
        let index = Arc::new(Mutex::new(index));
        indexes.insert(positions.to_vec(), Arc::clone(&index));
        Ok(index)
    }

    pub(crate) fn is_indexed(&self) -> bool {
        !self.indexes.lock().is_empty()
    }

    pub(crate) fn follow(&self, changes: &[ChangeBatch]) -> Result<()> {
        for index in self.indexes.lock().values() {
            index.lock().apply(changes)?;
        }
        Ok(())
    }
}

/// Changes of one table.
pub(crate) struct TableWrite {
    pub(crate) table: Arc<Table>,
    pub(crate) changes: Vec<ChangeBatch>,
}

pub(crate) struct Tables {
    storage: Storage,
    queue: Mutex<Vec<Request>>,
    /// Held by the caller that commits.
    committing: Mutex<()>,
}

struct Request {
    writes: Vec<TableWrite>,
    bytes: usize,
    answer: Arc<Mutex<Option<Result<()>>>>,
}

impl Tables {
    pub(crate) fn new(storage: Storage) -> Self {
        Self {
            storage,
            queue: Mutex::default(),
            committing: Mutex::default(),
        }
    }

    pub(crate) fn write(&self, mut writes: Vec<TableWrite>, timeline: &Timeline) -> Result<()> {
        for write in &mut writes {
            write.changes.retain(|changes| !changes.is_empty());
            check(&write.table, &write.changes)?;
        }
        writes.retain(|write| !write.changes.is_empty());
        if writes.is_empty() {
            return Ok(());
        }
        let indexed: Vec<(Arc<Table>, Vec<ChangeBatch>)> = writes
            .iter()
            .filter(|write| write.table.is_indexed())
            .map(|write| (Arc::clone(&write.table), write.changes.clone()))
            .collect();
        self.commit_in_group(writes, timeline)?;
        indexed
            .iter()
            .try_for_each(|(table, changes)| table.follow(changes))
    }

    fn commit_in_group(&self, writes: Vec<TableWrite>, timeline: &Timeline) -> Result<()> {
        let answer = Arc::new(Mutex::new(None));
        let changes = writes.iter().flat_map(|write| &write.changes);
        let bytes = changes.map(ChangeBatch::memory_size).sum();
        let request = Request {
            writes,
            bytes,
            answer: Arc::clone(&answer),
        };
        self.queue.lock().push(request);
        loop {
            let committing = self.committing.lock();
            if let Some(answer) = answer.lock().take() {
                return answer;
            }
            // Not answered and nobody else commits: the request is still in the queue.
            let group = self.take_group();
            let outcome = self.commit(&group, timeline);
            for request in group {
                *request.answer.lock() = Some(outcome.clone());
            }
            drop(committing);
        }
    }

    fn take_group(&self) -> Vec<Request> {
        let mut queue = self.queue.lock();
        let mut bytes = 0;
        let fits = queue.iter().take_while(|request| {
            let first = bytes == 0;
            bytes += request.bytes;
            first || bytes <= GROUP_BYTES
        });
        let count = fits.count();
        queue.drain(..count).collect()
    }

    fn commit(&self, group: &[Request], timeline: &Timeline) -> Result<()> {
        let mut by_table: HashMap<ObjectId, (&Table, Vec<ChangeBatch>)> = HashMap::new();
        for write in group.iter().flat_map(|request| &request.writes) {
            let (_, changes) = by_table
                .entry(write.table.id)
                .or_insert((&write.table, Vec::new()));
            changes.extend(write.changes.iter().cloned());
        }
        let ids: Vec<ObjectId> = by_table.keys().copied().collect();
        timeline.commit(&ids, |cut| {
            let mut transaction = self.storage.transaction();
            for (table, changes) in by_table.into_values() {
                transaction.append(&table.relation, cut, crate::runtime::join(changes)?)?;
            }
            Ok(transaction.commit()?)
        })
    }
}

/// One caller's mistake must not fail the others of its group.
fn check(table: &Table, changes: &[ChangeBatch]) -> Result<()> {
    let expected: SchemaRef = table.relation.schema();
    for batch in changes {
        let types = |schema: &SchemaRef| {
            schema
                .fields()
                .iter()
                .map(|f| f.data_type().clone())
                .collect::<Vec<_>>()
        };
        if types(&batch.schema()) != types(&expected) {
            return Err(Error::Bug(format!("rows for {} have another schema", table.name)));
        }
        let retracts = batch
            .weights()
            .is_some_and(|weights| weights.values().iter().any(|weight| *weight < 0));
        if table.relation.append_only() && retracts {
            return Err(Error::Bug(format!("{} is append-only", table.name)));
        }
    }
    Ok(())
}
