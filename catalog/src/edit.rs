//! The only way to change a catalog.

use std::sync::Arc;

use crate::{Comments, Index, Object, ObjectId};

/// A planned change. The planner checks that it is possible; applying it then cannot fail.
#[derive(Debug, Clone)]
pub enum Edit {
    Created(Arc<Object>),
    /// Replaces the object with the same id, for example with another paused flag or other options.
    Altered(Arc<Object>),
    Dropped(ObjectId),
    SchemaCreated(ObjectId, String),
    SchemaDropped(String),
    IndexCreated(Arc<Index>),
    IndexDropped(ObjectId),
    /// All comments on an object, index or schema, in the place of those before.
    Commented(ObjectId, Comments),
}
