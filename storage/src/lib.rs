//! What survives: relations, checkpoints and the DDL log, and when each is durable.
//!
//! - A relation is a durable change log with a snapshot on top.
//! - Everything becomes visible by one atomic, synced write to the meta store, a transaction's commit. A crash
//!   loses what was not committed and nothing else.
//!
//! Deliberately absent: SQL, operators, clocks, sockets.

mod api;
mod change;
mod cut;
mod error;

pub use api::*;
pub use change::ChangeBatch;
pub use cut::Cut;
pub use error::{Error, Result};
