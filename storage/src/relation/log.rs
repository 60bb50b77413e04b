//! The entries of a relation's change log, and reading them.
//!
//! Value of an entry's record, numbers little-endian:
//! ```text
//! u64 first cut, u64 last cut, u64 rows, i64 sum of weights, payload (see `payload`)
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use crate::change::ChangeBatch;
use crate::commit::Core;
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::layout::{self, EntryKey, RelationId};
use crate::payload::{FilePayload, Payload, Stored};
use crate::record;

/// Newest entries whose rows stay in memory for readers that are close behind, in bytes.
const RECENT_BYTES: usize = if cfg!(test) { 4 * 1024 } else { 4 * 1024 * 1024 };

/// What an entry's record says before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryHead {
    pub first: Cut,
    pub last: Cut,
    /// Physical rows, weights aside.
    pub rows: u64,
    pub weight: i64,
}

const HEAD_BYTES: usize = 32;

impl EntryHead {
    /// The value of an entry's record.
    pub(crate) fn record(&self, key: &[u8], payload: &Payload) -> Vec<u8> {
        let mut value = Vec::new();
        for number in [self.first.0, self.last.0, self.rows] {
            value.extend_from_slice(&number.to_le_bytes());
        }
        value.extend_from_slice(&self.weight.to_le_bytes());
        payload.encode(&mut value);
        record::seal(key, &value)
    }

    /// Checks a record and takes it apart.
    pub(crate) fn parse<'a>(key: &[u8], record: &'a [u8]) -> Result<(Self, Stored<'a>)> {
        let value = record::open(key, record)?;
        let damaged = || Error::corrupt(layout::describe(key), "its content is not a log entry");
        let (head, payload) = value.split_first_chunk::<HEAD_BYTES>().ok_or_else(damaged)?;
        let number = |at: usize| {
            let bytes = head[at..at + 8]
                .try_into()
                .expect("eight bytes of a longer array");
            u64::from_le_bytes(bytes)
        };
        let head = Self {
            first: Cut(number(0)),
            last: Cut(number(8)),
            rows: number(16),
            weight: number(24).cast_signed(),
        };
        if head.first > head.last {
            return Err(damaged());
        }
        Ok((head, Stored::parse(payload).ok_or_else(damaged)?))
    }
}

/// An entry as kept in memory.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: EntryKey,
    pub head: EntryHead,
    pub bytes: u64,
    /// `None` = the payload stands in the record.
    pub file: Option<FilePayload>,
    recent: Option<Arc<Vec<ChangeBatch>>>,
}

impl Entry {
    pub(crate) fn new(key: EntryKey, head: EntryHead, payload: &Payload) -> Self {
        Self {
            key,
            head,
            bytes: payload.bytes(),
            file: payload.file().cloned(),
            recent: None,
        }
    }
}

/// All entries, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
    recent: VecDeque<(EntryKey, usize)>,
    recent_bytes: usize,
}

impl Log {
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn last_cut(&self) -> Cut {
        self.entries.last().map_or(Cut::ZERO, |entry| entry.head.last)
    }

    pub(crate) fn push(&mut self, mut entry: Entry, changes: Option<Arc<Vec<ChangeBatch>>>) {
        if let Some(changes) = &changes {
            let bytes = changes
                .iter()
                .map(|c| super::segment::batch_bytes(c.rows()))
                .sum();
            self.recent.push_back((entry.key, bytes));
            self.recent_bytes += bytes;
        }
        entry.recent = changes;
        self.entries.push(entry);
        while self.recent_bytes > RECENT_BYTES {
            let Some((key, bytes)) = self.recent.pop_front() else {
                break;
            };
            self.recent_bytes -= bytes;
            if let Ok(position) = self.entries.binary_search_by_key(&key, |entry| entry.key) {
                self.entries[position].recent = None;
            }
        }
    }

    /// Puts a sum in the place of adjacent entries.
    pub(crate) fn replace(&mut self, first: EntryKey, last: EntryKey, sum: Vec<Entry>) {
        let start = self.entries.partition_point(|entry| entry.key < first);
        let end = self.entries.partition_point(|entry| entry.key <= last);
        self.entries.splice(start..end, sum);
    }

    /// Entries with `after < cut <= to`.
    pub(crate) fn between(&self, after: Cut, to: Cut) -> Result<&[Entry]> {
        let start = self.entries.partition_point(|entry| entry.head.last <= after);
        let end = self
            .entries
            .partition_point(|entry| entry.head.last <= to)
            .max(start);
        let torn = |entry: &&Entry| {
            [after, to]
                .iter()
                .any(|cut| entry.head.first <= *cut && *cut < entry.head.last)
        };
        if let Some(entry) = self.entries[start..].iter().take(end - start + 1).find(torn) {
            return Err(Error::Compacted {
                after,
                to,
                summed_to: entry.head.last,
            });
        }
        Ok(&self.entries[start..end])
    }

    /// The last cut that was summed with others.
    pub(crate) fn summed_to(&self) -> Cut {
        let summed = |entry: &&Entry| entry.head.first < entry.head.last;
        self.entries
            .iter()
            .rev()
            .find(summed)
            .map_or(Cut::ZERO, |entry| entry.head.last)
    }
}

/// An entry of a relation's change log: the changes at a cut, or the sum of several cuts.
#[derive(Clone)]
pub struct LogEntry {
    /// The (last) cut.
    pub cut: Cut,
    /// Rows with a weight of their own, not the sum of weights.
    pub rows: u64,
    /// Encoded size.
    pub bytes: u64,
    core: Arc<Core>,
    relation: RelationId,
    schema: SchemaRef,
    entry: Entry,
}

impl LogEntry {
    pub(super) fn new(core: &Arc<Core>, relation: RelationId, schema: &SchemaRef, entry: &Entry) -> Self {
        Self {
            cut: entry.head.last,
            rows: entry.head.rows,
            bytes: entry.bytes,
            core: core.clone(),
            relation,
            schema: schema.clone(),
            entry: entry.clone(),
        }
    }

    /// All changes of the entry.
    pub fn read(&self) -> Result<Vec<ChangeBatch>> {
        self.batches()?.collect()
    }

    /// The changes batch by batch, read as the iterator goes.
    pub fn batches(&self) -> Result<Box<dyn Iterator<Item = Result<ChangeBatch>> + Send>> {
        if let Some(recent) = &self.entry.recent {
            let recent = recent.clone();
            return Ok(Box::new((0..recent.len()).map(move |i| Ok(recent[i].clone()))));
        }
        if let Some(file) = &self.entry.file {
            return Ok(Box::new(file.read(Some(&self.schema))?));
        }
        let key = layout::log_key(self.relation, self.entry.key);
        let (cut, place) = (self.cut, layout::describe(&key));
        let Some(record) = self.core.store.get(&key)? else {
            return Err(Error::Compacted {
                after: cut,
                to: cut,
                summed_to: cut,
            });
        };
        let (head, stored) = EntryHead::parse(&key, &record)?;
        if head != self.entry.head {
            return Err(Error::Compacted {
                after: cut,
                to: cut,
                summed_to: head.last,
            });
        }
        let payload = stored.open(&self.core.files)?;
        Ok(Box::new(payload.read(Some(&self.schema), || place)?))
    }
}

impl std::fmt::Debug for LogEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "LogEntry(cut {}, {} rows, {} bytes)",
            self.cut, self.rows, self.bytes
        )
    }
}
