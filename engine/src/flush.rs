//! FLUSH: waiting until everything accepted so far is in the views.

use millpond_catalog::ObjectId;

/// Whose results are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushTarget {
    /// All streaming views.
    All,
    /// One view, and those it reads.
    View(ObjectId),
}

/// What a flush could not wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlushReport {
    pub skipped: Vec<Skipped>,
    /// The caller gave up before all views were done.
    pub cancelled: bool,
}

/// A view that does not move: paused, failed, or reading one that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub object: ObjectId,
    pub name: String,
    pub reason: String,
}
