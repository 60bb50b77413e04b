//! Committing: the one place where the meta store is written by transactions.
//!
//! Transactions of all threads are committed in groups. One of the waiting threads leads: it hands each transaction of the
//! group to the meta store as one atomic batch, syncs once, works the changes into the next snapshots and then shows all
//! of them in one step. Whoever comes meanwhile waits for the next group, which is written while this one is shown.
//!
//! After a failed write or sync the state of the disk is unknown. The storage is then poisoned: every later write is
//! refused with the first reason, and nothing of the failed group becomes visible.

mod stage;

pub(crate) use self::stage::file_named_by;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, RwLock};

use crate::change::ChangeBatch;
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::files::FileSet;
use crate::layout::{self, RelationId};
use crate::lock::DirectoryLock;
use crate::meta::mark::CommitMark;
use crate::meta::{Batch, Store};
use crate::payload::Payload;
use crate::record;
use crate::relation::{Relation, Swap};
use crate::state::StateSize;

/// All open relations.
pub(crate) type Relations = Arc<Mutex<HashMap<RelationId, Arc<Relation>>>>;

/// What storage and its relations share.
#[derive(Debug)]
pub(crate) struct Core {
    // Dropped first: the directory stays locked until the meta store is closed.
    pub store: Box<dyn Store>,
    pub files: Arc<FileSet>,
    /// Next sequence number of log entries and state records.
    sequence: AtomicU64,
    pub next_object: AtomicU64,
    /// Per query and operator.
    pub state_sizes: Mutex<HashMap<(u64, String), StateSize>>,
    /// Held exclusively while a group becomes visible.
    pub visible: RwLock<()>,
    /// Number of the newest commit; only the leader counts on.
    commits: AtomicU64,
    mark: Option<CommitMark>,
    queue: Mutex<Queue>,
    /// Held by the leader of the group that is being worked into the snapshots.
    showing: Mutex<()>,
    poisoned: Mutex<Option<String>>,
    _lock: Option<DirectoryLock>,
}

/// What opening found out.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub next_sequence: u64,
    pub next_object: u64,
    pub commits: u64,
    pub state_sizes: HashMap<(u64, String), StateSize>,
}

/// What stands for the data directory on disk; a disk of tests has none of it.
#[derive(Debug)]
pub(crate) struct Directory {
    pub lock: DirectoryLock,
    pub mark: CommitMark,
}

/// One step of a transaction.
#[derive(Debug)]
pub(crate) enum Operation {
    PutObject {
        id: u64,
        value: Vec<u8>,
    },
    DropObject {
        id: u64,
        open: Relations,
    },
    Append(Append),
    State(StateWrite),
    /// A batch record; one that stands already must be equal.
    PutBatch {
        query: u64,
        epoch: u64,
        record: Vec<u8>,
    },
    Put {
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        key: Vec<u8>,
    },
    Swap(Swap),
}

/// A new entry of a relation's log.
#[derive(Debug)]
pub(crate) struct Append {
    pub relation: Arc<Relation>,
    pub cut: Cut,
    pub rows: u64,
    pub weight: i64,
    pub payload: Payload,
    /// `None` when the rows are to stay in the payload's file.
    pub changes: Option<Arc<Vec<ChangeBatch>>>,
}

/// State of one operator, per port.
#[derive(Debug)]
pub(crate) struct StateWrite {
    pub query: u64,
    pub operator: String,
    pub epoch: u64,
    /// Stands for all earlier state of the operator.
    pub replace: bool,
    pub ports: Vec<(u8, Payload)>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Submission>,
    /// Somebody leads, or has been told to.
    led: bool,
}

#[derive(Debug)]
struct Submission {
    operations: Vec<Operation>,
    ticket: Arc<Ticket>,
}

#[derive(Debug)]
struct Ticket {
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug)]
enum Turn {
    Waiting,
    Lead,
    Done(Result<()>),
}

impl Ticket {
    fn set(&self, turn: Turn) {
        *self.turn.lock() = turn;
        self.changed.notify_all();
    }
}

/// Commits a transaction and returns when it is durable and visible.
pub(crate) fn submit(core: &Core, operations: Vec<Operation>) -> Result<()> {
    core.check()?;
    if operations.is_empty() {
        return Ok(());
    }
    let ticket = Arc::new(Ticket {
        turn: Mutex::new(Turn::Waiting),
        changed: Condvar::new(),
    });
    let mut queue = core.queue.lock();
    queue.waiting.push_back(Submission {
        operations,
        ticket: ticket.clone(),
    });
    if !queue.led {
        queue.led = true;
        ticket.set(Turn::Lead);
    }
    drop(queue);

    let mut turn = ticket.turn.lock();
    loop {
        match std::mem::replace(&mut *turn, Turn::Waiting) {
            Turn::Done(result) => return result,
            Turn::Lead => {
                drop(turn);
                lead(core);
                turn = ticket.turn.lock();
            }
            Turn::Waiting => ticket.changed.wait(&mut turn),
        }
    }
}

/// Commits all that wait, the leader's own transaction among them. The lead is passed on after the sync: the next group
/// is written while this one is worked into the snapshots.
fn lead(core: &Core) {
    let group = std::mem::take(&mut core.queue.lock().waiting);
    let mut handover = Handover {
        core,
        tickets: Vec::new(),
        leads: true,
    };
    let mut transactions = Vec::new();
    for submission in group {
        handover.tickets.push(submission.ticket);
        transactions.push(submission.operations);
    }
    let outcomes = stage::write_group(core, transactions);
    // Taken before the next leader can come here, so groups are shown in the order in which they were written.
    let showing = core.showing.lock();
    handover.pass_on();
    let results = stage::show_group(core, outcomes);
    drop(showing);
    for (ticket, result) in std::mem::take(&mut handover.tickets).iter().zip(results) {
        ticket.set(Turn::Done(result));
    }
}

/// Passes the lead on once; after a panic it answers everybody with the reason instead of leaving them waiting.
struct Handover<'a> {
    core: &'a Core,
    tickets: Vec<Arc<Ticket>>,
    leads: bool,
}

impl Handover<'_> {
    fn pass_on(&mut self) {
        if !std::mem::take(&mut self.leads) {
            return;
        }
        let mut queue = self.core.queue.lock();
        match queue.waiting.front() {
            Some(next) => next.ticket.set(Turn::Lead),
            None => queue.led = false,
        }
    }
}

impl Drop for Handover<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = self.core.poison("a commit panicked".to_string());
            self.tickets
                .drain(..)
                .for_each(|ticket| ticket.set(Turn::Done(Err(error.clone()))));
        }
        // Whoever leads next finds the storage poisoned and answers the rest.
        self.pass_on();
    }
}

impl Core {
    pub(crate) fn new(
        store: Box<dyn Store>,
        files: Arc<FileSet>,
        directory: Option<Directory>,
        recovered: Recovered,
    ) -> Self {
        let (lock, mark) = directory.map(|Directory { lock, mark }| (lock, mark)).unzip();
        Self {
            store,
            files,
            sequence: recovered.next_sequence.into(),
            next_object: recovered.next_object.into(),
            state_sizes: Mutex::new(recovered.state_sizes),
            visible: RwLock::new(()),
            commits: recovered.commits.into(),
            mark,
            queue: Mutex::default(),
            showing: Mutex::default(),
            poisoned: Mutex::new(None),
            _lock: lock,
        }
    }

    fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// Applies a transaction's batch, with the number of the commit.
    fn apply_numbered(&self, mut batch: Batch) -> Result<()> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
        let key = layout::commit_number_key();
        batch.put(key.clone(), record::seal(&key, &number.to_le_bytes()));
        self.store.apply(batch)
    }

    /// Makes all that was applied durable.
    fn sync(&self) -> Result<()> {
        let number = self.commits.load(Ordering::Relaxed);
        self.store.sync()?;
        if let Some(mark) = &self.mark {
            mark.write(number);
        }
        Ok(())
    }

    /// Refuses when an earlier write failed.
    pub(crate) fn check(&self) -> Result<()> {
        match &*self.poisoned.lock() {
            Some(reason) => Err(Error::Poisoned {
                reason: reason.clone(),
            }),
            None => Ok(()),
        }
    }

    /// From now on nothing is written; the first reason stays.
    fn poison(&self, reason: String) -> Error {
        let mut poisoned = self.poisoned.lock();
        if poisoned.is_none() {
            tracing::error!(reason, "storage takes no more writes");
        }
        Error::Poisoned {
            reason: poisoned.get_or_insert(reason).clone(),
        }
    }

    /// Poisons the storage when the result says that the state of the disk is unknown.
    pub(crate) fn note_failure<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| {
            if error.leaves_disk_unknown() {
                self.poison(error.to_string());
            }
        })
    }

    /// Writes what need not be durable before the next commit.
    pub(crate) fn apply_unsynced(&self, batch: Batch) -> Result<()> {
        self.check()?;
        self.store.apply(batch).inspect_err(|error| {
            self.poison(error.to_string());
        })
    }
}
