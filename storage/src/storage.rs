//! The face of the crate: an open data directory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::datatypes::SchemaRef;
use parking_lot::RwLockReadGuard;

use crate::commit::{self, Core, Operation, Relations};
use crate::error::{Error, Result};
use crate::ipc;
use crate::layout::RelationId;
use crate::notes::Notes;
use crate::object_log::{self, ObjectRecord};
use crate::query_log::{self, Durable, QueryLog, Records};
use crate::relation::{Relation, RelationOptions};
use crate::state::{StateReader, StateSize};
use crate::transaction::Transaction;

#[cfg(test)]
mod model;
mod recovery;
#[cfg(test)]
mod tests;

/// An open data directory. Clones share it; it is closed, and unlocked, with the last clone and the last relation.
#[derive(Debug, Clone)]
pub struct Storage {
    core: Arc<Core>,
    open: Relations,
}

/// While it lives, no transaction becomes visible, so snapshots taken meanwhile belong together. Taking it does not block
/// other readers; hold it only for as long as it takes to clone a few `Arc`s.
#[derive(Debug)]
pub struct Freeze<'a> {
    _shared: RwLockReadGuard<'a, ()>,
}

impl Storage {
    /// Why nothing is written any more, if an earlier write failed.
    pub fn poisoned(&self) -> Option<String> {
        match self.core.check() {
            Err(Error::Poisoned { reason }) => Some(reason),
            _ => None,
        }
    }

    /// Opens the directory, creating it if there is none, and recovers what was committed. A second opener is refused
    /// with the holder's pid.
    pub fn open(dir: &Path) -> Result<Storage> {
        Ok(Self::of(recovery::open_directory(dir)?))
    }

    /// Storage on other disks, for tests.
    #[cfg(test)]
    pub(crate) fn assemble(
        store: Box<dyn crate::meta::Store>,
        files: Box<dyn crate::files::Files>,
    ) -> Result<Storage> {
        Ok(Self::of(recovery::recover(store, files, false, |_| Ok(None))?))
    }

    fn of(core: Core) -> Self {
        Self {
            core: Arc::new(core),
            open: Relations::default(),
        }
    }

    /// The DDL log, ids ascending.
    pub fn objects(&self) -> Result<Vec<(u64, ObjectRecord)>> {
        object_log::objects(&self.core)
    }

    /// An id that no object has or had. It is not given out again once an object with it, or a later one, was committed.
    pub fn next_object_id(&self) -> u64 {
        self.core.next_object.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a relation or creates it empty; the same value for the same id while it is open. The first call reads its
    /// log. Names and metadata of the schema's columns may differ from those at creation, types may not.
    pub fn relation(
        &self,
        id: RelationId,
        schema: SchemaRef,
        options: RelationOptions,
    ) -> Result<Arc<Relation>> {
        let mut open = self.open.lock();
        if let Some(relation) = open.get(&id) {
            relation.check_not_dropped()?;
            if relation.append_only() != options.append_only || !ipc::same_types(&relation.schema(), &schema)
            {
                return Err(Error::Invalid(format!(
                    "relation {id} is open with another schema or other options"
                )));
            }
            return Ok(relation.clone());
        }
        let relation = Relation::open(&self.core, id, schema, options)?;
        open.insert(id, relation.clone());
        Ok(relation)
    }

    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.core.clone(), self.open.clone())
    }

    /// Writes the batch record of an epoch. One that was written before must be equal.
    pub fn put_batch(&self, query: u64, epoch: u64, record: Vec<u8>, durable: Durable) -> Result<()> {
        match durable {
            Durable::Now => commit::submit(&self.core, vec![Operation::PutBatch { query, epoch, record }]),
            Durable::WithNextCommit => query_log::put_batch(&self.core, query, epoch, &record),
        }
    }

    /// Where a query stands.
    pub fn query_log(&self, query: u64) -> Result<QueryLog> {
        query_log::read(&self.core, query)
    }

    /// Commit records that are kept, ascending.
    pub fn commits(&self, query: u64, from_epoch: u64) -> Result<Records> {
        query_log::commits(&self.core, query, from_epoch)
    }

    /// Batch records that are kept, ascending.
    pub fn batches(&self, query: u64, from_epoch: u64) -> Result<Records> {
        query_log::batches(&self.core, query, from_epoch)
    }

    /// Deletes batch and commit records of earlier epochs. The newest commit always stays.
    pub fn prune_query_log(&self, query: u64, keep_from_epoch: u64) -> Result<()> {
        query_log::prune(&self.core, query, keep_from_epoch)
    }

    /// The state of a query's operators, each one's batches oldest first. They are read as the iterator goes.
    pub fn state(&self, query: u64) -> Result<StateReader> {
        StateReader::open(&self.core, query)
    }

    pub fn state_size(&self, query: u64, operator: &str) -> StateSize {
        let sizes = self.core.state_sizes.lock();
        sizes
            .get(&(query, operator.to_string()))
            .copied()
            .unwrap_or_default()
    }

    /// Encoded size of all state of a query.
    pub fn state_bytes(&self, query: u64) -> u64 {
        let sizes = self.core.state_sizes.lock();
        let own = sizes.iter().filter(|((of, _), _)| *of == query);
        own.map(|(_, size)| size.base_bytes + size.delta_bytes).sum()
    }

    pub fn notes(&self, owner: u64) -> Notes {
        Notes::new(self.core.clone(), owner)
    }

    /// Keeps transactions from becoming visible, to take snapshots of several relations that belong together.
    pub fn freeze(&self) -> Freeze<'_> {
        Freeze {
            _shared: self.core.visible.read_recursive(),
        }
    }

    /// Why no more writes are taken, if so.
    pub fn failure(&self) -> Option<Error> {
        self.core.check().err()
    }
}
