//! Who may change a table: UPDATE, DELETE and TRUNCATE read what they change, so one at a time.
//!
//! INSERT into a table without keys takes no lock: rows that are added depend on no others.

use std::sync::Arc;

use millpond_catalog::ObjectId;
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::sync::OwnedMutexGuard;

#[derive(Default)]
pub struct TableLocks {
    tables: Mutex<HashMap<ObjectId, Arc<tokio::sync::Mutex<()>>>>,
}

/// The right to change a table, until it is dropped.
pub struct TableLock {
    _guard: OwnedMutexGuard<()>,
}

impl TableLocks {
    /// Waits for the right to change `table`.
    pub async fn lock(&self, table: ObjectId) -> TableLock {
        let lock = self.tables.lock().entry(table).or_default().clone();
        TableLock {
            _guard: lock.lock_owned().await,
        }
    }
}
