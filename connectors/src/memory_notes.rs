//! Notes of a source that live as long as a test.

use std::collections::BTreeMap;
use std::sync::Arc;

use millpond_catalog::{Column, OptionEntry, Options, SqlType};
use millpond_engine::source::{Source, SourceContext, SourceError, SourceNotes};
use parking_lot::Mutex;

#[derive(Default)]
pub struct MemoryNotes(Mutex<BTreeMap<String, Vec<u8>>>);

impl SourceNotes for MemoryNotes {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(self.0.lock().get(key).cloned())
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, SourceError> {
        let entries = self.0.lock();
        let pairs = entries
            .range(prefix.to_owned()..)
            .take_while(|(key, _)| key.starts_with(prefix));
        Ok(pairs.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn put(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), SourceError> {
        self.0.lock().extend(entries);
        Ok(())
    }

    fn delete(&self, keys: Vec<String>) -> Result<(), SourceError> {
        let mut entries = self.0.lock();
        for key in keys {
            entries.remove(&key);
        }
        Ok(())
    }
}

/// Options as `sql` hands them over; each key's position is its place in the list.
pub fn options(entries: &[(&str, &str)]) -> Options {
    let entry = |(position, (key, value)): (usize, &(&str, &str))| OptionEntry {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        position: Some(position),
    };
    entries.iter().enumerate().map(entry).collect()
}

pub fn column(name: &str, sql_type: SqlType) -> Column {
    Column {
        name: name.to_owned(),
        sql_type,
        nullable: true,
        default: None,
    }
}

/// Opens a source at time 0.
pub fn open(
    connector: &str,
    entries: &[(&str, &str)],
    columns: &[Column],
    notes: &Arc<MemoryNotes>,
) -> crate::Result<Arc<dyn Source>> {
    let context = SourceContext {
        notes: notes.clone(),
        now_us: 0,
    };
    crate::open_source(connector, &options(entries), columns, context)
}
