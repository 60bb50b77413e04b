//! Durable notes of a source, kept in the meta store under the source's id, apart from the engine's own notes.

use millpond_storage::Notes;

use crate::source::{SourceError, SourceNotes};

/// What the connector's keys begin with on disk.
const PREFIX: &str = "connector/";

/// [`SourceNotes`] over storage.
pub(crate) struct StoredNotes(pub(crate) Notes);

impl SourceNotes for StoredNotes {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        self.0.get(&stored(key)).map_err(failed)
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, SourceError> {
        let entries = self.0.scan(&stored(prefix)).map_err(failed)?;
        Ok(entries
            .into_iter()
            .map(|(key, value)| (key[PREFIX.len()..].to_owned(), value))
            .collect())
    }

    fn put(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), SourceError> {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (stored(&key), value))
            .collect();
        self.0.put(entries).map_err(failed)
    }

    fn delete(&self, keys: Vec<String>) -> Result<(), SourceError> {
        self.0
            .delete(keys.iter().map(|key| stored(key)).collect())
            .map_err(failed)
    }
}

fn stored(key: &str) -> String {
    format!("{PREFIX}{key}")
}

fn failed(error: millpond_storage::Error) -> SourceError {
    SourceError::Failed {
        message: format!("the notes of the source cannot be kept: {error}"),
        hint: None,
    }
}
