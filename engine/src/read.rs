//! Consistent reads: all relations of one SELECT at one cut.
//!
//! The cut is the greatest one at which every running view among them has a boundary, so a view, another view of the
//! same table and a view over both never disagree. A view that stands still (paused, failed, starting) does not hold the
//! others back: it is read at its own last result and listed in [`ReadView::apart`].

use std::sync::Arc;

use hashbrown::HashMap;
use millpond_catalog::ObjectId;
use millpond_storage::{Cut, Snapshot};

use crate::source::{Position, Source};

/// What one SELECT sees.
#[derive(Clone, Default)]
pub struct ReadView {
    /// The common cut; `None` when only tables or sources that no view reads are involved, which are read at their latest.
    pub cut: Option<Cut>,
    pub relations: HashMap<ObjectId, Arc<Snapshot>>,
    pub sources: HashMap<ObjectId, SourceRead>,
    /// Views that could not be read at the common cut, with the reason.
    pub apart: Vec<Apart>,
}

/// The part of a source that a SELECT reads.
#[derive(Clone)]
pub struct SourceRead {
    pub source: Arc<dyn Source>,
    pub from: Position,
    pub to: Position,
}

/// A view that was read at its own last result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    pub object: ObjectId,
    pub name: String,
    pub reason: String,
}
