//! The snapshots of a relation that are still kept, by cut.

use std::collections::VecDeque;
use std::sync::Arc;

use super::snapshot::Snapshot;
use crate::cut::Cut;

/// Versions kept at most, however far back readers are.
pub(crate) const VERSIONS_MAX: usize = 4096;

/// Snapshots that are no longer kept. Freeing them can take a while.
pub(crate) type Discarded = Vec<Arc<Snapshot>>;

#[derive(Debug)]
struct Version {
    /// First cut whose changes are in this version and not in the one before. Above it and below the snapshot's own cut,
    /// the state is unknown: the entries were summed.
    first: Cut,
    snapshot: Arc<Snapshot>,
}

/// Ascending by cut, never empty.
#[derive(Debug)]
pub(crate) struct Versions {
    versions: VecDeque<Version>,
    retain_from: Cut,
}

impl Versions {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        let first = snapshot.cut;
        Self {
            versions: VecDeque::from([Version { first, snapshot }]),
            retain_from: Cut::ZERO,
        }
    }

    pub(crate) fn latest(&self) -> &Arc<Snapshot> {
        &self.versions.back().expect("versions are never empty").snapshot
    }

    /// The state as of the end of `cut`, if it is kept.
    pub(crate) fn at(&self, cut: Cut) -> Option<Arc<Snapshot>> {
        let after = self
            .versions
            .partition_point(|version| version.snapshot.cut <= cut);
        if self.versions.get(after).is_some_and(|next| next.first <= cut) {
            return None;
        }
        Some(self.versions.get(after.checked_sub(1)?)?.snapshot.clone())
    }

    /// The newest version at or below `cut`.
    pub(crate) fn newest_up_to(&self, cut: Cut) -> Option<Arc<Snapshot>> {
        let after = self
            .versions
            .partition_point(|version| version.snapshot.cut <= cut);
        Some(self.versions.get(after.checked_sub(1)?)?.snapshot.clone())
    }

    /// A newer state, or the same cut with more changes. What is let go is returned, to be freed without a lock.
    pub(crate) fn push(&mut self, first: Cut, snapshot: Arc<Snapshot>) -> Discarded {
        let latest = self.versions.back_mut().expect("versions are never empty");
        assert!(latest.snapshot.cut <= snapshot.cut, "cuts never decrease");
        if latest.snapshot.cut == snapshot.cut {
            return vec![std::mem::replace(&mut latest.snapshot, snapshot)];
        }
        self.versions.push_back(Version { first, snapshot });
        self.trim()
    }

    /// The same state in another form.
    pub(crate) fn replace_latest(&mut self, snapshot: Arc<Snapshot>) -> Discarded {
        let latest = self.versions.back_mut().expect("versions are never empty");
        vec![std::mem::replace(&mut latest.snapshot, snapshot)]
    }

    pub(crate) fn retain(&mut self, from: Cut) -> Discarded {
        self.retain_from = from;
        self.trim()
    }

    fn trim(&mut self) -> Discarded {
        let needless = |versions: &VecDeque<Version>| {
            versions.len() > VERSIONS_MAX
                || versions
                    .get(1)
                    .is_some_and(|next| next.snapshot.cut <= self.retain_from)
        };
        let mut discarded = Vec::new();
        while needless(&self.versions) {
            discarded.extend(self.versions.pop_front().map(|version| version.snapshot));
        }
        discarded
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;

    use super::*;

    fn snapshot(cut: u64) -> Arc<Snapshot> {
        Arc::new(Snapshot {
            schema: Arc::new(Schema::empty()),
            cut: Cut(cut),
            views: Vec::new(),
            rows: 0,
        })
    }

    fn at(versions: &Versions, cut: u64) -> Option<u64> {
        versions.at(Cut(cut)).map(|snapshot| snapshot.cut.0)
    }

    #[test]
    fn a_cut_sees_the_newest_version_before_its_end() {
        let mut versions = Versions::new(snapshot(0));
        versions.push(Cut(3), snapshot(3));
        versions.push(Cut(7), snapshot(7));
        assert_eq!(
            [2, 3, 6, 7, 9].map(|cut| at(&versions, cut)),
            [Some(0), Some(3), Some(3), Some(7), Some(7)]
        );
        versions.retain(Cut(5));
        assert_eq!([2, 3, 5].map(|cut| at(&versions, cut)), [None, Some(3), Some(3)]);
        versions.retain(Cut(100));
        assert_eq!([6, 7].map(|cut| at(&versions, cut)), [None, Some(7)]);
    }

    #[test]
    fn inside_a_summed_range_nothing_is_known() {
        let mut versions = Versions::new(snapshot(0));
        versions.push(Cut(3), snapshot(9));
        assert_eq!(
            [2, 3, 8, 9].map(|cut| at(&versions, cut)),
            [Some(0), None, None, Some(9)]
        );
    }

    #[test]
    fn there_is_a_hard_cap() {
        let mut versions = Versions::new(snapshot(0));
        for cut in 1..=(VERSIONS_MAX as u64) {
            versions.push(Cut(cut), snapshot(cut));
        }
        assert_eq!((at(&versions, 0), at(&versions, 1)), (None, Some(1)));
    }
}
