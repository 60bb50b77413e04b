//! Object ids: allocated once, never reused, the key of everything durable that belongs to an object.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identity of a catalog object across restarts and renames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub u64);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
