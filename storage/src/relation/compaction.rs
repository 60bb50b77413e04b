//! Summing the old part of a log, which every reader has passed.
//!
//! Small neighbouring entries are summed into larger ones ([`super::tiers`]). When the log of a relation with retractions
//! holds far more rows than the relation, its old part is replaced by the snapshot, which is the same sum. New files are
//! written and synced first, one transaction puts them in the place of the old entries, and the old files go when no
//! reader holds them: a crash at any point leaves one of the two forms whole.

use std::ops::Range;
use std::sync::Arc;

use super::log::{Entry, EntryHead};
use super::snapshot::Snapshot;
use super::{Discarded, LAZY_BYTES, LogEntry, Relation, tiers};
use crate::change::ChangeBatch;
use crate::commit::{self, Operation};
use crate::cut::Cut;
use crate::error::Result;
use crate::layout::{self, EntryKey, RelationId};
use crate::payload::Payload;
use crate::relation::segment::batch_bytes;
use crate::row_key::RowKeys;

/// Bytes of a summed file, about; and of rows held in memory while summing an append-only log.
const FILE_BYTES: usize = if cfg!(test) { 32 * 1024 } else { 32 * 1024 * 1024 };
/// Entries of this size are not summed with neighbours any more.
const SEALED_BYTES: u64 = FILE_BYTES as u64 / 2;
/// Entries of about one size that make summing them worth a commit.
const ENTRIES_MIN: usize = 16;
/// Entries that are summed at once, at most.
const SUM_BYTES_MAX: u64 = 2 * FILE_BYTES as u64;
/// A log is replaced by the snapshot when it holds this many times its rows, and no fewer than so many bytes.
const FULL_SUM_FACTOR: u64 = 2;
const FULL_SUM_BYTES_MIN: u64 = SEALED_BYTES;

/// Puts a sum in the place of adjacent entries.
#[derive(Debug)]
pub(crate) struct Swap {
    pub relation: Arc<Relation>,
    pub old: Vec<Entry>,
    pub new: Vec<(Entry, Payload)>,
    /// Rows of the log before the first old entry.
    rows_before: u64,
}

/// The next sum to make: adjacent entries, and the snapshot if it is their sum.
struct Plan {
    range: Range<usize>,
    sum: Option<Arc<Snapshot>>,
}

impl Relation {
    /// Sums entries that all readers are past: none will ask for changes after a cut below `all_readers_past`. Changes
    /// from there on and all snapshots stay as they are. Does nothing, cheaply, while it is not worth while.
    pub fn compact(self: &Arc<Self>, all_readers_past: Cut) -> Result<()> {
        let _one_at_a_time = self.compacting.lock();
        loop {
            self.check_not_dropped()?;
            let (old, rows_before, sum) = {
                let published = self.published.read();
                let entries = published.log.entries();
                let eligible = entries.partition_point(|entry| entry.head.last <= all_readers_past);
                let base = published.versions.newest_up_to(all_readers_past);
                let Some(plan) = self.plan(&entries[..eligible], base) else {
                    return Ok(());
                };
                let rows_before = entries[..plan.range.start]
                    .iter()
                    .map(|entry| entry.head.rows)
                    .sum();
                (entries[plan.range].to_vec(), rows_before, plan.sum)
            };
            let new = match sum {
                Some(snapshot) => self.write_snapshot(&old, &snapshot)?,
                None if self.append_only => self.join(&old)?,
                None => self.sum(&old)?,
            };
            if new.len() >= old.len() {
                return Ok(());
            }
            let swap = Swap {
                relation: self.clone(),
                old,
                new,
                rows_before,
            };
            commit::submit(&self.core, vec![Operation::Swap(swap)])?;
        }
    }

    fn plan(&self, entries: &[Entry], base: Option<Arc<Snapshot>>) -> Option<Plan> {
        if let Some(snapshot) = base.filter(|_| !self.append_only) {
            let covered = entries.partition_point(|entry| entry.head.last <= snapshot.cut());
            let rows = entries[..covered]
                .iter()
                .map(|entry| entry.head.rows)
                .sum::<u64>();
            let bytes = entries[..covered].iter().map(|entry| entry.bytes).sum::<u64>();
            if covered > 1 && bytes > FULL_SUM_BYTES_MIN && rows > FULL_SUM_FACTOR * snapshot.stored_rows() {
                return Some(Plan {
                    range: 0..covered,
                    sum: Some(snapshot),
                });
            }
        }
        let sizes = entries
            .iter()
            .map(|entry| (entry.bytes < SEALED_BYTES).then_some(entry.bytes.max(1)))
            .collect::<Vec<_>>();
        let mut range = tiers::pick(&sizes, ENTRIES_MIN)?;
        while range.len() > 2
            && entries[range.clone()]
                .iter()
                .map(|entry| entry.bytes)
                .sum::<u64>()
                > SUM_BYTES_MAX
        {
            range.start += 1;
        }
        Some(Plan { range, sum: None })
    }

    /// All changes of some entries, with equal rows summed.
    fn sum(&self, old: &[Entry]) -> Result<Vec<(Entry, Payload)>> {
        let mut changes = Vec::new();
        for entry in old {
            changes.extend(LogEntry::new(&self.core, self.id, &self.schema, entry).read()?);
        }
        let sum = RowKeys::new(self.schema.clone())?.sum(&changes)?.into_changes();
        drop(changes);
        let mut pieces = Pieces::new(self, old);
        // Pieces are cut by rows, so a large sum is handed over in parts.
        for changes in sum.iter() {
            const PART_ROWS: usize = 64 * 1024;
            for start in (0..changes.num_rows()).step_by(PART_ROWS) {
                pieces.push(changes.slice(start, PART_ROWS.min(changes.num_rows() - start)))?;
            }
        }
        pieces.finish()
    }

    /// The entries of an append-only log one after the other: nothing cancels, and the order of rows is kept.
    fn join(&self, old: &[Entry]) -> Result<Vec<(Entry, Payload)>> {
        let mut pieces = Pieces::new(self, old);
        for entry in old {
            for changes in LogEntry::new(&self.core, self.id, &self.schema, entry).batches()? {
                pieces.push(changes?)?;
            }
        }
        pieces.finish()
    }

    fn write_snapshot(&self, old: &[Entry], snapshot: &Arc<Snapshot>) -> Result<Vec<(Entry, Payload)>> {
        let mut pieces = Pieces::new(self, old);
        for changes in snapshot.scan_changes() {
            pieces.push(changes?)?;
        }
        pieces.finish()
    }

    /// Makes the state after a swap without showing it; `None` when the snapshot stays as it is.
    pub(crate) fn prepare_swap(&self, swap: &Swap) -> Option<Arc<Snapshot>> {
        if !self.append_only {
            return None;
        }
        let mut builder = self.builder.lock();
        let (mut start, mut moved) = (swap.rows_before, false);
        for (entry, _) in &swap.new {
            if let Some(file) = entry.file.clone().filter(|file| file.bytes >= LAZY_BYTES) {
                builder.move_to_files(start, vec![(file, entry.head.rows)]);
                moved = true;
            }
            start += entry.head.rows;
        }
        let cut = builder.cut();
        moved.then(|| builder.snapshot(cut))
    }

    pub(crate) fn publish_swap(&self, swap: &Swap, snapshot: Option<Arc<Snapshot>>) -> Discarded {
        let (first, last) = (swap.old[0].key, swap.old[swap.old.len() - 1].key);
        let mut published = self.published.write();
        let new = swap.new.iter().map(|(entry, _)| entry.clone()).collect();
        published.log.replace(first, last, new);
        snapshot
            .map(|snapshot| published.versions.replace_latest(snapshot))
            .unwrap_or_default()
    }
}

impl Snapshot {
    /// Rows that stand in it, weights aside.
    fn stored_rows(&self) -> u64 {
        self.views.iter().map(|view| view.live as u64).sum()
    }
}

/// Writes a sum as entries of bounded size.
struct Pieces<'a> {
    relation: &'a Relation,
    key: EntryKey,
    first: Cut,
    last: Cut,
    pending: Vec<ChangeBatch>,
    pending_bytes: usize,
    written: Vec<(Entry, Payload)>,
}

impl<'a> Pieces<'a> {
    fn new(relation: &'a Relation, old: &[Entry]) -> Self {
        let (first, last) = (&old[0], &old[old.len() - 1]);
        Self {
            relation,
            key: first.key,
            first: first.head.first,
            last: last.head.last,
            pending: Vec::new(),
            pending_bytes: 0,
            written: Vec::new(),
        }
    }

    fn push(&mut self, changes: ChangeBatch) -> Result<()> {
        let bytes = batch_bytes(changes.rows());
        if self.pending_bytes > 0 && self.pending_bytes + bytes > FILE_BYTES {
            self.write()?;
        }
        self.pending.push(changes);
        self.pending_bytes += bytes;
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let (relation, changes) = (self.relation, std::mem::take(&mut self.pending));
        self.pending_bytes = 0;
        let (first, last) = (self.first, self.last);
        let payload = write_entry(relation, &changes, first, last)?;
        let head = EntryHead {
            first,
            last,
            rows: rows(&changes),
            weight: weight(&changes),
        };
        self.written.push((Entry::new(self.key, head, &payload), payload));
        self.key.piece += 1;
        Ok(())
    }

    /// There is always at least one entry, since it says which cuts were summed.
    fn finish(mut self) -> Result<Vec<(Entry, Payload)>> {
        if !self.pending.is_empty() || self.written.is_empty() {
            self.write()?;
        }
        Ok(self.written)
    }
}

/// Writes the rows of an entry, to a file unless they are few.
pub(crate) fn write_entry(
    relation: &Relation,
    changes: &[ChangeBatch],
    first: Cut,
    last: Cut,
) -> Result<Payload> {
    let id: RelationId = relation.id;
    let name = |number| layout::log_file(id, first, last, number);
    let written = Payload::write(&relation.core.files, &relation.schema, changes, name);
    relation.core.note_failure(written)
}

pub(crate) fn rows(changes: &[ChangeBatch]) -> u64 {
    changes.iter().map(|c| c.num_rows() as u64).sum()
}

pub(crate) fn weight(changes: &[ChangeBatch]) -> i64 {
    let sum = |c: &ChangeBatch| {
        c.weights()
            .map_or(c.num_rows() as i64, |w| w.values().iter().sum())
    };
    changes.iter().map(sum).sum()
}
