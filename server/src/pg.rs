//! The Postgres protocol, version 3: the only place that knows its bytes.
//!
//! Deliberately absent: what statements mean.

pub mod encode;
pub mod format;
