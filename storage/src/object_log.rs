//! The DDL log: what objects there are, as the SQL that made them. Read at start and planned anew.
//!
//! Value: JSON `{"sql": "...", "attributes": ...}`. The next object id is a u64, little-endian, in a record of its own.

use serde::{Deserialize, Serialize};

use crate::commit::Core;
use crate::error::{Error, Result};
use crate::layout;
use crate::record;

/// An entry of the DDL log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectRecord {
    pub sql: String,
    /// What is not in the SQL text, such as a paused flag.
    pub attributes: serde_json::Value,
}

impl ObjectRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("text and JSON values can be written as JSON")
    }
}

/// All objects, ids ascending.
pub(crate) fn objects(core: &Core) -> Result<Vec<(u64, ObjectRecord)>> {
    core.store
        .scan(&layout::objects_prefix())
        .map(|pair| {
            let (key, value) = pair?;
            let damaged = |what: String| Error::corrupt(layout::describe(&key), what);
            let id = layout::last_number(&key).ok_or_else(|| damaged("its key has no id".to_string()))?;
            let record = serde_json::from_slice(record::open(&key, &value)?)
                .map_err(|error| damaged(format!("its content is not an object: {error}")))?;
            Ok((id, record))
        })
        .collect()
}
