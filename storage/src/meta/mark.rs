//! The commit mark: notices when the meta store has lost commits that were synced.
//!
//! sled takes damage within its log for the end of the log and starts from what stands before it. Every commit therefore
//! writes its number into the meta store, and after the sync also into a file of its own, in place and unsynced. The file
//! can lag behind after a power loss, never run ahead: a meta store that knows less than the file has been damaged.
//!
//! Content: the commit's number, u64 little-endian, in a frame (see `record`).

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::layout;
use crate::record;

const SALT: &[u8] = b"mark";

#[derive(Debug)]
pub(crate) struct CommitMark {
    path: PathBuf,
    file: Mutex<File>,
}

impl CommitMark {
    /// Opens the mark of a data directory and checks the meta store's newest commit against it.
    pub(crate) fn open(dir: &Path, newest: u64) -> Result<Self> {
        let path = dir.join(layout::MARK_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| Error::io(&path, "open", error))?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)
            .map_err(|error| Error::io(&path, "read", error))?;
        match number(&content) {
            Some(marked) if marked > newest => {
                let what = format!(
                    "it ends at commit {newest}, but commit {marked} was made durable (remove {} to accept the loss)",
                    path.display()
                );
                return Err(Error::corrupt(
                    format!("meta store {}", dir.join(layout::META_FOLDER).display()),
                    what,
                ));
            }
            Some(_) => {}
            None if content.is_empty() => {}
            None => tracing::warn!(file = %path.display(), "the commit mark is damaged and starts anew"),
        }
        let mark = Self {
            path,
            file: Mutex::new(file),
        };
        mark.write(newest);
        Ok(mark)
    }

    /// Notes that this commit is durable. A failure only makes the mark lag behind.
    pub(crate) fn write(&self, commit: u64) {
        let mut file = self.file.lock();
        let content = record::seal(SALT, &commit.to_le_bytes());
        if let Err(error) = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(&content))
        {
            tracing::warn!(file = %self.path.display(), %error, "could not write the commit mark");
        }
    }
}

fn number(content: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(
        record::open(SALT, content).ok()?.try_into().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_knows_less_than_the_mark_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        CommitMark::open(dir.path(), 0).unwrap().write(300);
        CommitMark::open(dir.path(), 300).unwrap();
        match CommitMark::open(dir.path(), 299) {
            Err(Error::Corrupt { what, .. }) => assert!(what.contains("ends at commit 299"), "{what}"),
            other => panic!("{other:?}"),
        }
        CommitMark::open(dir.path(), 301).unwrap();
        assert!(CommitMark::open(dir.path(), 300).is_err(), "opening moves it up");
    }

    #[test]
    fn a_torn_mark_is_no_reason_to_refuse() {
        let dir = tempfile::tempdir().unwrap();
        CommitMark::open(dir.path(), 0).unwrap().write(300);
        std::fs::write(dir.path().join(layout::MARK_FILE), [0; 20]).unwrap();
        CommitMark::open(dir.path(), 1).unwrap();
    }
}
