//! Notes: small values that an object keeps for itself, such as the files a source has seen.
//!
//! A note is ordered before, and durable no later than, the next synced write: a batch record never names what a note
//! should know and does not.

use std::sync::Arc;

use crate::commit::Core;
use crate::error::{Error, Result};
use crate::layout;
use crate::meta::Batch;
use crate::record;

/// The notes of one object.
#[derive(Debug, Clone)]
pub struct Notes {
    core: Arc<Core>,
    owner: u64,
}

impl Notes {
    pub(crate) fn new(core: Arc<Core>, owner: u64) -> Self {
        Self { core, owner }
    }

    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let key = layout::note_key(self.owner, name);
        let Some(value) = self.core.store.get(&key)? else {
            return Ok(None);
        };
        Ok(Some(record::open(&key, &value)?.to_vec()))
    }

    /// Names that begin with `prefix`, in order, and their values.
    pub fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        self.core
            .store
            .scan(&layout::note_key(self.owner, prefix))
            .map(|pair| {
                let (key, value) = pair?;
                let name = layout::note_name(&key)
                    .ok_or_else(|| Error::corrupt(layout::describe(&key), "its name is not UTF-8"))?;
                Ok((name, record::open(&key, &value)?.to_vec()))
            })
            .collect()
    }

    /// Writes all of them together.
    pub fn put(&self, entries: Vec<(String, Vec<u8>)>) -> Result<()> {
        let mut batch = Batch::default();
        for (name, value) in entries {
            let key = layout::note_key(self.owner, &name);
            batch.put(key.clone(), record::seal(&key, &value));
        }
        self.core.apply_unsynced(batch)
    }

    /// Deletes all of them together; a name that is not there is no matter.
    pub fn delete(&self, names: Vec<String>) -> Result<()> {
        let mut batch = Batch::default();
        names
            .iter()
            .for_each(|name| batch.delete(layout::note_key(self.owner, name)));
        self.core.apply_unsynced(batch)
    }
}
