//! The lock on the data directory: one process at a time.
//!
//! The operating system holds the lock, so it is gone with its holder however that died. The file's content, the holder's
//! pid, is only for the message.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::layout;

/// Held for as long as the value lives.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(crate) fn acquire(dir: &Path) -> Result<Self> {
        let path = dir.join(layout::LOCK_FILE);
        let io = |action: &'static str| {
            let path = path.clone();
            move |error| Error::io(path, action, error)
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked {
                    dir: dir.to_path_buf(),
                    pid: holder(&path),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io("lock")(error)),
        }
        file.set_len(0).map_err(io("write"))?;
        writeln!(file, "{}", std::process::id()).map_err(io("write"))?;
        Ok(Self { _file: file })
    }
}

/// The pid in the lock file; a holder that has not written it yet is unknown.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    fs::File::open(path).ok()?.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(dir.path()).unwrap();
        let pid = match DirectoryLock::acquire(dir.path()) {
            Err(Error::Locked { pid, .. }) => pid,
            other => panic!("{other:?}"),
        };
        assert_eq!(pid, Some(std::process::id()));
        drop(first);
        DirectoryLock::acquire(dir.path()).unwrap();
    }

    #[test]
    fn a_file_left_by_a_dead_holder_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(layout::LOCK_FILE), "1\n").unwrap();
        DirectoryLock::acquire(dir.path()).unwrap();
    }
}
