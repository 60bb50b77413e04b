//! A subscription: the changes of a relation, read from its log as its cuts become readable.
//!
//! A subscriber holds no rows: it is a position, and the log is kept from there on. It sees whole cuts only, each once,
//! in order. One that falls [`LAG_BYTES_MAX`] behind is given up, so that a client that does not read costs a bounded part
//! of the disk and nothing else.

use std::sync::Arc;

use millpond_catalog::ObjectId;
use millpond_storage::{Cut, LogEntry, Relation, Snapshot};

use crate::engine::{Engine, Entry, Shared};
use crate::error::{Error, Result};

/// Encoded bytes of log that are kept for one subscriber.
pub(crate) const LAG_BYTES_MAX: u64 = if cfg!(test) { 16 << 10 } else { 1 << 30 };

/// Attempts to find the version of a cut before it is let go.
const ATTEMPTS: usize = 100;

/// What is called, from any thread, when there may be something new.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

pub struct Subscription {
    shared: Arc<Shared>,
    number: u64,
    object: ObjectId,
    relation: Arc<Relation>,
    at: Cut,
}

/// Changes of one or more cuts.
pub struct Step {
    /// Oldest first.
    pub entries: Vec<LogEntry>,
    /// Everything up to here is in `entries` or came before.
    pub to: Cut,
}

impl Engine {
    /// Subscribes to a table or view: at `as_of`, or where it stands now. The snapshot is that of the same cut.
    pub fn subscribe(
        &self,
        object: ObjectId,
        as_of: Option<Cut>,
        wake: Wake,
    ) -> Result<(Subscription, Arc<Snapshot>)> {
        let shared = &self.shared;
        let relation = self.relation(object)?;
        for _ in 0..ATTEMPTS {
            close_commits(shared, object)?;
            let newest = shared.timeline.readable(object).ok_or(Error::Gone(object))?;
            if as_of.is_some_and(|as_of| as_of > newest) {
                return Err(out_of_reach(format!(
                    "nothing is known yet of cut {}: the newest one is {newest}",
                    as_of.unwrap_or_default()
                )));
            }
            let (number, at) = shared
                .timeline
                .subscribe(object, as_of, wake.clone())
                .ok_or(Error::Gone(object))?;
            // From here on the position is held by whoever drops this.
            let subscription = Subscription {
                shared: shared.clone(),
                number,
                object,
                relation: relation.clone(),
                at,
            };
            match relation.snapshot_at(at) {
                Some(snapshot) if relation.summed_to() <= at => return Ok((subscription, snapshot)),
                Some(_) | None if as_of.is_some() => {
                    return Err(out_of_reach(format!("what there was at cut {at} is not kept")));
                }
                // Let go between the choice of the cut and its use.
                Some(_) | None => {}
            }
        }
        Err(out_of_reach(
            "no version of the relation is kept at which it can be read".to_owned(),
        ))
    }
}

/// Rows that no query has closed in a cut become readable.
fn close_commits(shared: &Shared, object: ObjectId) -> Result<()> {
    if shared.timeline.is_dirty(object) {
        shared.timeline.close_pending()?;
    }
    Ok(())
}

fn out_of_reach(message: String) -> Error {
    Error::OutOfReach { message, hint: None }
}

impl Subscription {
    /// The cut up to which everything was handed out.
    pub fn at(&self) -> Cut {
        self.at
    }

    /// What came since; `None` when nothing did. [`Subscription::passed`] says that it was handed on.
    pub fn next(&self) -> Result<Option<Step>> {
        close_commits(&self.shared, self.object)?;
        let to = self.shared.timeline.readable(self.object);
        let to = to.ok_or(Error::Gone(self.object))?;
        if to <= self.at {
            return Ok(None);
        }
        let entries = self
            .relation
            .changes(self.at, to)
            .map_err(|error| self.lagged(error))?;
        Ok(Some(Step { entries, to }))
    }

    pub fn passed(&mut self, to: Cut) {
        self.at = to;
        self.shared.timeline.subscriber_passed(self.number, to);
    }

    /// An error of reading the log. That entries were summed can only be because they were not kept for this reader.
    pub fn lagged(&self, error: millpond_storage::Error) -> Error {
        match error {
            millpond_storage::Error::Compacted { .. } => Error::OutOfReach {
                message: format!(
                    "the subscription fell too far behind: changes after cut {} are not kept",
                    self.at
                ),
                hint: Some("Read faster, or subscribe again with a snapshot.".to_owned()),
            },
            error => error.into(),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.timeline.unsubscribe(self.number);
        self.shared.maintenance.nudge();
    }
}

/// Gives up subscribers that are too far behind.
pub(crate) fn leave_laggards(shared: &Shared) {
    for (number, object, at) in shared.timeline.subscribers() {
        let relation = match shared.entry(object) {
            Some(Entry::Table(table)) => table.relation.clone(),
            Some(Entry::View(handle)) => handle.relation().clone(),
            Some(Entry::Source(_)) | None => continue,
        };
        let entries = relation.changes(at, relation.last_cut()).unwrap_or_default();
        let behind: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if behind > LAG_BYTES_MAX {
            tracing::warn!(%object, behind, "a subscriber is too far behind and is given up");
            shared.timeline.leave_behind(number);
        }
    }
}
