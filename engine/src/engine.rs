//! The engine as the server sees it: relations, sources and streaming queries of one data directory.
//!
//! A thin face. Cuts and boundaries live in `cut`, inserts in `table`, reads in `read`, each query in `query`, the
//! workers in `runtime`. The engine knows no names, no SQL and no catalog: the coordinator tells it what exists, in
//! dependency order, and makes additions and removals durable itself.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use hashbrown::HashMap;
use millpond_catalog::{Object, ObjectId, ObjectKind, Options, ViewOptions};
use millpond_storage::{ChangeBatch, Part, Relation, RelationId, RelationOptions, Storage};
use parking_lot::{Mutex, RwLock};

use crate::bound::ResultTime;
use crate::clock::Clock;
use crate::cut::Timeline;
use crate::dataflow::Dataflow;
use crate::error::{Error, Result};
use crate::maintenance::Maintenance;
use crate::progress::Progress;
use crate::query::driver::QueryHandle;
use crate::query::history::EpochRecord;
use crate::query::late_rows::LateSource;
use crate::query::late_rows::target::LateTarget;
use crate::query::reconfigure::Change;
use crate::query::recovery::log_cuts;
use crate::query::status::{QueryState, QueryStatus};
use crate::query::step::{QueryInput, ReadFrom};
use crate::query::{Query, QueryParts};
use crate::read::{self, ReadView};
use crate::runtime::{Plan, Runtime};
use crate::sink::Sink;
use crate::source::{Source, SourceContext};
use crate::source_notes::StoredNotes;
use crate::table::keys::KeyIndex;
use crate::table::{Table, TableWrite, Tables};

pub use crate::flush::{FlushReport, FlushTarget, Skipped};

/// What the engine can be told at start.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Threads that run dataflows, at least 1. May differ from the last start.
    pub workers: usize,
    /// Encoded input bytes that one epoch takes in at most, if a single piece is not larger.
    pub epoch_bytes: u64,
    /// Progress reports kept per query.
    pub progress_kept: usize,
    /// Batch and commit records kept per query.
    pub epochs_kept: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            workers: 1,
            epoch_bytes: 32 << 20,
            progress_kept: 100,
            epochs_kept: 100,
        }
    }
}

/// A running engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

/// What queries, reads and maintenance work on together.
pub(crate) struct Shared {
    pub(crate) storage: Storage,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: EngineOptions,
    pub(crate) runtime: Runtime,
    pub(crate) timeline: Timeline,
    pub(crate) tables: Tables,
    /// Epochs that have sent late rows to a table.
    pub(crate) late_sent: AtomicU64,
    pub(crate) objects: RwLock<HashMap<ObjectId, Entry>>,
    pub(crate) maintenance: Maintenance,
}

/// What the engine holds of one object.
#[derive(Clone)]
pub(crate) enum Entry {
    Table(Arc<Table>),
    Source(Arc<dyn Source>),
    View(Arc<QueryHandle>),
}

impl Engine {
    /// Starts the workers. Objects are added afterwards, those read before those that read them; when all that the data
    /// directory holds are there, [`Engine::start_upkeep`] follows.
    pub fn start(storage: Storage, clock: Arc<dyn Clock>, options: EngineOptions) -> Result<Engine> {
        let shared = Arc::new(Shared {
            runtime: Runtime::start(options.workers.max(1), clock.clone())?,
            tables: Tables::new(storage.clone()),
            late_sent: AtomicU64::new(0),
            timeline: Timeline::recover(&storage)?,
            objects: RwLock::default(),
            maintenance: Maintenance::default(),
            storage,
            clock,
            options,
        });
        Ok(Engine { shared })
    }

    /// Lets go of what no reader needs, from now on. Before this every reader of the last run must have been added: one
    /// that is not known yet would lose the changes that it has not read.
    pub fn start_upkeep(&self) -> Result<()> {
        self.shared.maintenance.start(&self.shared)
    }

    /// Opens the log of a table or insertable stream.
    pub fn add_table(&self, object: &Object) -> Result<()> {
        let ObjectKind::Table(table) = &object.kind else {
            return Err(Error::Bug(format!("{} is not a table", object.name)));
        };
        let options = RelationOptions {
            append_only: table.append_only,
        };
        let relation = self
            .shared
            .open_relation(object.id, Part::Rows, object.schema(), options)?;
        self.shared.timeline.add_table(object.id, log_cuts(&relation)?);
        let table = Arc::new(Table::new(object.id, object.name.to_string(), relation));
        self.shared.objects.write().insert(object.id, Entry::Table(table));
        Ok(())
    }

    /// What a connector needs to open the source of this id. Its own notes stand beside the engine's.
    pub fn source_context(&self, id: ObjectId) -> SourceContext {
        SourceContext {
            notes: Arc::new(StoredNotes(self.shared.storage.notes(id.0))),
            now_us: self.shared.clock.now_us(),
        }
    }

    /// Makes a source known. Nothing is read before a view or a SELECT reads it.
    pub fn add_source(&self, object: &Object, source: Arc<dyn Source>) -> Result<()> {
        let notes = self.shared.storage.notes(object.id.0);
        self.shared
            .timeline
            .add_source(object.id, source.clone(), notes)?;
        self.shared
            .objects
            .write()
            .insert(object.id, Entry::Source(source));
        Ok(())
    }

    /// Has a source read faster or slower.
    pub fn repace_source(&self, id: ObjectId, options: &Options) -> Result<()> {
        match self.shared.entry(id) {
            Some(Entry::Source(source)) => Ok(source.repace(options)?),
            _ => Err(Error::Gone(id)),
        }
    }

    /// Starts the query of a view from its last checkpoint, or holds it if it is paused. Everything it reads was added
    /// before. What goes wrong while the query starts or runs is told by its status, not here.
    pub fn add_view(&self, object: &Object, dataflow: Dataflow) -> Result<()> {
        self.add_query(object, dataflow, None)
    }

    /// Starts the query of a sink, which hands its changes to `target` instead of keeping them.
    pub fn add_sink(&self, object: &Object, dataflow: Dataflow, target: Box<dyn Sink>) -> Result<()> {
        self.add_query(object, dataflow, Some(target))
    }

    fn add_query(&self, object: &Object, dataflow: Dataflow, target: Option<Box<dyn Sink>>) -> Result<()> {
        let Some(view) = object.query() else {
            return Err(Error::Bug(format!("{} has no query", object.name)));
        };
        let mut parts = self.query_parts(object, &view.options, dataflow)?;
        if let Some(target) = target {
            parts.sink = target.description();
            parts.target = Some(target);
        }
        let query = Query::recover(parts, self.shared.clone())?;
        let handle = QueryHandle::new(&query, view.paused);
        self.shared.timeline.add_waker(object.id, handle.waker());
        self.shared
            .objects
            .write()
            .insert(object.id, Entry::View(handle.clone()));
        handle.run(query)
    }

    pub(crate) fn query_parts(
        &self,
        object: &Object,
        options: &ViewOptions,
        dataflow: Dataflow,
    ) -> Result<QueryParts> {
        let append_only = RelationOptions { append_only: true };
        let rows = RelationOptions {
            append_only: dataflow.root().properties.append_only,
        };
        let bad_rows = crate::query::bad_rows::schema();
        let inputs = self.shared.query_inputs(&dataflow)?;
        let late_sources = crate::query::late_rows::sources(&dataflow, &inputs);
        let late_rows = crate::query::late_rows::schema(&late_sources);
        let late_target = match options
            .late_data_to
            .map(|table| (table, self.shared.entry(table)))
        {
            None => None,
            Some((_, Some(Entry::Table(table)))) => Some(LateTarget::new(table, &late_sources)?),
            Some((id, _)) => return Err(Error::Gone(id)),
        };
        let any = RelationOptions { append_only: false };
        Ok(QueryParts {
            object: object.id,
            name: query_name(object, options),
            sink: object.name.to_string(),
            relation: self
                .shared
                .open_relation(object.id, Part::Rows, object.schema(), rows)?,
            bad_rows: self
                .shared
                .open_relation(object.id, Part::BadRows, bad_rows, append_only)?,
            late_rows: self
                .shared
                .open_relation(object.id, Part::LateRows, late_rows, any)?,
            late_sources,
            late_target,
            inputs,
            plan: Arc::new(Plan::new(&dataflow)?),
            dataflow: Arc::new(dataflow),
            options: options.clone(),
            target: None,
        })
    }

    /// Forgets an object; a view's query is stopped first, a running epoch abandoned. Nothing on disk is touched.
    pub fn remove(&self, id: ObjectId) -> Result<()> {
        let entry = self.shared.objects.write().remove(&id);
        match entry {
            None => return Err(Error::Gone(id)),
            Some(Entry::View(handle)) => handle.stop(),
            Some(Entry::Table(_) | Entry::Source(_)) => {}
        }
        self.shared.timeline.remove(id);
        Ok(())
    }

    /// Adds changes to a table: see [`Engine::write`].
    pub fn insert(&self, table: ObjectId, changes: Vec<ChangeBatch>) -> Result<()> {
        self.write(vec![(table, changes)])
    }

    /// Adds changes to tables: atomic, durable when it returns. Blocks; concurrent callers share one synced write.
    pub fn write(&self, writes: Vec<(ObjectId, Vec<ChangeBatch>)>) -> Result<()> {
        let writes = writes
            .into_iter()
            .map(|(table, changes)| match self.shared.entry(table) {
                Some(Entry::Table(table)) => Ok(TableWrite { table, changes }),
                _ => Err(Error::Gone(table)),
            });
        let writes = writes.collect::<Result<Vec<_>>>()?;
        self.shared.tables.write(writes, &self.shared.timeline)?;
        self.shared.maintenance.nudge();
        Ok(())
    }

    /// The keys of all committed rows of a table, in the columns at `positions`. Reads all rows when it is asked for the
    /// first time. What it says holds as long as the caller keeps others from changing the table.
    pub fn keys(&self, table: ObjectId, positions: &[usize]) -> Result<Arc<Mutex<KeyIndex>>> {
        match self.shared.entry(table) {
            Some(Entry::Table(table)) => table.keys(positions),
            _ => Err(Error::Bug(format!("object {table} is not a table"))),
        }
    }

    /// The log of changes and snapshot of a table or view.
    pub fn relation(&self, id: ObjectId) -> Result<Arc<Relation>> {
        match self.shared.entry(id) {
            Some(Entry::Table(table)) => Ok(table.relation.clone()),
            Some(Entry::View(handle)) => Ok(handle.relation().clone()),
            Some(Entry::Source(_)) | None => Err(Error::Bug(format!("object {id} is not a relation"))),
        }
    }

    /// The watermark of a view's result, as its readers go by it.
    pub fn watermark(&self, view: ObjectId) -> Option<i64> {
        self.shared.timeline.watermark(view)
    }

    /// Columns of a view that a watermark bounds.
    pub fn times(&self, view: ObjectId) -> Vec<ResultTime> {
        self.view(view)
            .map_or_else(|_| Vec::new(), |handle| handle.times().to_vec())
    }

    /// The rows a view has set aside: see [`crate::query::bad_rows`] for the columns.
    pub fn bad_rows(&self, view: ObjectId) -> Result<Arc<Relation>> {
        Ok(self.view(view)?.bad_rows().clone())
    }

    /// The rows that came too late for a view: see [`crate::query::late_rows`] for the columns.
    pub fn late_rows(&self, view: ObjectId) -> Result<Arc<Relation>> {
        Ok(self.view(view)?.late_rows().clone())
    }

    /// The sources that rows can come too late from for a view.
    pub fn late_sources(&self, view: ObjectId) -> Result<Vec<LateSource>> {
        Ok(self.view(view)?.late_sources().to_vec())
    }

    /// Finishes the running epoch, then holds the query. Returns when it stands still.
    pub fn pause(&self, view: ObjectId) -> Result<()> {
        self.view(view)?.pause();
        Ok(())
    }

    /// Starts a paused, failed or terminated query again from its last checkpoint.
    pub fn resume(&self, view: ObjectId) -> Result<()> {
        let handle = self.view(view)?;
        // At once, so that a FLUSH right behind waits for it.
        self.shared.timeline.set_still(view, None);
        handle.resume();
        Ok(())
    }

    /// Gives a query the options that its object has now. `dataflow` is lowered from the same query: its state, and with
    /// it the result and all counters, stay.
    pub fn reconfigure(&self, object: &Object, dataflow: Dataflow) -> Result<()> {
        let Some(view) = object.query() else {
            return Err(Error::Bug(format!("{} has no query", object.name)));
        };
        let handle = self.view(object.id)?;
        let terminated = handle.status(&self.shared.timeline).state == QueryState::Terminated;
        if terminated && !crate::query::has_end(view.options.trigger) {
            // It moves again: a FLUSH right behind waits for it.
            self.shared.timeline.set_still(object.id, None);
        }
        handle.reconfigure(Change {
            name: query_name(object, &view.options),
            options: view.options.clone(),
            plan: Arc::new(Plan::new(&dataflow)?),
            dataflow: Arc::new(dataflow),
        });
        Ok(())
    }

    /// Waits until everything accepted before the call is in the target's views, or `cancelled` says to give up.
    pub fn flush(&self, target: FlushTarget, cancelled: &dyn Fn() -> bool) -> Result<FlushReport> {
        crate::flush::flush(&self.shared, target, cancelled)
    }

    /// What one SELECT over these tables, views and sources reads.
    pub fn read(&self, ids: &[ObjectId]) -> Result<ReadView> {
        read::read(&self.shared, ids)
    }

    /// All queries by object id.
    pub fn queries(&self) -> Vec<QueryStatus> {
        let objects = self.shared.objects.read();
        let mut all: Vec<QueryStatus> = objects
            .values()
            .filter_map(|entry| match entry {
                Entry::View(handle) => Some(handle.status(&self.shared.timeline)),
                Entry::Table(_) | Entry::Source(_) => None,
            })
            .collect();
        all.sort_by_key(|status| status.object);
        all
    }

    pub fn query(&self, view: ObjectId) -> Result<QueryStatus> {
        Ok(self.view(view)?.status(&self.shared.timeline))
    }

    /// The last finished epochs of a query, oldest first.
    pub fn progress(&self, view: ObjectId) -> Result<Vec<Arc<Progress>>> {
        Ok(self.view(view)?.progress())
    }

    /// The epochs of a query whose records are kept, oldest first.
    pub fn epochs(&self, view: ObjectId) -> Result<Vec<EpochRecord>> {
        self.view(view)?;
        crate::query::history::read(&self.shared.storage, view.0)
    }

    /// Encoded size of the state that a query has stored.
    pub fn state_bytes(&self, view: ObjectId) -> Result<u64> {
        self.view(view)?;
        Ok(self.shared.storage.state_bytes(view.0))
    }

    /// Stops all queries and threads. Queries that do not finish their epoch within `timeout` abandon it, which loses
    /// nothing: it runs again after the next start.
    pub fn shutdown(&self, timeout: Duration) {
        self.shared.maintenance.stop();
        let handles: Vec<Arc<QueryHandle>> = {
            let mut objects = self.shared.objects.write();
            objects
                .drain()
                .filter_map(|(_, entry)| match entry {
                    Entry::View(handle) => Some(handle),
                    Entry::Table(_) | Entry::Source(_) => None,
                })
                .collect()
        };
        for handle in &handles {
            handle.request_stop();
        }
        let begin_us = self.shared.clock.elapsed_us();
        for handle in &handles {
            let used = Duration::from_micros(self.shared.clock.elapsed_us().saturating_sub(begin_us));
            handle.stop_within(timeout.saturating_sub(used));
        }
        self.shared.runtime.stop();
    }

    fn view(&self, id: ObjectId) -> Result<Arc<QueryHandle>> {
        match self.shared.entry(id) {
            Some(Entry::View(handle)) => Ok(handle),
            Some(Entry::Table(_) | Entry::Source(_)) | None => Err(Error::Gone(id)),
        }
    }
}

/// What `sys.queries` calls the query of an object.
fn query_name(object: &Object, options: &ViewOptions) -> String {
    let named = options.query_name.clone();
    named.unwrap_or_else(|| object.name.to_string())
}

impl Shared {
    pub(crate) fn entry(&self, id: ObjectId) -> Option<Entry> {
        self.objects.read().get(&id).cloned()
    }

    fn open_relation(
        &self,
        id: ObjectId,
        part: Part,
        schema: SchemaRef,
        options: RelationOptions,
    ) -> Result<Arc<Relation>> {
        Ok(self
            .storage
            .relation(RelationId { object: id.0, part }, schema, options)?)
    }

    fn query_inputs(&self, dataflow: &Dataflow) -> Result<Vec<QueryInput>> {
        let inputs = dataflow.inputs.iter().map(|input| {
            let from = match self.entry(input.object) {
                Some(Entry::Table(table)) => ReadFrom::Relation(table.relation.clone()),
                Some(Entry::View(handle)) => ReadFrom::Relation(handle.relation().clone()),
                Some(Entry::Source(source)) => ReadFrom::Source(source),
                None => return Err(Error::Bug(format!("{} is not known to the engine", input.name))),
            };
            let (object, name, projection) = (input.object, input.name.clone(), input.projection.clone());
            Ok(QueryInput {
                object,
                name,
                projection,
                from,
            })
        });
        inputs.collect()
    }
}
