//! The pure part of the timeline: what follows from the cuts, changes and boundaries that are known.

use std::collections::BTreeSet;

use millpond_catalog::ObjectId;
use millpond_storage::Cut;

use super::boundaries::Boundaries;
use super::{Floors, ReadPlan, RelationFloor, State, Track, ViewTrack, Wake};
use crate::error::Result;
use crate::source::Position;

impl State {
    pub(super) fn view(&self, id: ObjectId) -> &ViewTrack {
        match self.tracks.get(&id) {
            Some(Track::View(track)) => track,
            Some(Track::Table(_) | Track::Source(_)) | None => {
                panic!("view {id} is registered while its query runs")
            }
        }
    }

    pub(super) fn view_mut(&mut self, id: ObjectId) -> &mut ViewTrack {
        match self.tracks.get_mut(&id) {
            Some(Track::View(track)) => track,
            Some(Track::Table(_) | Track::Source(_)) | None => {
                panic!("view {id} is registered while its query runs")
            }
        }
    }

    pub(super) fn dirty_tables(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.tracks.keys().copied().filter(|id| self.is_dirty(*id))
    }

    /// A table with commits at the pending cut.
    pub(super) fn is_dirty(&self, id: ObjectId) -> bool {
        match self.tracks.get(&id) {
            Some(Track::Table(changed)) => changed.last().is_some_and(|cut| *cut > self.latest),
            Some(Track::Source(_) | Track::View(_)) | None => false,
        }
    }

    /// Gives every view the boundaries that it has without an epoch. Views read objects with lesser ids, so one pass in
    /// the order of ids is enough.
    pub(super) fn refresh(&mut self) {
        let views: Vec<ObjectId> = self.view_ids().collect();
        for view in views {
            self.extend(view);
        }
    }

    fn view_ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.tracks
            .iter()
            .filter(|(_, track)| matches!(track, Track::View(_)))
            .map(|(id, _)| *id)
    }

    /// A view's last boundary holds on at later cuts where all views that it reads have one, up to the first change of
    /// anything that it reads, and not as far as the cut that its query is on the way to. An epoch that is due for the
    /// watermark's sake ends it at once.
    pub(super) fn extend(&mut self, id: ObjectId) {
        let track = self.view(id);
        let Some(at) = track.boundaries.last().filter(|_| !track.due) else {
            return;
        };
        let mut to = self.latest;
        if let Some(target) = track.target {
            to = to.min(before(target));
        }
        for input in &track.inputs {
            if let Some(change) = self.first_change_after(*input, at) {
                to = to.min(before(change));
            }
        }
        let mut held = Boundaries::between(at, to);
        for input in &track.inputs {
            if let Some(Track::View(input)) = self.tracks.get(input) {
                held = held.intersect(&input.boundaries);
            }
        }
        self.view_mut(id).boundaries.append(&held);
    }

    /// Cuts after the view's last boundary at which all views that it reads stand.
    pub(super) fn allowed(&self, id: ObjectId) -> Boundaries {
        let track = self.view(id);
        let at = track.boundaries.last().unwrap_or(Cut::ZERO);
        let mut allowed = Boundaries::between(at, self.latest);
        for input in &track.inputs {
            if let Some(Track::View(input)) = self.tracks.get(input) {
                allowed = allowed.intersect(&input.boundaries);
            }
        }
        allowed
    }

    fn first_change_after(&self, id: ObjectId, cut: Cut) -> Option<Cut> {
        let first = |changed: &BTreeSet<Cut>| changed.range(cut.next()..).next().copied();
        match self.tracks.get(&id)? {
            Track::Table(changed) => first(changed),
            Track::Source(positions) => positions.first_change_after(cut),
            Track::View(track) => first(&track.changed),
        }
    }

    /// Wakers of all views that read one of `ids`, directly or through other views.
    pub(super) fn wakers_above(&self, ids: &[ObjectId]) -> Vec<Wake> {
        let mut above: BTreeSet<ObjectId> = ids.iter().copied().collect();
        let mut wakers = Vec::new();
        for (id, track) in &self.tracks {
            if let Track::View(track) = track
                && track.inputs.iter().any(|input| above.contains(input))
            {
                above.insert(*id);
                wakers.extend(self.wakers.get(id).cloned());
            }
        }
        wakers
    }

    /// Why the view, or one that it reads, does not move.
    pub(super) fn why_still(&self, id: ObjectId) -> Option<String> {
        let Some(Track::View(track)) = self.tracks.get(&id) else {
            return None;
        };
        if let Some(reason) = &track.still {
            return Some(reason.clone());
        }
        track.inputs.iter().find_map(|input| {
            self.why_still(*input)
                .map(|reason| format!("reads a view that does not move ({reason})"))
        })
    }

    pub(super) fn plan_read(&self, ids: &[ObjectId]) -> ReadPlan {
        let mut plan = ReadPlan::default();
        let mut moving: Vec<(ObjectId, &Boundaries)> = Vec::new();
        for id in ids {
            let Some(Track::View(track)) = self.tracks.get(id) else {
                continue;
            };
            match (&track.still, track.boundaries.last()) {
                (Some(reason), at) => plan.apart.push((*id, at, reason.clone())),
                (None, None) => plan.apart.push((*id, None, "it is starting".to_owned())),
                (None, Some(_)) => moving.push((*id, &track.boundaries)),
            }
        }
        while !moving.is_empty() {
            let kept = Boundaries::between(before(self.floor), self.latest);
            let common = moving
                .iter()
                .fold(kept, |common, (_, boundaries)| common.intersect(boundaries));
            if let Some(cut) = common.last() {
                plan.cut = Some(cut);
                break;
            }
            // One that was held and moves again is behind what is still kept of the others.
            let (slowest, _) = moving
                .iter()
                .enumerate()
                .min_by_key(|(_, (_, boundaries))| boundaries.last())
                .expect("not empty");
            let (id, boundaries) = moving.swap_remove(slowest);
            plan.apart
                .push((id, boundaries.last(), "it is catching up".to_owned()));
        }
        plan
    }

    /// Everything is needed from the greatest boundary that all moving views share; logs also from where their slowest
    /// reader stands, be it held or not.
    pub(super) fn floors(&mut self) -> Floors {
        let mut common = Boundaries::between(before(self.floor), self.latest);
        for track in self.tracks.values() {
            if let Track::View(track) = track
                && track.still.is_none()
                && track.boundaries.last().is_some()
            {
                common = common.intersect(&track.boundaries);
            }
        }
        self.floor = common.last().unwrap_or(self.floor);
        let floor = self.floor;
        let mut floors = Floors::default();
        for (id, track) in &self.tracks {
            let own = match track {
                Track::View(track) => track.boundaries.last().unwrap_or(Cut::ZERO).min(floor),
                Track::Table(_) | Track::Source(_) => floor,
            };
            let readers_past = self
                .readers_of(*id)
                .map(|reader| reader.boundaries.last().unwrap_or(Cut::ZERO));
            let readers_past = readers_past.chain(self.subscribers_past(*id));
            let readers_past = readers_past.min().unwrap_or(own).min(own);
            if let Track::Source(positions) = track {
                floors.sources.extend(
                    self.least_position(*id)
                        .map(|least| (positions.source.clone(), least)),
                );
            }
            floors.relations.push(RelationFloor {
                object: *id,
                versions_from: own,
                readers_past,
            });
        }
        floors
    }

    /// Forgets what lies before `floors`.
    pub(super) fn prune(&mut self, floors: &Floors) -> Result<()> {
        for floor in &floors.relations {
            match self.tracks.get_mut(&floor.object) {
                Some(Track::Table(changed)) => *changed = changed.split_off(&floor.readers_past),
                Some(Track::Source(positions)) => positions.prune(floor.readers_past)?,
                Some(Track::View(track)) => {
                    track.changed = track.changed.split_off(&floor.readers_past);
                    track.boundaries.prune(floor.versions_from);
                }
                None => {}
            }
        }
        Ok(())
    }

    pub(super) fn readers_of(&self, id: ObjectId) -> impl Iterator<Item = &ViewTrack> + '_ {
        self.tracks.values().filter_map(move |track| match track {
            Track::View(view) if view.inputs.contains(&id) => Some(view),
            Track::View(_) | Track::Table(_) | Track::Source(_) => None,
        })
    }

    /// The position before which no query will read the source again; `None` when that is not known of all of them.
    fn least_position(&self, id: ObjectId) -> Option<Position> {
        let Some(Track::Source(positions)) = self.tracks.get(&id) else {
            return None;
        };
        let mut least: Option<Position> = None;
        for reader in self.readers_of(id) {
            let (_, position) = reader.consumed.iter().find(|(source, _)| *source == id)?;
            let behind = least
                .as_ref()
                .is_none_or(|least| positions.source.reached(least, position));
            if behind {
                least = Some(position.clone());
            }
        }
        least
    }
}

fn before(cut: Cut) -> Cut {
    Cut(cut.0.saturating_sub(1))
}
