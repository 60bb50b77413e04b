//! Cuts: the numbers by which positions in all change logs are counted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A numbered set of positions, one per source split and per table. A relation's log is keyed by cuts: an entry at cut c
/// is part of the relation for every reader at c or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cut(pub u64);

impl Cut {
    /// Before anything was written.
    pub const ZERO: Cut = Cut(0);

    pub fn next(self) -> Cut {
        Cut(self.0 + 1)
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
