//! Readers of logs that are no queries: where each stands, so that its log is kept apart from there on.

use millpond_catalog::ObjectId;
use millpond_storage::Cut;

use super::{State, Timeline, Track, Wake};

pub(super) struct Reader {
    object: ObjectId,
    /// It has everything up to here.
    at: Cut,
    /// Called whenever something moves.
    pub(super) wake: Wake,
    /// It is so far behind that nothing is kept for it any more.
    left_behind: bool,
}

impl Timeline {
    /// Registers a reader at the newest cut that can be read, or at `as_of`. Gives its number and where it stands.
    pub(crate) fn subscribe(&self, object: ObjectId, as_of: Option<Cut>, wake: Wake) -> Option<(u64, Cut)> {
        let mut state = self.state.lock();
        state.refresh();
        let at = as_of.unwrap_or(state.readable(object)?);
        state.subscribed += 1;
        let number = state.subscribed;
        let reader = Reader {
            object,
            at,
            wake,
            left_behind: false,
        };
        state.readers.insert(number, reader);
        Some((number, at))
    }

    pub(crate) fn unsubscribe(&self, number: u64) {
        self.state.lock().readers.remove(&number);
    }

    /// The newest cut at which the relation can be read; `None` when it is gone. Rows of tables that no cut has closed
    /// are closed by the caller.
    pub(crate) fn readable(&self, object: ObjectId) -> Option<Cut> {
        let mut state = self.state.lock();
        state.refresh();
        state.readable(object)
    }

    pub(crate) fn is_dirty(&self, table: ObjectId) -> bool {
        self.state.lock().is_dirty(table)
    }

    pub(crate) fn subscriber_passed(&self, number: u64, at: Cut) {
        if let Some(reader) = self.state.lock().readers.get_mut(&number) {
            reader.at = at;
        }
    }

    /// All for whom logs are kept: number, relation, and where they stand.
    pub(crate) fn subscribers(&self) -> Vec<(u64, ObjectId, Cut)> {
        let state = self.state.lock();
        let kept = state.readers.iter().filter(|(_, reader)| !reader.left_behind);
        kept.map(|(number, reader)| (*number, reader.object, reader.at))
            .collect()
    }

    /// Nothing is kept for this reader from now on.
    pub(crate) fn leave_behind(&self, number: u64) {
        if let Some(reader) = self.state.lock().readers.get_mut(&number) {
            reader.left_behind = true;
            (reader.wake)();
        }
    }
}

impl State {
    fn readable(&self, object: ObjectId) -> Option<Cut> {
        match self.tracks.get(&object)? {
            Track::Table(_) | Track::Source(_) => Some(self.latest),
            Track::View(track) => Some(track.boundaries.last().unwrap_or(Cut::ZERO)),
        }
    }

    /// Where the slowest subscriber of the object stands.
    pub(super) fn subscribers_past(&self, object: ObjectId) -> Option<Cut> {
        let of_object = self
            .readers
            .values()
            .filter(|reader| reader.object == object && !reader.left_behind);
        of_object.map(|reader| reader.at).min()
    }
}
