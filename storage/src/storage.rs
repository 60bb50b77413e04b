//! Opening a data directory, and the face of the crate.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::datatypes::SchemaRef;
use parking_lot::{Mutex, RwLockReadGuard};

use crate::commit::{self, Core, Operation, Relations, file_named_by};
use crate::error::{Error, Result};
use crate::files::{self, FileSet, Files, LocalFiles};
use crate::ipc;
use crate::layout::{self, FORMAT_VERSION, RelationId};
use crate::lock::DirectoryLock;
use crate::meta::sled::SledStore;
use crate::meta::{Batch, Store};
use crate::notes::Notes;
use crate::object_log::{self, ObjectRecord};
use crate::query_log::{self, QueryLog, Records};
use crate::record;
use crate::relation::{Relation, RelationOptions};
use crate::state::{StateReader, StateRecord, StateSize};
use crate::transaction::Transaction;

#[cfg(test)]
mod model;
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
    /// Opens the directory, creating it if there is none, and recovers what was committed. A second opener is refused
    /// with the holder's pid.
    pub fn open(dir: &Path) -> Result<Storage> {
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, "create folder", error))?;
        let lock = DirectoryLock::acquire(dir)?;
        let known = check_format_file(dir)?;
        let meta = dir.join(layout::META_FOLDER);
        if known && !meta.join("db").exists() {
            return Err(Error::corrupt(
                format!("meta store {}", meta.display()),
                "it is missing",
            ));
        }
        let store = SledStore::open(&meta)?;
        let storage = Self::assemble(Box::new(store), Box::new(LocalFiles::new(dir)), Some(lock), known)?;
        if !known {
            write_format_file(dir)?;
        }
        Ok(storage)
    }

    /// `known`: the meta store was set up before, so an empty one has lost its content.
    pub(crate) fn assemble(
        store: Box<dyn Store>,
        files: Box<dyn Files>,
        lock: Option<DirectoryLock>,
        known: bool,
    ) -> Result<Storage> {
        let names = files.list()?;
        check_format_record(&*store, known || !names.is_empty())?;
        // What is removed below must not come back into use by a meta store that a power loss sets back.
        store.sync()?;
        let next_object = next_object(&*store)?;
        let inventory = Inventory::take(&*store)?;
        let next_number = names
            .iter()
            .chain(&inventory.files)
            .filter_map(|name| layout::file_number(name))
            .max()
            .map_or(0, |number| number + 1);
        inventory.collect_garbage(&*files, &names);
        let files = FileSet::new(files, next_number);
        let core = Core::new(
            store,
            files,
            lock,
            inventory.next_sequence,
            next_object,
            inventory.state_sizes,
        );
        Ok(Self {
            core: Arc::new(core),
            open: Arc::new(Mutex::new(HashMap::new())),
        })
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

    /// Writes the batch record of an epoch; it is durable when this returns. One that was written before must be equal.
    pub fn put_batch(&self, query: u64, epoch: u64, record: Vec<u8>) -> Result<()> {
        commit::submit(&self.core, vec![Operation::PutBatch { query, epoch, record }])
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

/// True when the directory was set up before.
fn check_format_file(dir: &Path) -> Result<bool> {
    let path = dir.join(layout::FORMAT_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(&path, "read", error)),
    };
    // A crash while it was written leaves it empty; the meta store has the version, too.
    if text.trim().is_empty() {
        return Ok(false);
    }
    let found = text
        .strip_prefix("millpond ")
        .and_then(|version| version.trim().parse().ok())
        .ok_or_else(|| {
            Error::corrupt(
                format!("file {}", path.display()),
                "it does not hold a format version",
            )
        })?;
    check_version(found).map(|()| true)
}

fn write_format_file(dir: &Path) -> Result<()> {
    let path = dir.join(layout::FORMAT_FILE);
    fs::write(&path, format!("millpond {FORMAT_VERSION}\n"))
        .map_err(|error| Error::io(&path, "write", error))?;
    let file = fs::File::open(&path).map_err(|error| Error::io(&path, "open", error))?;
    file.sync_all().map_err(|error| Error::sync(&path, error))?;
    files::sync_directory(dir)
}

fn check_version(found: u32) -> Result<()> {
    match found > FORMAT_VERSION {
        true => Err(Error::NewerFormat {
            found,
            supported: FORMAT_VERSION,
        }),
        false => Ok(()),
    }
}

/// Checks the format version, or writes it to a new meta store.
fn check_format_record(store: &dyn Store, expected: bool) -> Result<()> {
    let key = layout::format_key();
    let Some(value) = store.get(&key)? else {
        if expected || store.scan(&[]).next().is_some() {
            let what = "it has lost its content, but the data directory is not new";
            return Err(Error::corrupt("the meta store", what));
        }
        let mut batch = Batch::default();
        batch.put(key.clone(), record::seal(&key, &FORMAT_VERSION.to_le_bytes()));
        return store.apply(batch);
    };
    let version = record::open(&key, &value)?
        .try_into()
        .map_err(|_| Error::corrupt(layout::describe(&key), "it is not a version number"))?;
    check_version(u32::from_le_bytes(version))
}

fn next_object(store: &dyn Store) -> Result<u64> {
    let key = layout::next_object_key();
    let Some(value) = store.get(&key)? else {
        return Ok(1);
    };
    let id = record::open(&key, &value)?
        .try_into()
        .map_err(|_| Error::corrupt(layout::describe(&key), "it is not an object id"))?;
    Ok(u64::from_le_bytes(id))
}

/// What the records of logs and states say in total.
#[derive(Debug, Default)]
struct Inventory {
    files: HashSet<String>,
    next_sequence: u64,
    state_sizes: HashMap<(u64, String), StateSize>,
    damaged: bool,
}

impl Inventory {
    /// A damaged record does not keep other objects from working: it is reported when its own relation or query is opened.
    fn take(store: &dyn Store) -> Result<Self> {
        let mut inventory = Self::default();
        for prefix in [layout::logs_prefix(), layout::states_prefix()] {
            for pair in store.scan(&prefix) {
                let (key, value) = pair?;
                match file_named_by(&key, &value) {
                    Ok(name) => inventory.files.extend(name),
                    Err(error) => {
                        tracing::error!(%error, "a record is damaged; unreferenced files are kept");
                        inventory.damaged = true;
                    }
                }
                inventory.note_key(&key, &value);
            }
        }
        Ok(inventory)
    }

    fn note_key(&mut self, key: &[u8], value: &[u8]) {
        if let Some(entry) = layout::parse_log_key(key) {
            self.next_sequence = self.next_sequence.max(entry.sequence + 1);
        }
        let Some((query, operator, sequence)) = layout::parse_state_key(key) else {
            return;
        };
        self.next_sequence = self.next_sequence.max(sequence + 1);
        if let Ok(StateRecord { base, payload, .. }) = StateRecord::parse(key, value) {
            let size = self.state_sizes.entry((query, operator)).or_default();
            *(if base {
                &mut size.base_bytes
            } else {
                &mut size.delta_bytes
            }) += payload.bytes();
        }
    }

    /// Removes files that no record names: of transactions that were not committed, and replaced ones.
    fn collect_garbage(&self, files: &dyn Files, names: &[String]) {
        if self.damaged {
            return;
        }
        for name in names
            .iter()
            .filter(|name| !self.files.contains(*name) && layout::file_number(name).is_some())
        {
            match files.remove(name) {
                Ok(()) => tracing::info!(file = name, "removed a file that no record names"),
                Err(error) => {
                    tracing::warn!(file = name, %error, "could not remove a file that no record names")
                }
            }
        }
    }
}
