//! A relation: a durable change log, and snapshots that are the sum of its entries.
//!
//! Readers take an `Arc` of an immutable snapshot under a short lock and never wait for a writer's work. Only the commit
//! leader ([`crate::commit`]) changes a relation: it first does the work beside the published state ([`Relation::prepare`]),
//! then publishes the result of a whole transaction in one step ([`Relation::publish`]).

mod builder;
mod compaction;
mod index;
mod log;
mod order;
mod overlay;
mod segment;
mod snapshot;
mod tiers;
mod versions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::{Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use parking_lot::{Mutex, RwLock};

use self::builder::Builder;
pub(crate) use self::compaction::{Swap, rows, weight, write_entry};
use self::log::Log;
pub(crate) use self::log::{Entry, EntryHead};
pub(crate) use self::versions::Discarded;
use self::versions::{VERSIONS_MAX, Versions};
use crate::change::ChangeBatch;
use crate::commit::Core;
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::ipc;
use crate::layout::{self, RelationId};
use crate::payload::Payload;
use crate::record;

pub use self::log::LogEntry;
pub use self::order::{Bound, KeyRange};
pub use self::overlay::Overlay;
pub use self::snapshot::{Scan, ScanChanges, Snapshot};

/// Entries of append-only relations in files from this size on are read when scanned instead of kept in memory.
pub(crate) const LAZY_BYTES: u64 = if cfg!(test) { 8 * 1024 } else { 256 * 1024 };

/// What a relation promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationOptions {
    /// No retraction ever comes, so no index is kept and large entries stay on disk.
    pub append_only: bool,
}

/// A durable relation. Obtained from [`crate::Storage::relation`], written by a [`crate::Transaction`].
pub struct Relation {
    core: Arc<Core>,
    id: RelationId,
    schema: SchemaRef,
    append_only: bool,
    /// The state after the last prepared transaction; only the commit leader and the loader touch it.
    builder: Mutex<Builder>,
    published: RwLock<Published>,
    /// One compaction at a time.
    compacting: Mutex<()>,
    /// Last cut that was handed to the meta store, at or ahead of the published one.
    staged_cut: AtomicU64,
    dropped: AtomicBool,
}

struct Published {
    versions: Versions,
    log: Log,
}

/// Changes of a transaction on their way into a relation.
pub(crate) struct NewEntry {
    pub entry: Entry,
    /// `None` when the rows are only in the entry's file.
    pub changes: Option<Arc<Vec<ChangeBatch>>>,
}

/// What [`Relation::publish`] makes visible.
#[derive(Default)]
pub(crate) struct Prepared {
    entries: Vec<NewEntry>,
    snapshots: Vec<(Cut, Arc<Snapshot>)>,
}

impl Relation {
    pub fn id(&self) -> RelationId {
        self.id
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub fn append_only(&self) -> bool {
        self.append_only
    }

    /// The latest committed state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.read().versions.latest().clone()
    }

    /// The state as of the end of `cut`; `None` if that version is no longer kept. A cut beyond the last one sees the
    /// latest state.
    pub fn snapshot_at(&self, cut: Cut) -> Option<Arc<Snapshot>> {
        self.published.read().versions.at(cut)
    }

    /// Entries with `after < cut <= to`, oldest first. Their rows are read when asked for.
    pub fn changes(&self, after: Cut, to: Cut) -> Result<Vec<LogEntry>> {
        let published = self.published.read();
        let entries = published.log.between(after, to)?;
        Ok(entries
            .iter()
            .map(|entry| LogEntry::new(&self.core, self.id, &self.schema, entry))
            .collect())
    }

    /// Cut of the newest entry, [`Cut::ZERO`] before the first.
    pub fn last_cut(&self) -> Cut {
        self.published.read().log.last_cut()
    }

    /// Entries up to this cut were summed: [`Relation::changes`] can tell cuts apart from here on.
    pub fn summed_to(&self) -> Cut {
        self.published.read().log.summed_to()
    }

    /// Lets go of versions that nobody at `from` or later can ask for. At least the newest version at or below `from`
    /// stays.
    pub fn retain_versions(&self, from: Cut) {
        let discarded = self.published.write().versions.retain(from);
        drop(discarded);
    }

    /// Opens a relation, or creates an empty one, and sums its log into a snapshot.
    pub(crate) fn open(
        core: &Arc<Core>,
        id: RelationId,
        schema: SchemaRef,
        options: RelationOptions,
    ) -> Result<Arc<Self>> {
        describe(core, id, &schema, options)?;
        let mut loader = Loader::new(core, id, schema.clone(), options.append_only);
        loader.load()?;
        let staged_cut = loader.log.last_cut().0.into();
        Ok(Arc::new(Self {
            core: core.clone(),
            id,
            schema,
            append_only: options.append_only,
            builder: Mutex::new(loader.builder),
            published: RwLock::new(Published {
                versions: loader.versions,
                log: loader.log,
            }),
            compacting: Mutex::new(()),
            staged_cut,
            dropped: false.into(),
        }))
    }

    /// Rows as this relation stores them, or why it cannot.
    pub(crate) fn accept(&self, changes: &ChangeBatch) -> Result<ChangeBatch> {
        let refuse = |what: String| Error::Invalid(format!("rows do not fit relation {}: {what}", self.id));
        let stored = changes.schema();
        if !ipc::same_types(&stored, &self.schema) {
            return Err(refuse(format!(
                "{} instead of {}",
                ipc::types(&stored),
                ipc::types(&self.schema)
            )));
        }
        let negative = |weights: &Int64Array| weights.values().iter().any(|weight| *weight < 0);
        if self.append_only && changes.weights().is_some_and(negative) {
            return Err(refuse(
                "a retraction, but the relation is append-only".to_string(),
            ));
        }
        let rows: RecordBatch = ipc::batch(
            self.schema.clone(),
            changes.rows().columns().to_vec(),
            changes.num_rows(),
        )
        .map_err(|error| refuse(error.to_string()))?;
        Ok(changes.with_rows(rows))
    }

    pub(crate) fn staged_cut(&self) -> Cut {
        Cut(self.staged_cut.load(Ordering::Acquire))
    }

    pub(crate) fn stage_cut(&self, cut: Cut) {
        self.staged_cut.store(cut.0, Ordering::Release);
    }

    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        match self.dropped.load(Ordering::Acquire) {
            true => Err(Error::Dropped {
                object: self.id.object,
            }),
            false => Ok(()),
        }
    }

    /// No transaction may write it from now on.
    pub(crate) fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Lets go of everything, once the drop is durable. Snapshots that readers hold live on.
    pub(crate) fn clear(&self) {
        let mut builder = self.builder.lock();
        *builder = Builder::new(self.schema.clone(), self.append_only);
        let versions = Versions::new(builder.snapshot(Cut::ZERO));
        *self.published.write() = Published {
            versions,
            log: Log::default(),
        };
    }

    /// Works new entries, in cut order, into the next snapshots without showing them.
    pub(crate) fn prepare(&self, entries: Vec<NewEntry>) -> Result<Prepared> {
        let mut builder = self.builder.lock();
        let mut snapshots = Vec::new();
        for same_cut in entries.chunk_by(|a, b| a.entry.head.last == b.entry.head.last) {
            apply(&mut builder, same_cut, self)?;
            let cut = same_cut[0].entry.head.last;
            snapshots.push((cut, builder.snapshot(cut)));
        }
        Ok(Prepared { entries, snapshots })
    }

    pub(crate) fn publish(&self, prepared: Prepared) -> Discarded {
        let mut published = self.published.write();
        for new in prepared.entries {
            published.log.push(new.entry, new.changes);
        }
        let versions = &mut published.versions;
        prepared
            .snapshots
            .into_iter()
            .flat_map(|(cut, snapshot)| versions.push(cut, snapshot))
            .collect()
    }
}

/// Adds the entries of one cut to the builder: a retraction may stand before its insertion.
fn apply(builder: &mut Builder, entries: &[NewEntry], relation: &Relation) -> Result<()> {
    let mut together: Vec<ChangeBatch> = Vec::new();
    for NewEntry { entry, changes } in entries {
        match (changes, &entry.file) {
            (Some(changes), _) => together.extend(changes.iter().cloned()),
            (None, Some(file)) if relation.append_only => {
                builder.apply(&std::mem::take(&mut together))?;
                builder.apply_file(file.clone(), entry.head.rows, entry.head.weight.unsigned_abs())?;
            }
            (None, _) => {
                return Err(Error::Invalid(format!(
                    "rows of relation {} were not kept for its snapshot",
                    relation.id
                )));
            }
        }
    }
    builder.apply(&together)
}

/// Writes the relation's record, or checks it: `u8 append-only, rest: the columns in words`. It is durable no later than
/// the first entry.
fn describe(core: &Arc<Core>, id: RelationId, schema: &SchemaRef, options: RelationOptions) -> Result<()> {
    let key = layout::relation_key(id);
    let value = [&[u8::from(options.append_only)], ipc::types(schema).as_bytes()].concat();
    let Some(found) = core.store.get(&key)? else {
        let mut batch = crate::meta::Batch::default();
        batch.put(key.clone(), record::seal(&key, &value));
        return core.apply_unsynced(batch);
    };
    // Column names may differ after a rename, and entries are checked against the schema when they are read.
    match record::open(&key, &found)?.first() {
        Some(append_only) if *append_only == value[0] => Ok(()),
        Some(1) => Err(Error::Invalid(format!(
            "relation {id} was created append-only and cannot take retractions"
        ))),
        _ => Err(Error::Invalid(format!(
            "relation {id} was not created append-only"
        ))),
    }
}

/// Sums a log into a snapshot at start.
struct Loader<'a> {
    core: &'a Arc<Core>,
    id: RelationId,
    schema: SchemaRef,
    append_only: bool,
    builder: Builder,
    versions: Versions,
    log: Log,
}

impl<'a> Loader<'a> {
    fn new(core: &'a Arc<Core>, id: RelationId, schema: SchemaRef, append_only: bool) -> Self {
        let mut builder = Builder::new(schema.clone(), append_only);
        let versions = Versions::new(builder.snapshot(Cut::ZERO));
        Self {
            core,
            id,
            schema,
            append_only,
            builder,
            versions,
            log: Log::default(),
        }
    }

    fn load(&mut self) -> Result<()> {
        let mut pending: Vec<(EntryHead, Vec<ChangeBatch>)> = Vec::new();
        // Only so many versions are kept, so only so many snapshots need to be made.
        let total = self.core.store.scan(&layout::log_prefix(self.id)).count();
        for (number, pair) in self.core.store.scan(&layout::log_prefix(self.id)).enumerate() {
            let (key, record) = pair?;
            let entry_key = layout::parse_log_key(&key).ok_or_else(|| {
                Error::corrupt(layout::describe(&key), "its key is not that of a log entry")
            })?;
            let (head, stored) = EntryHead::parse(&key, &record)?;
            if head.first < self.log.last_cut() && head.last != self.log.last_cut() {
                return Err(Error::corrupt(
                    layout::describe(&key),
                    "its cuts are not after those of the entry before",
                ));
            }
            if pending.first().is_some_and(|(first, _)| first.last != head.last) {
                self.sum(&mut pending, total - number < VERSIONS_MAX)?;
            }
            let payload = stored.open(&self.core.files)?;
            let entry = Entry::new(entry_key, head, &payload);
            match &payload {
                Payload::File(file) if self.append_only && file.bytes >= LAZY_BYTES => {
                    self.builder.apply(&take_changes(&mut pending))?;
                    self.builder
                        .apply_file(file.clone(), head.rows, head.weight.unsigned_abs())?;
                    pending.push((head, Vec::new()));
                }
                _ => {
                    let reader = payload.read(Some(&self.schema), || layout::describe(&key))?;
                    let changes = reader.collect::<Result<Vec<_>>>()?;
                    if changes.iter().map(|c| c.num_rows() as u64).sum::<u64>() != head.rows {
                        return Err(Error::corrupt(
                            layout::describe(&key),
                            "its number of rows does not match",
                        ));
                    }
                    pending.push((head, changes));
                }
            }
            self.log.push(entry, None);
        }
        self.sum(&mut pending, true)
    }

    /// Adds the entries of one cut.
    fn sum(&mut self, pending: &mut Vec<(EntryHead, Vec<ChangeBatch>)>, keep_version: bool) -> Result<()> {
        let Some((head, _)) = pending.first() else {
            return Ok(());
        };
        let head = *head;
        self.builder.apply(&take_changes(pending))?;
        pending.clear();
        match keep_version {
            true => drop(self.versions.push(head.first, self.builder.snapshot(head.last))),
            // The versions before are not kept either.
            false => self.versions = Versions::new(self.builder.snapshot(head.last)),
        }
        Ok(())
    }
}

fn take_changes(pending: &mut [(EntryHead, Vec<ChangeBatch>)]) -> Vec<ChangeBatch> {
    pending
        .iter_mut()
        .flat_map(|(_, changes)| std::mem::take(changes))
        .collect()
}

impl std::fmt::Debug for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Relation({}, {} rows at cut {})",
            self.id,
            self.snapshot().num_rows(),
            self.last_cut()
        )
    }
}
