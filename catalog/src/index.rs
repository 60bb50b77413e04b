//! An index as it was declared. Reads find rows through it; it takes no room on disk.

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

impl Index {
    /// Of the first columns that are indexed; an expression ends them. `None` where it comes first.
    pub fn positions(&self) -> Option<Vec<usize>> {
        let positions: Vec<usize> = self.columns.iter().map_while(|(_, position)| *position).collect();
        (!positions.is_empty()).then_some(positions)
    }
}
