//! The meta store: a small ordered map with atomic batches, which decides what is committed.
//!
//! What was applied is visible to `get` and `scan` at once and durable after the next `sync`. A crash keeps a prefix of
//! the applied batches that holds at least all synced ones; no batch is kept in part.

pub(crate) mod mark;
pub(crate) mod sled;

use std::fmt;

use crate::error::Result;

/// Changes that happen together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    /// `None` deletes. In order: a later change of a key wins.
    pub changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Batch {
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.push((key, Some(value)));
    }

    pub(crate) fn delete(&mut self, key: Vec<u8>) {
        self.changes.push((key, None));
    }
}

pub(crate) type Pair = (Vec<u8>, Vec<u8>);

pub(crate) trait Store: Send + Sync + fmt::Debug {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Pairs whose key begins with `prefix`, in key order. Changes made meanwhile may or may not be seen.
    fn scan(&self, prefix: &[u8]) -> Box<dyn Iterator<Item = Result<Pair>> + '_>;
    fn apply(&self, batch: Batch) -> Result<()>;
    fn sync(&self) -> Result<()>;
}
