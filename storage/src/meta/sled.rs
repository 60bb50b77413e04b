//! The meta store on sled.
//!
//! Two habits of sled 0.34 are worked around here. Its flush leaves file sizes and the disk's own cache alone, so `sync`
//! adds an fsync of the database file. Large tree nodes go to side files that are never synced, so large values are cut
//! into pieces, and segments are large enough for a whole node.
//!
//! ```text
//! value          0x00, the value
//! large value    0x01, u64 id, u32 number of pieces (little-endian); the pieces are under 0xff, id, number (big-endian)
//! ```

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use super::{Batch, Pair, Store};
use crate::error::{Error, Result};
use crate::files::sync_directory;

/// A node is at most about sixteen such pieces; sled writes it in line when it is under a quarter of a segment.
const PIECE_BYTES: usize = 20 * 1024;
const SEGMENT_BYTES: usize = 4 * 1024 * 1024;
const CACHE_BYTES: u64 = 64 * 1024 * 1024;
const PIECE_TAG: u8 = 0xff;
/// Pairs read under one lock while scanning.
const PAGE_PAIRS: usize = 64;
/// sled's threads of a store closed just before may hold its lock a moment longer.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct SledStore {
    db: sled::Db,
    /// The database file, for fsync.
    file: File,
    path: PathBuf,
    /// Keeps readers from seeing a large value while its pieces are replaced.
    pieces: RwLock<()>,
}

impl SledStore {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let deadline = Instant::now() + OPEN_TIMEOUT;
        let db = loop {
            match open_database(path) {
                Err(Error::Io { source, .. })
                    if source.to_string().contains("acquire lock") && Instant::now() < deadline =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                result => break result?,
            }
        };
        let database = path.join("db");
        let file = File::open(&database).map_err(|error| Error::io(&database, "open", error))?;
        let store = Self {
            db,
            file,
            path: path.to_path_buf(),
            pieces: RwLock::new(()),
        };
        store.sync()?;
        sync_directory(path)?;
        Ok(store)
    }

    fn error(&self, error: sled::Error) -> Error {
        map_error(&self.path, error)
    }

    /// A value as stored, its pieces put together.
    fn assemble(&self, key: &[u8], stored: &[u8]) -> Result<Vec<u8>> {
        let damaged = |what: &str| Error::corrupt(crate::layout::describe(key), what);
        match stored.split_first() {
            Some((0, value)) => Ok(value.to_vec()),
            Some((1, head)) => {
                let (id, pieces) =
                    parse_head(head).ok_or_else(|| damaged("its list of pieces is not whole"))?;
                let mut value = Vec::new();
                for piece in 0..pieces {
                    let found = self.db.get(piece_key(id, piece)).map_err(|e| self.error(e))?;
                    value.extend_from_slice(&found.ok_or_else(|| damaged("a piece of it is missing"))?);
                }
                Ok(value)
            }
            _ => Err(damaged("it has neither form of a value")),
        }
    }

    fn remove_pieces(&self, key: &[u8], batch: &mut sled::Batch) -> Result<()> {
        if let Some(old) = self.db.get(key).map_err(|e| self.error(e))?
            && let Some((1, head)) = old.split_first()
            && let Some((id, pieces)) = parse_head(head)
        {
            (0..pieces).for_each(|piece| batch.remove(piece_key(id, piece).to_vec()));
        }
        Ok(())
    }

    fn put(&self, key: Vec<u8>, value: &[u8], batch: &mut sled::Batch) -> Result<()> {
        if value.len() <= PIECE_BYTES {
            batch.insert(key, [&[0], value].concat());
            return Ok(());
        }
        let id = self.db.generate_id().map_err(|e| self.error(e))?;
        let pieces = value.chunks(PIECE_BYTES);
        let count = u32::try_from(pieces.len()).expect("a value is shorter than 4 G pieces");
        batch.insert(
            key,
            [&[1], id.to_le_bytes().as_slice(), &count.to_le_bytes()].concat(),
        );
        for (number, piece) in (0..).zip(pieces) {
            batch.insert(piece_key(id, number).to_vec(), piece);
        }
        Ok(())
    }

    /// Up to [`PAGE_PAIRS`] pairs with the prefix, from `from` on (`after` = not `from` itself).
    fn page(&self, prefix: &[u8], from: &[u8], after: bool) -> Result<Vec<Pair>> {
        let _whole = self.pieces.read();
        let start = if after {
            std::ops::Bound::Excluded(from)
        } else {
            std::ops::Bound::Included(from)
        };
        let range = self.db.range::<&[u8], _>((start, std::ops::Bound::Unbounded));
        let mut pairs = Vec::new();
        for pair in range.take(PAGE_PAIRS) {
            let (key, stored) = pair.map_err(|e| self.error(e))?;
            if !key.starts_with(prefix) {
                break;
            }
            pairs.push((key.to_vec(), self.assemble(&key, &stored)?));
        }
        Ok(pairs)
    }
}

fn parse_head(head: &[u8]) -> Option<(u64, u32)> {
    let (id, pieces) = head.split_first_chunk::<8>()?;
    Some((
        u64::from_le_bytes(*id),
        u32::from_le_bytes(pieces.try_into().ok()?),
    ))
}

fn piece_key(id: u64, piece: u32) -> [u8; 13] {
    let mut key = [PIECE_TAG; 13];
    key[1..9].copy_from_slice(&id.to_be_bytes());
    key[9..].copy_from_slice(&piece.to_be_bytes());
    key
}

/// sled panics on some kinds of damage; a start must answer with an error that names the folder.
fn open_database(path: &Path) -> Result<sled::Db> {
    let config = sled::Config::new()
        .path(path)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None);
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(opened) => opened.map_err(|error| map_error(path, error)),
        Err(_) => Err(Error::corrupt(place(path), "it cannot be recovered")),
    }
}

fn place(path: &Path) -> String {
    format!("meta store {}", path.display())
}

fn map_error(path: &Path, error: sled::Error) -> Error {
    match error {
        sled::Error::Io(source) => Error::io(path, "use meta store", source),
        sled::Error::Corruption { at, .. } => {
            let at = at.map_or(String::new(), |at| format!(" at {at:?}"));
            Error::corrupt(place(path), format!("a checksum does not match{at}"))
        }
        sled::Error::Unsupported(what) | sled::Error::ReportableBug(what) => {
            Error::corrupt(place(path), what)
        }
        sled::Error::CollectionNotFound(_) => Error::corrupt(place(path), "its tree is missing"),
    }
}

impl Store for SledStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _whole = self.pieces.read();
        let stored = self.db.get(key).map_err(|e| self.error(e))?;
        stored.map(|stored| self.assemble(key, &stored)).transpose()
    }

    fn scan(&self, prefix: &[u8]) -> Box<dyn Iterator<Item = Result<Pair>> + '_> {
        Box::new(Scan {
            store: self,
            prefix: prefix.to_vec(),
            last: None,
            page: Vec::new().into_iter(),
            done: false,
        })
    }

    fn apply(&self, batch: Batch) -> Result<()> {
        let _whole = self.pieces.write();
        let mut writes = sled::Batch::default();
        for (key, value) in batch.changes {
            self.remove_pieces(&key, &mut writes)?;
            match value {
                Some(value) => self.put(key, &value, &mut writes)?,
                None => writes.remove(key),
            }
        }
        self.db.apply_batch(writes).map_err(|e| self.error(e))
    }

    fn sync(&self) -> Result<()> {
        self.db.flush().map_err(|e| self.error(e))?;
        self.file
            .sync_data()
            .map_err(|error| Error::sync(self.path.join("db"), error))
    }
}

struct Scan<'a> {
    store: &'a SledStore,
    prefix: Vec<u8>,
    last: Option<Vec<u8>>,
    page: std::vec::IntoIter<Pair>,
    done: bool,
}

impl Iterator for Scan<'_> {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(pair) = self.page.next() {
            return Some(Ok(pair));
        }
        if self.done {
            return None;
        }
        let from = self.last.as_ref().unwrap_or(&self.prefix);
        match self.store.page(&self.prefix, from, self.last.is_some()) {
            Ok(page) => {
                self.done = page.len() < PAGE_PAIRS;
                self.last = page.last().map(|(key, _)| key.clone()).or(self.last.take());
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(store: &SledStore, changes: Vec<(&[u8], Option<Vec<u8>>)>) {
        store
            .apply(Batch {
                changes: changes.into_iter().map(|(k, v)| (k.to_vec(), v)).collect(),
            })
            .unwrap();
    }

    fn scan(store: &SledStore, prefix: &[u8]) -> Vec<Pair> {
        store.scan(prefix).collect::<Result<_>>().unwrap()
    }

    #[test]
    fn large_values_come_back_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let large = (0..5 * PIECE_BYTES + 7)
            .map(|i| (i % 253) as u8)
            .collect::<Vec<_>>();
        {
            let store = SledStore::open(folder.path()).unwrap();
            apply(
                &store,
                vec![(b"a1", Some(large.clone())), (b"a2", Some(b"small".to_vec()))],
            );
            apply(&store, vec![(b"a2", Some(large.clone()))]);
            store.sync().unwrap();
        }
        let store = SledStore::open(folder.path()).unwrap();
        assert_eq!(store.get(b"a1").unwrap(), Some(large.clone()));
        assert_eq!(
            scan(&store, b"a"),
            [(b"a1".to_vec(), large.clone()), (b"a2".to_vec(), large)]
        );
        apply(&store, vec![(b"a1", None), (b"a2", Some(vec![]))]);
        assert_eq!(scan(&store, b""), [(b"a2".to_vec(), vec![])]);
    }

    #[test]
    fn scans_cross_pages_and_stop_at_the_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let store = SledStore::open(folder.path()).unwrap();
        let mut batch = Batch::default();
        for i in 0..(2 * PAGE_PAIRS as u32) {
            batch.put(
                [b"k".as_slice(), &i.to_be_bytes()].concat(),
                i.to_be_bytes().to_vec(),
            );
        }
        batch.put(b"l".to_vec(), vec![]);
        store.apply(batch).unwrap();
        let values = scan(&store, b"k")
            .into_iter()
            .map(|(_, v)| u32::from_be_bytes(v.try_into().unwrap()));
        assert!(values.eq(0..2 * PAGE_PAIRS as u32));
        assert_eq!(store.get(b"nothing").unwrap(), None);
    }
}
