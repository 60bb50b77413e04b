//! An index as it was declared. Nothing reads it: snapshots are scanned, and keys have indexes of their own.

use crate::{ObjectId, ObjectName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub id: ObjectId,
    /// In the schema of its table.
    pub name: ObjectName,
    pub table: ObjectId,
    /// What is indexed, as SQL text, and its position where it is a column.
    pub columns: Vec<(String, Option<usize>)>,
    /// Canonical: planning it again gives the same index.
    pub create_sql: String,
}
