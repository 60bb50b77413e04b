//! The first row of each key that is remembered, and in which order to forget them.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Position in `Memory::entries`.
type Id = u32;

#[derive(Default)]
pub(super) struct Memory {
    hasher: DefaultHashBuilder,
    by_key: HashTable<Id>,
    entries: Vec<Option<First>>,
    free: Vec<Id>,
    /// Keys that are new in the running epoch.
    fresh: Vec<Id>,
    /// Those of each epoch that are to be forgotten some time.
    due: BinaryHeap<Due>,
    /// Of all keys and rows.
    bytes: usize,
}

/// The first row of a key. Rows without a time come first.
struct First {
    hash: u64,
    time: Option<i64>,
    /// The key, and from `row` on the row.
    bytes: Box<[u8]>,
    row: u32,
    is_fresh: bool,
}

impl First {
    fn key(&self) -> &[u8] {
        &self.bytes[..self.row as usize]
    }

    fn row(&self) -> &[u8] {
        &self.bytes[self.row as usize..]
    }
}

/// Entries with their times, the earliest last. What is due first is the greatest.
struct Due(Vec<(i64, Id)>);

impl Due {
    fn next(&self) -> Option<i64> {
        self.0.last().map(|(time, _)| *time)
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.next() == other.next()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.next().cmp(&self.next())
    }
}

impl Memory {
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes + self.entries.len() * (size_of::<Option<First>>() + size_of::<(i64, Id)>())
    }

    /// Remembers the row if its key is new, or if it comes before the one that was noted in the same epoch; true if the
    /// key is new. With `again`, the row takes the place of one that was settled.
    pub fn note(&mut self, key: &[u8], row: &[u8], time: Option<i64>, again: bool) -> bool {
        let hash = self.hasher.hash_one(key);
        let entries = &self.entries;
        let is_it = |id: &Id| {
            entries[*id as usize]
                .as_ref()
                .is_some_and(|first| first.key() == key)
        };
        if let Some(id) = self.by_key.find(hash, is_it).copied() {
            let known = self.entries[id as usize].as_mut().expect("it was found");
            if known.is_fresh {
                if (time, row) < (known.time, known.row()) {
                    known.time = time;
                    self.bytes = self.bytes + key.len() + row.len() - known.bytes.len();
                    known.bytes = [key, row].concat().into();
                }
                return false;
            }
            if !again {
                return false;
            }
            // Its place in `due` stays, so the number is not given to another until then.
            self.remove(id);
        }
        self.bytes += key.len() + row.len();
        let first = First {
            hash,
            time,
            bytes: [key, row].concat().into(),
            row: u32::try_from(key.len()).expect("keys are shorter than 4 GB"),
            is_fresh: true,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = Some(first);
                id
            }
            None => {
                self.entries.push(Some(first));
                Id::try_from(self.entries.len() - 1).expect("less than 4 G keys")
            }
        };
        let entries = &self.entries;
        let hash_of = |id: &Id| entries[*id as usize].as_ref().map_or(0, |first| first.hash);
        self.by_key.insert_unique(hash, id, hash_of);
        self.fresh.push(id);
        true
    }

    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// The rows that were noted since they were last settled.
    pub fn fresh(&self) -> impl Iterator<Item = &[u8]> {
        let entries = self.fresh.iter().map(|id| self.entries[*id as usize].as_ref());
        entries.flatten().map(First::row)
    }

    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().flatten().map(First::row)
    }

    /// What was noted is the first of its key from now on.
    pub fn settle(&mut self) {
        let mut due = Vec::with_capacity(self.fresh.len());
        for id in self.fresh.drain(..) {
            if let Some(first) = &mut self.entries[id as usize] {
                first.is_fresh = false;
                due.extend(first.time.map(|time| (time, id)));
            }
        }
        if !due.is_empty() {
            due.sort_unstable_by(|a, b| b.cmp(a));
            self.due.push(Due(due));
        }
    }

    /// Forgets the keys whose rows are earlier; their number.
    pub fn forget(&mut self, below: i64) -> u64 {
        let mut forgotten = Vec::new();
        while self
            .due
            .peek()
            .and_then(Due::next)
            .is_some_and(|time| time < below)
            && let Some(mut due) = self.due.peek_mut()
        {
            while due.next().is_some_and(|time| time < below) {
                forgotten.extend(due.0.pop().map(|(_, id)| id));
            }
            if due.next().is_none() {
                PeekMut::pop(due);
            }
        }
        let before = self.len();
        for id in forgotten {
            if self.entries[id as usize].is_some() {
                self.remove(id);
            }
            self.free.push(id);
        }
        (before - self.len()) as u64
    }

    fn remove(&mut self, id: Id) {
        let Some(first) = self.entries[id as usize].take() else {
            return;
        };
        self.bytes -= first.bytes.len();
        if let Ok(found) = self.by_key.find_entry(first.hash, |other| *other == id) {
            found.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(memory: &Memory) -> Vec<&[u8]> {
        let mut rows: Vec<_> = memory.rows().collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn the_earliest_of_an_epoch_is_the_first_and_stays_it() {
        let mut memory = Memory::default();
        assert!(memory.note(b"k", b"late", Some(5), false));
        assert!(!memory.note(b"k", b"early", Some(3), false));
        assert!(memory.note(b"l", b"other", None, false));
        assert_eq!(memory.fresh().collect::<Vec<_>>(), [&b"early"[..], b"other"]);
        memory.settle();
        assert!(!memory.has_fresh() && !memory.note(b"k", b"earlier", Some(1), false));
        assert_eq!(rows(&memory), [&b"early"[..], b"other"]);
        assert_eq!((memory.forget(3), memory.forget(4), memory.len()), (0, 1, 1));
        assert!(memory.note(b"k", b"again", Some(9), false));
    }

    #[test]
    fn epochs_are_forgotten_in_the_order_of_their_times() {
        let mut memory = Memory::default();
        for (epoch, times) in [[1, 8], [2, 9], [3, 4]].iter().enumerate() {
            for time in times {
                assert!(memory.note(&[epoch as u8, *time as u8], &[], Some(*time), false));
            }
            memory.settle();
        }
        let left = [(2, 5), (4, 3), (5, 2), (9, 1), (10, 0)];
        for (below, expected) in left {
            memory.forget(below);
            assert_eq!(memory.len(), expected, "below {below}");
        }
        assert_eq!((memory.bytes, memory.free.len()), (0, 6));
    }

    #[test]
    fn a_row_put_back_again_takes_the_place_of_the_older_one() {
        let mut memory = Memory::default();
        assert!(memory.note(b"k", b"first", Some(1), true));
        memory.settle();
        assert!(memory.note(b"k", b"second", Some(7), true));
        memory.settle();
        assert_eq!((memory.forget(5), rows(&memory)), (0, vec![&b"second"[..]]));
        assert_eq!((memory.forget(8), memory.len(), memory.free.len()), (1, 0, 2));
    }
}
