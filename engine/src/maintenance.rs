//! Upkeep off the hot path: what no reader needs any more is summed, pruned or given back.
//!
//! One thread, one pass at a time, begun by a nudge after commits. Nothing here changes a result.

use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hashbrown::HashMap;
use millpond_catalog::ObjectId;
use millpond_storage::Cut;
use parking_lot::{Condvar, Mutex};

use crate::cut::RelationFloor;
use crate::engine::{Entry, Shared};
use crate::error::{Error, Result};
use crate::subscription::leave_laggards;

/// The least rest between two passes.
const REST: Duration = Duration::from_millis(200);

#[derive(Default)]
pub(crate) struct Maintenance {
    wish: Arc<(Mutex<Wish>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Wish {
    pass: bool,
    stop: bool,
}

impl Maintenance {
    pub(crate) fn start(&self, shared: &Arc<Shared>) -> Result<()> {
        let (wish, shared) = (Arc::clone(&self.wish), Arc::downgrade(shared));
        let thread = thread::Builder::new()
            .name("maintenance".to_owned())
            .spawn(move || run(&wish, &shared))
            .map_err(|error| Error::Bug(format!("the maintenance thread could not be started: {error}")))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Something was committed.
    pub(crate) fn nudge(&self) {
        let (wish, signal) = &*self.wish;
        let mut wish = wish.lock();
        if !wish.pass {
            wish.pass = true;
            signal.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        {
            let (wish, signal) = &*self.wish;
            wish.lock().stop = true;
            signal.notify_one();
        }
        if let Some(thread) = self.thread.lock().take()
            && thread.thread().id() != thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the maintenance thread had panicked");
        }
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(wish: &(Mutex<Wish>, Condvar), shared: &Weak<Shared>) {
    let (wish, signal) = wish;
    let mut done: HashMap<ObjectId, Cut> = HashMap::new();
    loop {
        {
            let mut wish = wish.lock();
            while !wish.pass && !wish.stop {
                signal.wait(&mut wish);
            }
            if wish.stop {
                return;
            }
            wish.pass = false;
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if let Err(error) = pass(&shared, &mut done) {
            tracing::warn!(%error, "maintenance pass");
        }
        drop(shared);
        let mut wish = wish.lock();
        if !wish.stop {
            signal.wait_for(&mut wish, REST);
        }
    }
}

/// `done`: how far each log was compacted before.
pub(crate) fn pass(shared: &Shared, done: &mut HashMap<ObjectId, Cut>) -> Result<()> {
    leave_laggards(shared);
    let floors = shared.timeline.floors();
    shared.timeline.prune(&floors)?;
    for floor in &floors.relations {
        if done.insert(floor.object, floor.readers_past) == Some(floor.readers_past) {
            continue;
        }
        relation(shared, floor)?;
    }
    for (source, position) in &floors.sources {
        source.forget(position);
    }
    Ok(())
}

fn relation(shared: &Shared, floor: &RelationFloor) -> Result<()> {
    let (relation, aside) = match shared.entry(floor.object) {
        Some(Entry::Table(table)) => (table.relation.clone(), None),
        Some(Entry::View(handle)) => (
            handle.relation().clone(),
            Some((
                handle.clone(),
                [handle.bad_rows().clone(), handle.late_rows().clone()],
            )),
        ),
        Some(Entry::Source(_)) | None => return Ok(()),
    };
    relation.retain_versions(floor.versions_from);
    relation.compact(floor.readers_past)?;
    if let Some((handle, aside)) = aside {
        // Rows that were set aside are read at their newest only.
        for rows in aside {
            rows.retain_versions(floor.versions_from);
            rows.compact(floor.readers_past)?;
        }
        if let Some(keep_from) = handle.prunable_before(shared.options.epochs_kept, floor.versions_from) {
            shared.storage.prune_query_log(floor.object.0, keep_from)?;
        }
    }
    Ok(())
}
