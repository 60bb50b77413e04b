//! Consistent reads: all relations of one SELECT at one cut.
//!
//! The cut is the greatest one at which every running view among them has a boundary, so a view, another view of the
//! same table and a view over both never disagree. A view that stands still (paused, failed, starting) does not hold the
//! others back: it is read at its own last result and listed in [`ReadView::apart`].

use std::sync::Arc;

use hashbrown::HashMap;
use millpond_catalog::ObjectId;
use millpond_storage::{Cut, Snapshot};

use crate::engine::{Entry, Shared};
use crate::error::{Error, Result};
use crate::source::{Position, Source};

/// Attempts to find all versions of a cut before the newest ones are taken. A version goes only when a newer common cut
/// exists, so the next attempt finds that.
const ATTEMPTS: usize = 16;

/// What one SELECT sees.
#[derive(Clone, Default)]
pub struct ReadView {
    /// The common cut; `None` when only tables or sources that no view reads are involved, which are read at their latest.
    pub cut: Option<Cut>,
    pub relations: HashMap<ObjectId, Arc<Snapshot>>,
    pub sources: HashMap<ObjectId, SourceRead>,
    /// Views that could not be read at the common cut, with the reason.
    pub apart: Vec<Apart>,
}

/// The part of a source that a SELECT reads.
#[derive(Clone)]
pub struct SourceRead {
    pub source: Arc<dyn Source>,
    pub from: Position,
    pub to: Position,
}

/// A view that was read at its own last result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    pub object: ObjectId,
    pub name: String,
    pub reason: String,
}

pub(crate) fn read(shared: &Shared, ids: &[ObjectId]) -> Result<ReadView> {
    for _ in 0..ATTEMPTS {
        if let Some(view) = attempt(shared, ids)? {
            return Ok(view);
        }
    }
    Err(Error::Bug(
        "no common version of the relations is kept".to_owned(),
    ))
}

/// `None` when a version was let go between choosing the cut and taking it.
fn attempt(shared: &Shared, ids: &[ObjectId]) -> Result<Option<ReadView>> {
    let plan = shared.timeline.plan_read(ids);
    let mut view = ReadView {
        cut: plan.cut,
        ..ReadView::default()
    };
    // Asking a source where it ends may take I/O, so it is done before commits are held up.
    for id in ids {
        if let Some(Entry::Source(source)) = shared.entry(*id) {
            let read = read_source(shared, *id, source, plan.cut)?;
            view.sources.insert(*id, read);
        }
    }
    // Without a cut, the newest commits are read, all as of one moment.
    let _one_moment = plan.cut.is_none().then(|| shared.storage.freeze());
    for id in ids {
        let apart = plan.apart.iter().find(|(apart, _, _)| apart == id);
        let snapshot = match shared.entry(*id) {
            None => return Err(Error::Gone(*id)),
            Some(Entry::Source(_)) => continue,
            Some(Entry::Table(table)) => match plan.cut {
                Some(cut) => table.relation.snapshot_at(cut),
                None => Some(table.relation.snapshot()),
            },
            Some(Entry::View(handle)) => {
                let at = match apart {
                    Some((_, at, reason)) => {
                        let name = handle.name().to_owned();
                        view.apart.push(Apart {
                            object: *id,
                            name,
                            reason: reason.clone(),
                        });
                        *at
                    }
                    None => plan.cut,
                };
                match at {
                    Some(cut) => handle.relation().snapshot_at(cut),
                    None => Some(handle.relation().snapshot()),
                }
            }
        };
        match snapshot {
            Some(snapshot) => view.relations.insert(*id, snapshot),
            None => return Ok(None),
        };
    }
    Ok(Some(view))
}

/// A source up to where it stands at the cut, or up to its end where no view reads it.
fn read_source(
    shared: &Shared,
    id: ObjectId,
    source: Arc<dyn Source>,
    cut: Option<Cut>,
) -> Result<SourceRead> {
    let at_cut = cut.filter(|_| shared.timeline.is_read(id));
    let to = match at_cut.and_then(|cut| shared.timeline.position(id, cut)) {
        Some(to) => to,
        None => source.latest(shared.clock.now_us())?,
    };
    let from = source.start();
    let to = source.present(&from, to)?;
    Ok(SourceRead { from, to, source })
}
