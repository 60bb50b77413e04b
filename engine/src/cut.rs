//! Cuts: one growing number by which all tables, sources and views agree on what they have seen.
//!
//! The **latest** cut is closed: every table and source has a fixed position at it. Table commits carry the next number,
//! the pending one; stamping closes that and opens another. A view has a **boundary** at a cut when it has consumed all
//! its inputs exactly up to it. Where nothing that a view reads has changed since its last boundary, later cuts are
//! boundaries too, without an epoch: [`State::refresh`] adds them when somebody asks.
//!
//! Two locks: `gate` is held through a table's commit and while stamping, so that a commit is wholly in one cut; `state`
//! is held for moments only, so readers never wait for a disk.

mod boundaries;
mod handed_on;
mod positions;
mod state;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use millpond_catalog::ObjectId;
use millpond_storage::{Cut, Notes, Storage};
use parking_lot::{Condvar, FairMutex, Mutex};

use crate::error::{Error, Result};
use crate::source::{Position, Source};

use boundaries::{Boundaries, rounder_than_all_between};
pub(crate) use handed_on::Followed;
use handed_on::HandedOn;
use positions::Positions;
use subscriptions::Reader;

/// Cuts that are reserved at a time. Numbers start behind the reserved ones after a restart and so never go back, without
/// a write per cut.
const RESERVED: u64 = 1024;
/// Owner and key of the note that says up to where cuts are reserved. Objects have ids from 1.
const RESERVED_OWNER: u64 = 0;
const RESERVED_KEY: &str = "cuts_reserved";

pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

pub(crate) struct Timeline {
    gate: FairMutex<()>,
    state: Mutex<State>,
    /// Something moved: a stamp, a boundary, a query that stopped or started.
    moved: Condvar,
    notes: Notes,
}

struct State {
    latest: Cut,
    reserved: Cut,
    tracks: BTreeMap<ObjectId, Track>,
    wakers: HashMap<ObjectId, Wake>,
    /// Counts what `Timeline::moved` tells.
    generation: u64,
    /// Versions before this are not kept.
    floor: Cut,
    /// Subscribers by number, and how many there have been.
    readers: BTreeMap<u64, Reader>,
    subscribed: u64,
}

enum Track {
    /// Cuts at which rows came or went, the pending one included.
    Table(BTreeSet<Cut>),
    Source(Positions),
    View(ViewTrack),
}

#[derive(Default)]
struct ViewTrack {
    inputs: Vec<ObjectId>,
    /// Views among them whose watermark it goes by.
    follows: Vec<ObjectId>,
    handed_on: HandedOn,
    /// Cuts at which the result changed.
    changed: BTreeSet<Cut>,
    boundaries: Boundaries,
    /// The cut that the query is on its way to.
    target: Option<Cut>,
    /// Why it does not move.
    still: Option<String>,
    /// The watermark moved: at the next cut the result may be another without any input, so no cut is a boundary before
    /// an epoch has gone there.
    due: bool,
    /// Epochs committed since the start.
    epochs: u64,
    /// Durable positions in sources.
    consumed: Vec<(ObjectId, Position)>,
}

/// What a view's query left behind when the server stopped.
#[derive(Debug, Default)]
pub(crate) struct RecoveredView {
    pub(crate) inputs: Vec<ObjectId>,
    pub(crate) follows: Vec<ObjectId>,
    /// Of the result, at its last change.
    pub(crate) watermark: Option<i64>,
    /// Up to here its log is summed.
    pub(crate) summed_to: Cut,
    /// Cuts in its log.
    pub(crate) changed: BTreeSet<Cut>,
    /// Cuts reached, ascending.
    pub(crate) boundaries: Vec<Cut>,
    /// Of an epoch that was begun, or of the way through several.
    pub(crate) target: Option<Cut>,
    pub(crate) due: bool,
    pub(crate) consumed: Vec<(ObjectId, Position)>,
}

/// Where a query may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Go(Cut),
    /// It stands at the latest cut. `dirty`: tables it reads have commits since.
    AtLatest {
        cut: Cut,
        dirty: bool,
    },
    /// A view it reads has to move first.
    Behind,
}

/// What an epoch did.
pub(crate) struct Published {
    pub(crate) cut: Cut,
    /// The cut is a boundary now; otherwise more epochs lead there.
    pub(crate) reached: bool,
    /// Its log has entries at the cut.
    pub(crate) changed: bool,
    /// Of the result.
    pub(crate) watermark: Option<i64>,
    pub(crate) due: bool,
    /// What that follows from.
    pub(crate) followed: Vec<Followed>,
    pub(crate) consumed: Vec<(ObjectId, Position)>,
}

/// A view as a flush sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) boundary: Option<Cut>,
    pub(crate) due: bool,
    pub(crate) epochs: u64,
    /// Why it, or a view that it reads, does not move.
    pub(crate) still: Option<String>,
    /// It moves itself, and has not taken in all that the views it reads have.
    pub(crate) catching_up: bool,
}

/// How the relations of one SELECT are read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadPlan {
    pub(crate) cut: Option<Cut>,
    /// Views read at a cut of their own, `None` for the newest there is, with the reason.
    pub(crate) apart: Vec<(ObjectId, Option<Cut>, String)>,
}

/// What need not be kept any longer.
#[derive(Default)]
pub(crate) struct Floors {
    pub(crate) relations: Vec<RelationFloor>,
    /// Least position of all queries that read the source.
    pub(crate) sources: Vec<(Arc<dyn Source>, Position)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RelationFloor {
    pub(crate) object: ObjectId,
    /// Least version that a read may ask for.
    pub(crate) versions_from: Cut,
    /// All readers of the log are past this.
    pub(crate) readers_past: Cut,
}

impl Timeline {
    pub(crate) fn recover(storage: &Storage) -> Result<Timeline> {
        let notes = storage.notes(RESERVED_OWNER);
        let reserved = match notes.get(RESERVED_KEY)? {
            None => Cut::ZERO,
            Some(bytes) => Cut(serde_json::from_slice(&bytes)
                .map_err(|_| Error::Bug("the note of reserved cuts cannot be read".to_owned()))?),
        };
        let state = State {
            latest: reserved,
            reserved,
            tracks: BTreeMap::new(),
            wakers: HashMap::new(),
            generation: 0,
            floor: Cut::ZERO,
            readers: BTreeMap::new(),
            subscribed: 0,
        };
        Ok(Timeline {
            gate: FairMutex::new(()),
            state: Mutex::new(state),
            moved: Condvar::new(),
            notes,
        })
    }

    pub(crate) fn add_table(&self, id: ObjectId, changed: BTreeSet<Cut>) {
        self.state.lock().tracks.insert(id, Track::Table(changed));
    }

    pub(crate) fn add_source(&self, id: ObjectId, source: Arc<dyn Source>, notes: Notes) -> Result<()> {
        let positions = Positions::recover(source, notes)?;
        self.state.lock().tracks.insert(id, Track::Source(positions));
        Ok(())
    }

    pub(crate) fn add_view(&self, id: ObjectId, recovered: RecoveredView) {
        let RecoveredView {
            inputs,
            follows,
            watermark,
            summed_to,
            changed,
            boundaries,
            target,
            due,
            consumed,
        } = recovered;
        let mut state = self.state.lock();
        let mut track = ViewTrack {
            inputs,
            follows: follows.clone(),
            changed,
            consumed,
            ..ViewTrack::default()
        };
        let last_change = track.changed.last().copied().unwrap_or(Cut::ZERO).max(summed_to);
        track.handed_on.note(last_change, true, watermark);
        state.tracks.insert(id, Track::View(track));
        for cut in boundaries {
            // Up to the next boundary that is known, the one before may hold for a while.
            state.view_mut(id).target = Some(cut);
            state.extend(id);
            state.view_mut(id).boundaries.push(cut);
        }
        let track = state.view_mut(id);
        track.target = target;
        track.due = due;
        // A view whose watermark nobody asked for may have one that it did not hand on.
        for followed in &follows {
            if let Some(Track::View(track)) = state.tracks.get_mut(followed) {
                track.due = true;
            }
        }
        self.tell(&mut state);
        drop(state);
        self.wake(&follows);
    }

    pub(crate) fn add_waker(&self, id: ObjectId, wake: Wake) {
        self.state.lock().wakers.insert(id, wake);
    }

    pub(crate) fn remove(&self, id: ObjectId) {
        let mut state = self.state.lock();
        state.tracks.remove(&id);
        state.wakers.remove(&id);
        self.tell(&mut state);
    }

    /// Runs a commit of rows into `tables` at the pending cut, then wakes who reads them.
    pub(crate) fn commit<T>(&self, tables: &[ObjectId], commit: impl FnOnce(Cut) -> Result<T>) -> Result<T> {
        let gate = self.gate.lock();
        let pending = {
            let mut state = self.state.lock();
            let pending = state.latest.next();
            self.reserve(&mut state, pending)?;
            pending
        };
        let done = commit(pending)?;
        let wakers = {
            let mut state = self.state.lock();
            for table in tables {
                if let Some(Track::Table(changed)) = state.tracks.get_mut(table) {
                    changed.insert(pending);
                }
            }
            self.tell(&mut state);
            state.wakers_above(tables)
        };
        // A query that wants to stamp what was just committed goes before the next commit.
        drop(gate);
        wakers.iter().for_each(|wake| wake());
        Ok(done)
    }

    /// Closes everything that is there for a run that ends, if `expected` is still the latest cut: the first cut of the
    /// answer holds all commits and `moves`, and from there to the second nothing is added.
    pub(crate) fn stamp_end(
        &self,
        expected: Cut,
        moves: Vec<(ObjectId, Position)>,
    ) -> Result<Option<(Cut, Cut)>> {
        let gate = self.gate.lock();
        let mut state = self.state.lock();
        if state.latest != expected {
            return Ok(None);
        }
        let end = expected.next();
        let rest = end.next();
        self.reserve(&mut state, rest.next())?;
        let wakers = self.close(&mut state, rest, (end, moves))?;
        drop(state);
        drop(gate);
        wakers.iter().for_each(|wake| wake());
        Ok(Some((end, rest)))
    }

    /// Makes `latest` the latest cut, the sources having moved at a cut up to there. Gives who is to be woken.
    fn close(
        &self,
        state: &mut State,
        latest: Cut,
        (at, moves): (Cut, Vec<(ObjectId, Position)>),
    ) -> Result<Vec<Wake>> {
        let moved: Vec<ObjectId> = moves.iter().map(|(source, _)| *source).collect();
        for (source, position) in moves {
            if let Some(Track::Source(positions)) = state.tracks.get_mut(&source) {
                positions.record(at, position)?;
            }
        }
        state.latest = latest;
        self.tell(state);
        Ok(state.wakers_above(&moved))
    }

    /// Closes the pending cut if `expected` is still the latest one. `moves` are the sources' new positions. With
    /// `round_from`, the number is one that everyone who stands after `round_from` will stop at.
    pub(crate) fn stamp(
        &self,
        expected: Cut,
        moves: Vec<(ObjectId, Position)>,
        round_from: Option<Cut>,
    ) -> Result<()> {
        let gate = self.gate.lock();
        let mut state = self.state.lock();
        if state.latest != expected {
            return Ok(());
        }
        let cut = match round_from {
            Some(from) if from < expected => rounder_than_all_between(from, expected),
            Some(_) | None => expected.next(),
        };
        self.reserve(&mut state, cut.next())?;
        let wakers = self.close(&mut state, cut, (cut, moves))?;
        drop(state);
        drop(gate);
        wakers.iter().for_each(|wake| wake());
        Ok(())
    }

    /// Stamps a cut if a table has commits that no cut has closed. Returns the latest cut.
    pub(crate) fn close_pending(&self) -> Result<Cut> {
        loop {
            let (latest, dirty) = {
                let state = self.state.lock();
                (state.latest, state.dirty_tables().next().is_some())
            };
            if !dirty {
                return Ok(latest);
            }
            self.stamp(latest, Vec::new(), None)?;
        }
    }

    /// The cut that a view goes to next. A view that was never at a boundary goes to the latest possible one, because the
    /// older part of what it reads may be summed; any other goes to the roundest. With `ask_first` a cut is chosen only
    /// after the caller had the chance to stamp one.
    pub(crate) fn choose(&self, view: ObjectId, ask_first: bool) -> Choice {
        let mut state = self.state.lock();
        state.refresh();
        let latest = state.latest;
        let track = state.view(view);
        if let Some(target) = track.target {
            return Choice::Go(target);
        }
        let at = track.boundaries.last();
        let dirty = track.inputs.iter().any(|input| state.is_dirty(*input));
        let allowed = state.allowed(view);
        let target = if at.is_none() {
            allowed.last()
        } else {
            allowed.roundest()
        };
        match target {
            Some(_) if ask_first => Choice::AtLatest { cut: latest, dirty },
            Some(target) => {
                state.view_mut(view).target = Some(target);
                Choice::Go(target)
            }
            None if at.unwrap_or(Cut::ZERO) == latest => Choice::AtLatest { cut: latest, dirty },
            None => Choice::Behind,
        }
    }

    /// The cut that a view is on its way to.
    pub(crate) fn target(&self, view: ObjectId) -> Option<Cut> {
        self.state.lock().view(view).target
    }

    /// Sends a view to the first cut from `from` on at which everything it reads stands, if there is one.
    pub(crate) fn go_from(&self, view: ObjectId, from: Cut) -> Option<Cut> {
        self.go(view, |allowed| allowed.first_from(from))
    }

    /// Sends a view as far as what it reads allows, if it does not stand there.
    pub(crate) fn go_last(&self, view: ObjectId) -> Option<Cut> {
        self.go(view, Boundaries::last)
    }

    fn go(&self, view: ObjectId, choice: impl FnOnce(&Boundaries) -> Option<Cut>) -> Option<Cut> {
        let mut state = self.state.lock();
        state.refresh();
        let target = choice(&state.allowed(view))?;
        state.view_mut(view).target = Some(target);
        Some(target)
    }

    /// A view that this one reads, directly or through others, does not move.
    pub(crate) fn reads_still(&self, view: ObjectId) -> bool {
        let state = self.state.lock();
        let inputs = state.view(view).inputs.clone();
        inputs.iter().any(|input| state.why_still(*input).is_some())
    }

    /// The last boundary of a view.
    pub(crate) fn boundary(&self, view: ObjectId) -> Option<Cut> {
        let mut state = self.state.lock();
        state.refresh();
        match state.tracks.get(&view) {
            Some(Track::View(track)) => track.boundaries.last(),
            Some(Track::Table(_) | Track::Source(_)) | None => None,
        }
    }

    pub(crate) fn position(&self, source: ObjectId, cut: Cut) -> Option<Position> {
        match self.state.lock().tracks.get(&source) {
            Some(Track::Source(positions)) => Some(positions.at(cut)),
            Some(Track::Table(_) | Track::View(_)) | None => None,
        }
    }

    pub(crate) fn latest(&self) -> Cut {
        self.state.lock().latest
    }

    pub(crate) fn is_view(&self, id: ObjectId) -> bool {
        matches!(self.state.lock().tracks.get(&id), Some(Track::View(_)))
    }

    /// Some query reads the source.
    pub(crate) fn is_read(&self, source: ObjectId) -> bool {
        self.state.lock().readers_of(source).next().is_some()
    }

    /// An epoch of the view is committed.
    pub(crate) fn publish(&self, view: ObjectId, published: Published) {
        let wakers = {
            let mut state = self.state.lock();
            // Cuts up to here where nothing changed come first.
            state.refresh();
            let still_so = state.still_so(&published.followed);
            let track = state.view_mut(view);
            track.epochs += 1;
            track.due = published.due || !still_so;
            track.consumed = published.consumed;
            if published.changed {
                track.changed.insert(published.cut);
            }
            if published.reached {
                track.boundaries.push(published.cut);
                track.target = None;
            }
            if track
                .handed_on
                .note(published.cut, published.changed, published.watermark)
            {
                state.call_followers(view);
            }
            self.tell(&mut state);
            state.wakers_above(&[view])
        };
        wakers.iter().for_each(|wake| wake());
    }

    /// The watermark that a view hands on to a reader who stands at a cut.
    pub(crate) fn handed_on(&self, view: ObjectId, at: Cut) -> Option<i64> {
        self.state.lock().handed_on(view, at)
    }

    /// Another view goes by the watermark of this one.
    pub(crate) fn is_followed(&self, view: ObjectId) -> bool {
        self.state.lock().is_followed(view)
    }

    /// Whether an epoch without input is due, which follows from what was found out about the views below.
    pub(crate) fn set_due(&self, view: ObjectId, due: bool, followed: &[Followed]) {
        let mut state = self.state.lock();
        let due = due || !state.still_so(followed);
        let track = state.view_mut(view);
        if track.due != due {
            track.due = due;
            self.tell(&mut state);
        }
    }

    /// The view moves, or does not for a reason.
    pub(crate) fn set_still(&self, view: ObjectId, reason: Option<String>) {
        let mut state = self.state.lock();
        if let Some(Track::View(track)) = state.tracks.get_mut(&view) {
            track.still = reason;
        }
        self.tell(&mut state);
    }

    pub(crate) fn standing(&self, view: ObjectId) -> Option<Standing> {
        let mut state = self.state.lock();
        state.refresh();
        let Some(Track::View(track)) = state.tracks.get(&view) else {
            return None;
        };
        Some(Standing {
            boundary: track.boundaries.last(),
            due: track.due,
            epochs: track.epochs,
            still: state.why_still(view),
            catching_up: track.still.is_none()
                && (track.target.is_some() || state.allowed(view).last().is_some()),
        })
    }

    /// What `view` reads, directly and through other views, views included, without the view itself.
    pub(crate) fn reads(&self, view: ObjectId) -> BTreeSet<ObjectId> {
        let state = self.state.lock();
        let mut below = BTreeSet::new();
        let mut open = vec![view];
        while let Some(id) = open.pop() {
            if let Some(Track::View(track)) = state.tracks.get(&id) {
                open.extend(track.inputs.iter().filter(|input| below.insert(**input)));
            }
        }
        below
    }

    pub(crate) fn wake(&self, views: &[ObjectId]) {
        let wakers: Vec<Wake> = {
            let state = self.state.lock();
            views
                .iter()
                .filter_map(|view| state.wakers.get(view).cloned())
                .collect()
        };
        wakers.iter().for_each(|wake| wake());
    }

    pub(crate) fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    /// Waits until something moved since `generation`, for `patience` at most.
    pub(crate) fn wait(&self, generation: u64, patience: Duration) {
        let mut state = self.state.lock();
        if state.generation == generation {
            self.moved.wait_for(&mut state, patience);
        }
    }

    /// The least stamped cut at which `source` has reached `target`, if there is one.
    pub(crate) fn cut_reaching(&self, source: ObjectId, target: &Position) -> Option<Cut> {
        let state = self.state.lock();
        match state.tracks.get(&source) {
            Some(Track::Source(positions)) => positions.cut_reaching(target),
            Some(Track::Table(_) | Track::View(_)) | None => None,
        }
    }

    pub(crate) fn plan_read(&self, ids: &[ObjectId]) -> ReadPlan {
        let mut state = self.state.lock();
        state.refresh();
        state.plan_read(ids)
    }

    pub(crate) fn floors(&self) -> Floors {
        let mut state = self.state.lock();
        state.refresh();
        state.floors()
    }

    /// Forgets what lies before `floors`.
    pub(crate) fn prune(&self, floors: &Floors) -> Result<()> {
        self.state.lock().prune(floors)
    }

    fn reserve(&self, state: &mut State, cut: Cut) -> Result<()> {
        if cut > state.reserved {
            let reserved = Cut((cut.0 / RESERVED + 1) * RESERVED);
            self.notes.put(vec![(
                RESERVED_KEY.to_owned(),
                reserved.0.to_string().into_bytes(),
            )])?;
            state.reserved = reserved;
        }
        Ok(())
    }

    fn tell(&self, state: &mut State) {
        state.generation += 1;
        self.moved.notify_all();
        state.readers.values().for_each(|reader| (reader.wake)());
    }
}
