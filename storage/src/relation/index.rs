//! Finds a row's places in a snapshot's segments by the hash of the whole row.
//!
//! Only relations with retractions have one. A row stands at most once in a segment, so it has at most as many places as
//! there are segments. Hashes can collide: the caller compares keys.

use std::collections::HashMap;

use ahash::RandomState;
use hashbrown::HashTable;

/// A row of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub segment: u32,
    pub row: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    places: HashTable<Place>,
    /// Hash of every row, per segment; kept so that a place needs no more than its eight bytes.
    hashes: HashMap<u32, Box<[u64]>, RandomState>,
}

impl Index {
    /// Adds all rows of a segment.
    pub(crate) fn insert(&mut self, segment: u32, hashes: Vec<u64>) {
        let hashes = hashes.into_boxed_slice();
        let count = hashes.len();
        self.hashes.insert(segment, hashes);
        let Self { places, hashes } = self;
        let hash_of = |place: &Place| hashes[&place.segment][place.row as usize];
        places.reserve(count, hash_of);
        for row in 0..u32::try_from(count).expect("a segment has less than 4 G rows") {
            let place = Place { segment, row };
            places.insert_unique(hash_of(&place), place, hash_of);
        }
    }

    /// Places of rows with this hash.
    pub(crate) fn find(&self, hash: u64) -> impl Iterator<Item = Place> + '_ {
        // The table compares only some bits.
        self.places
            .iter_hash(hash)
            .copied()
            .filter(move |place| self.hash(*place) == hash)
    }

    fn hash(&self, place: Place) -> u64 {
        self.hashes[&place.segment][place.row as usize]
    }

    pub(crate) fn remove(&mut self, place: Place) {
        let hash = self.hash(place);
        let entry = self.places.find_entry(hash, |found| *found == place);
        entry.expect("every live row is in the index").remove();
    }

    /// Forgets a segment, of which these rows are still in the index. One that was never added is no matter.
    pub(crate) fn forget(&mut self, segment: u32, live: impl Iterator<Item = usize>) {
        if self.hashes.contains_key(&segment) {
            for row in live {
                self.remove(Place {
                    segment,
                    row: u32::try_from(row).expect("a segment has less than 4 G rows"),
                });
            }
            self.hashes.remove(&segment);
        }
    }
}
