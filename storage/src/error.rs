//! Errors of storage, sorted by what the caller does next.
//!
//! Cloneable, because one failed sync is the failure of every transaction that shared it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cut::Cut;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Conflict: another process (or another `Storage` of this one) has the data directory open.
    #[error("data directory {} is in use by process {}", dir.display(), pid.map_or("unknown".to_string(), |p| p.to_string()))]
    Locked { dir: PathBuf, pid: Option<u32> },

    /// Outside world: the disk is full, a file cannot be read, permission is missing. The transaction did not happen.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: Arc<io::Error>,
    },

    /// Outside world: an earlier write failed in a way that leaves the state of the disk unknown, so every later write is
    /// refused with the first reason. A restart recovers what was committed.
    #[error("storage takes no more writes since an earlier failure: {reason}")]
    Poisoned { reason: String },

    /// Corruption: `place` (a file, or a key of the meta store) does not hold what was written there.
    #[error("{place} is damaged: {what}; restore it from a backup or drop the object it belongs to")]
    Corrupt { place: String, what: String },

    /// The data directory was written by a newer version than this one.
    #[error(
        "the data directory has format version {found}, this program reads up to version {supported}; use a newer program"
    )]
    NewerFormat { found: u32, supported: u32 },

    /// The entries between these cuts were summed since all readers had passed them.
    #[error(
        "changes after cut {after} up to cut {to} are no longer kept apart (summed up to cut {summed_to})"
    )]
    Compacted { after: Cut, to: Cut, summed_to: Cut },

    /// The relation or object was dropped while the caller still held it.
    #[error("object {object} was dropped")]
    Dropped { object: u64 },

    /// Bug: the caller broke a rule of this crate (a cut going backwards, rows of another schema).
    #[error("{0}")]
    Invalid(String),
}

const SYNC: &str = "sync";

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(path: impl AsRef<Path>, action: &'static str, source: io::Error) -> Self {
        Error::Io {
            path: path.as_ref().to_path_buf(),
            action,
            source: Arc::new(source),
        }
    }

    pub(crate) fn sync(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::io(path, SYNC, source)
    }

    /// After a failed sync nobody knows what reached the disk.
    pub(crate) fn leaves_disk_unknown(&self) -> bool {
        matches!(self, Error::Io { action: SYNC, .. })
    }

    pub(crate) fn corrupt(place: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Corrupt {
            place: place.into(),
            what: what.into(),
        }
    }
}
