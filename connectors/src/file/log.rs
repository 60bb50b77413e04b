//! The discovery log: every file ever found, numbered in the order of reading, kept in the source's notes.
//!
//! A file is what it was when it was found: `size` bytes. So a range of numbers and offsets means the same rows for every
//! reader and after every restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use millpond_engine::source::{SourceError, SourceNotes};
use serde::{Deserialize, Serialize};

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    pub path: Arc<str>,
    pub size: u64,
    pub mtime_us: i64,
}

pub struct FileLog {
    notes: Arc<dyn SourceNotes>,
    files: BTreeMap<u64, FileEntry>,
    /// By path, or by file name where that is all that counts.
    numbers: HashMap<Box<str>, u64>,
    file_name_only: bool,
    next: u64,
    newest_mtime_us: i64,
}

const PREFIX: &str = "file/";
/// Holds the number that the next file gets: entries before it may have been pruned.
const NEXT_KEY: &str = "next";

impl FileLog {
    pub fn load(notes: Arc<dyn SourceNotes>, file_name_only: bool) -> Result<Self, SourceError> {
        let mut log = FileLog {
            files: BTreeMap::new(),
            numbers: HashMap::new(),
            file_name_only,
            next: 0,
            newest_mtime_us: i64::MIN,
            notes: notes.clone(),
        };
        for (key, value) in notes.scan(PREFIX)? {
            let number = key[PREFIX.len()..].parse::<u64>().map_err(|_| damaged())?;
            let entry = serde_json::from_slice(&value).map_err(|_| damaged())?;
            log.insert(number, entry);
        }
        if let Some(next) = notes.get(NEXT_KEY)? {
            let next = std::str::from_utf8(&next)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(damaged)?;
            log.next = log.next.max(next);
        }
        Ok(log)
    }

    /// The number that the next file gets: the end of everything known.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    pub fn newest_mtime_us(&self) -> i64 {
        self.newest_mtime_us
    }

    pub fn get(&self, number: u64) -> Option<&FileEntry> {
        self.files.get(&number)
    }

    pub fn contains(&self, path: &str) -> bool {
        self.numbers.contains_key(self.identity(path))
    }

    /// Numbers `entries` in their order, durably.
    pub fn append(&mut self, entries: Vec<FileEntry>) -> Result<(), SourceError> {
        let numbered = (self.next..).zip(&entries);
        let mut notes: Vec<_> = numbered
            .map(|(number, entry)| {
                (
                    key(number),
                    serde_json::to_vec(entry).expect("an entry becomes JSON"),
                )
            })
            .collect();
        notes.push((
            NEXT_KEY.to_owned(),
            (self.next + entries.len() as u64).to_string().into_bytes(),
        ));
        self.notes.put(notes)?;
        for entry in entries {
            // Where only names count, a listing can hold the same one twice.
            self.insert(self.next, entry);
        }
        Ok(())
    }

    /// Files numbered in `range`, ascending.
    pub fn range(&self, range: std::ops::Range<u64>) -> impl Iterator<Item = (u64, &FileEntry)> {
        self.files.range(range).map(|(number, entry)| (*number, entry))
    }

    /// Forgets files; their paths count as new again.
    pub fn prune(&mut self, numbers: &[u64]) -> Result<(), SourceError> {
        self.notes
            .delete(numbers.iter().map(|number| key(*number)).collect())?;
        for number in numbers {
            if let Some(entry) = self.files.remove(number) {
                let identity: Box<str> = self.identity(&entry.path).into();
                self.numbers.remove(&identity);
            }
        }
        Ok(())
    }

    fn insert(&mut self, number: u64, entry: FileEntry) {
        let identity = self.identity(&entry.path).into();
        self.numbers.insert(identity, number);
        self.newest_mtime_us = self.newest_mtime_us.max(entry.mtime_us);
        self.next = self.next.max(number + 1);
        self.files.insert(number, entry);
    }

    /// What makes two paths the same file.
    pub fn identity<'a>(&self, path: &'a str) -> &'a str {
        if self.file_name_only {
            path.rsplit('/').next().unwrap_or(path)
        } else {
            path
        }
    }
}

fn key(number: u64) -> String {
    format!("{PREFIX}{number:020}")
}

fn damaged() -> SourceError {
    SourceError::Failed {
        message: "the stored list of files of a file source is damaged".to_owned(),
        hint: Some(
            "Restore the data directory from a backup, or drop and create the source again.".to_owned(),
        ),
    }
}
