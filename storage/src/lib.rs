//! What survives: relations, checkpoints and the DDL log, and when each is durable.
//!
//! - A relation is a durable change log with a snapshot on top.
//! - Everything becomes visible by one atomic, synced write to the meta store, a transaction's commit. A crash
//!   loses what was not committed and nothing else.
//! - Large payloads stand in immutable files that are synced before the commit that names them, and removed when no record
//!   names them any more.
//! - Nothing is handed out before its checksum was verified; damage is an error that names the file or record.
//!
//! Deliberately absent: SQL, operators, clocks, sockets.

mod change;
mod commit;
mod cut;
mod error;
#[cfg(test)]
mod faulty;
mod files;
mod ipc;
mod layout;
mod lock;
mod meta;
mod notes;
mod object_log;
mod payload;
mod query_log;
mod record;
mod relation;
mod row_key;
mod state;
mod storage;
mod transaction;

pub use change::ChangeBatch;
pub use cut::Cut;
pub use error::{Error, Result};
pub use layout::{Part, RelationId};
pub use notes::Notes;
pub use object_log::ObjectRecord;
pub use query_log::{Durable, QueryLog};
pub use relation::{
    Bound, KeyRange, LogEntry, Overlay, Relation, RelationOptions, Scan, ScanChanges, Snapshot,
};
pub use row_key::{Keys, RowKeys, consolidate};
pub use state::{StateReader, StateSize, StoredState};
pub use storage::{Freeze, Storage};
pub use transaction::Transaction;
