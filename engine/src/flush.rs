//! FLUSH: waiting until everything accepted so far is in the views.
//!
//! What counts: rows committed to tables, and what the sources show, at the moment of the call. The views then have to
//! reach the cut that closes all of it. Watermarks that moved on the way make epochs without input, and their results
//! may be input of other views, so waiting goes in rounds, until a round leaves nothing due.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use millpond_catalog::ObjectId;
use millpond_storage::Cut;

use crate::cut::{Standing, Timeline};
use crate::engine::{Entry, Shared};
use crate::error::{Error, Result};
use crate::query::status::QueryState;
use crate::source::Position;

/// How often a waiting flush looks whether it is still wanted.
const CANCEL_CHECK: Duration = Duration::from_millis(20);

/// Whose results are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushTarget {
    /// All streaming views.
    All,
    /// One view, and those it reads.
    View(ObjectId),
}

/// What a flush could not wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlushReport {
    pub skipped: Vec<Skipped>,
    /// The caller gave up before all views were done.
    pub cancelled: bool,
}

/// A view that does not move: paused, failed, terminated, or reading one that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub object: ObjectId,
    pub name: String,
    pub reason: String,
    /// It, or what it reads, has come to the end that its trigger has.
    pub terminated: bool,
}

struct Flush<'a> {
    shared: &'a Shared,
    timeline: &'a Timeline,
    views: Vec<ObjectId>,
    cancelled: &'a dyn Fn() -> bool,
}

pub(crate) fn flush(
    shared: &Shared,
    target: FlushTarget,
    cancelled: &dyn Fn() -> bool,
) -> Result<FlushReport> {
    let timeline = &shared.timeline;
    let flush = Flush {
        shared,
        timeline,
        views: views_of(shared, target)?,
        cancelled,
    };
    let wanted = source_targets(shared, &flush.views);
    let done = loop {
        let sent = shared.late_sent.load(Ordering::SeqCst);
        let closed = timeline.close_pending()?;
        timeline.wake(&flush.views);
        let done = flush.run(closed, &wanted);
        // Rows that were late for one view are input of others.
        if !done || shared.late_sent.load(Ordering::SeqCst) == sent {
            break done;
        }
    };
    let mut report = FlushReport {
        skipped: Vec::new(),
        cancelled: !done,
    };
    for view in &flush.views {
        if let Some(Standing {
            still: Some(reason), ..
        }) = timeline.standing(*view)
            && let Some(Entry::View(handle)) = shared.entry(*view)
        {
            report.skipped.push(Skipped {
                object: *view,
                name: handle.name(),
                reason,
                terminated: has_ended(shared, *view),
            });
        }
    }
    Ok(report)
}

/// All that keeps the view from moving is that runs have ended.
fn has_ended(shared: &Shared, view: ObjectId) -> bool {
    let mut views = shared.timeline.reads(view);
    views.insert(view);
    views.into_iter().all(|view| match shared.entry(view) {
        Some(Entry::View(handle)) => {
            let status = handle.status(&shared.timeline);
            status.is_active() || status.state == QueryState::Terminated
        }
        Some(Entry::Table(_) | Entry::Source(_)) | None => true,
    })
}

fn views_of(shared: &Shared, target: FlushTarget) -> Result<Vec<ObjectId>> {
    let objects = shared.objects.read();
    let is_view = |id: &ObjectId| matches!(objects.get(id), Some(Entry::View(_)));
    match target {
        FlushTarget::All => {
            let mut views: Vec<ObjectId> = objects.keys().copied().filter(is_view).collect();
            views.sort();
            Ok(views)
        }
        FlushTarget::View(view) if is_view(&view) => {
            let mut views: BTreeSet<ObjectId> =
                shared.timeline.reads(view).into_iter().filter(is_view).collect();
            views.insert(view);
            Ok(views.into_iter().collect())
        }
        FlushTarget::View(view) => Err(Error::Gone(view)),
    }
}

/// How far the sources under `views` go now. One that cannot be asked has nothing to wait for.
fn source_targets(shared: &Shared, views: &[ObjectId]) -> Vec<(ObjectId, Position)> {
    let moving = views.iter().filter(|view| {
        shared
            .timeline
            .standing(**view)
            .is_some_and(|s| s.still.is_none())
    });
    let below: BTreeSet<ObjectId> = moving.flat_map(|view| shared.timeline.reads(*view)).collect();
    let mut targets = Vec::new();
    for id in below {
        if let Some(Entry::Source(source)) = shared.entry(id) {
            match source.latest(shared.clock.now_us()) {
                Ok(position) => targets.push((id, position)),
                Err(error) => {
                    tracing::warn!(source = source.description(), %error, "flush does not wait for a source")
                }
            }
        }
    }
    targets
}

impl Flush<'_> {
    /// False when it was cancelled.
    fn run(&self, closed: Cut, sources: &[(ObjectId, Position)]) -> bool {
        let Some(mut goal) = self.await_cut(closed, sources) else {
            return false;
        };
        // A chain of views is no longer than their number, and each link can make more rounds: one when its own watermark
        // moves, one when that of the view below does.
        for _ in 0..=2 * self.views.len() {
            if !self.await_all(|standing| standing.boundary.is_some_and(|at| at >= goal)) {
                return false;
            }
            let due: Vec<(ObjectId, u64)> = self
                .standings()
                .filter(|(_, standing)| standing.due && standing.still.is_none())
                .map(|(view, standing)| (view, standing.epochs))
                .collect();
            if due.is_empty() {
                return true;
            }
            let epochs_of =
                |view: ObjectId| due.iter().find(|(of, _)| *of == view).map(|(_, epochs)| *epochs);
            let ran = self.await_each(|view, standing| {
                !standing.due || epochs_of(view).is_none_or(|epochs| standing.epochs > epochs)
            });
            if !ran {
                return false;
            }
            goal = due
                .iter()
                .filter_map(|(view, _)| self.timeline.standing(*view))
                .filter_map(|standing| standing.boundary)
                .fold(goal, Cut::max);
        }
        true
    }

    /// The cut at which tables are closed and sources have come as far as they showed.
    fn await_cut(&self, closed: Cut, sources: &[(ObjectId, Position)]) -> Option<Cut> {
        let mut goal = closed;
        for (source, target) in sources {
            loop {
                let generation = self.timeline.generation();
                if let Some(cut) = self.timeline.cut_reaching(*source, target) {
                    goal = goal.max(cut);
                    break;
                }
                if !self.is_read_by_a_moving_view(*source) {
                    break;
                }
                self.hurry(|_| true);
                if (self.cancelled)() {
                    return None;
                }
                self.timeline.wait(generation, CANCEL_CHECK);
            }
        }
        Some(goal)
    }

    fn is_read_by_a_moving_view(&self, source: ObjectId) -> bool {
        self.standings()
            .any(|(view, standing)| standing.still.is_none() && self.timeline.reads(view).contains(&source))
    }

    fn await_all(&self, done: impl Fn(&Standing) -> bool) -> bool {
        self.await_each(|_, standing| done(standing))
    }

    fn await_each(&self, done: impl Fn(ObjectId, &Standing) -> bool) -> bool {
        loop {
            let generation = self.timeline.generation();
            let waits: BTreeSet<ObjectId> = self
                .standings()
                .filter(|(view, standing)| {
                    (standing.still.is_none() && !done(*view, standing))
                        || (standing.still.is_some() && standing.catching_up)
                })
                .map(|(view, _)| view)
                .collect();
            if waits.is_empty() {
                return true;
            }
            self.hurry(|view| waits.contains(&view));
            if (self.cancelled)() {
                return false;
            }
            self.timeline.wait(generation, CANCEL_CHECK);
        }
    }

    /// Has views that tick begin their next tick now: whoever flushes does not want to wait for it.
    fn hurry(&self, wanted: impl Fn(ObjectId) -> bool) {
        for view in self.views.iter().copied().filter(|view| wanted(*view)) {
            if let Some(Entry::View(handle)) = self.shared.entry(view) {
                handle.hurry();
            }
        }
    }

    /// Of the views that were not removed meanwhile.
    fn standings(&self) -> impl Iterator<Item = (ObjectId, Standing)> + '_ {
        self.views
            .iter()
            .filter_map(|view| self.timeline.standing(*view).map(|standing| (*view, standing)))
    }
}
