//! The watermarks that views hand on to the views that read them.
//!
//! A view's watermark holds for the rows that it adds later. A reader that stands at some cut in the view's log may go by
//! the watermark that the view had reached before it added its next rows: that is kept by the cut of the rows before.

use std::collections::VecDeque;

use millpond_catalog::ObjectId;
use millpond_storage::Cut;

use super::{State, Timeline, Track};

/// Older ones are forgotten; who stands before them goes on with the watermark that it has.
const KEPT: usize = 4096;

pub(super) struct HandedOn(VecDeque<(Cut, Option<i64>)>);

/// The watermark of a view that is read, as it was found at a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Followed {
    pub(crate) view: ObjectId,
    /// Where the reader stands.
    pub(crate) at: Cut,
    pub(crate) watermark: Option<i64>,
}

impl Default for HandedOn {
    fn default() -> Self {
        Self(VecDeque::from([(Cut::ZERO, None)]))
    }
}

impl HandedOn {
    /// An epoch is committed; `changed`: with rows, at this cut. Whether the watermark moved.
    pub(super) fn note(&mut self, cut: Cut, changed: bool, watermark: Option<i64>) -> bool {
        let last = self.0.back_mut().expect("there is always one");
        let moved = last.1 != watermark;
        if changed && last.0 < cut {
            self.0.push_back((cut, watermark));
            if self.0.len() > KEPT {
                self.0.pop_front();
            }
        } else {
            last.1 = watermark;
        }
        moved
    }

    pub(super) fn at(&self, cut: Cut) -> Option<i64> {
        let after = self.0.partition_point(|(of, _)| *of <= cut);
        self.0.get(after.checked_sub(1)?)?.1
    }
}

impl Timeline {
    /// The newest watermark of a view.
    pub(crate) fn watermark(&self, view: ObjectId) -> Option<i64> {
        self.state.lock().handed_on(view, Cut(u64::MAX))
    }
}

impl State {
    /// The watermark of a view for a reader that stands at `at`.
    pub(super) fn handed_on(&self, view: ObjectId, at: Cut) -> Option<i64> {
        match self.tracks.get(&view) {
            Some(Track::View(track)) => track.handed_on.at(at),
            Some(Track::Table(_) | Track::Source(_)) | None => None,
        }
    }

    /// All are as they were found.
    pub(super) fn still_so(&self, followed: &[Followed]) -> bool {
        let still = |followed: &Followed| self.handed_on(followed.view, followed.at) == followed.watermark;
        followed.iter().all(still)
    }

    /// Views that go by the watermark of `view` have to look at it before anyone says that they are done.
    pub(super) fn call_followers(&mut self, view: ObjectId) {
        for track in self.tracks.values_mut() {
            if let Track::View(track) = track
                && track.follows.contains(&view)
            {
                track.due = true;
            }
        }
    }

    pub(super) fn is_followed(&self, view: ObjectId) -> bool {
        self.tracks.values().any(|track| match track {
            Track::View(track) => track.follows.contains(&view),
            Track::Table(_) | Track::Source(_) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_by_what_held_before_the_next_rows() {
        let mut handed = HandedOn::default();
        assert_eq!(handed.at(Cut(3)), None);
        assert!(handed.note(Cut(2), true, Some(10)));
        assert!(!handed.note(Cut(3), false, Some(10)));
        assert!(handed.note(Cut(4), false, Some(20)));
        assert!(handed.note(Cut(6), true, Some(30)));
        // No rows came after cut 2 up to cut 6, so what held at 4 holds for who stands at 2.
        assert_eq!(handed.at(Cut(1)), None);
        assert_eq!(handed.at(Cut(2)), Some(20));
        assert_eq!(handed.at(Cut(5)), Some(20));
        assert_eq!(handed.at(Cut(6)), Some(30));
    }
}
