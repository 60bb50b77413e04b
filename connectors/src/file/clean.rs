//! What becomes of files that everyone has read.
//!
//! Cleaning up comes after the commit of what was read, so a crash in between leaves a file there for the next time. Only
//! a file that is still what was found is touched: one that was put there later under the same name is somebody's.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::listing::{Listing, modified_us};
use super::log::FileEntry;
use super::options::FileOptions;
use super::{FileSource, State};
use crate::error::{Error, Result};
use crate::options::OptionValue;

/// The option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanSource {
    Off,
    Archive,
    Delete,
}

impl OptionValue for CleanSource {
    const KIND: &'static str = "`off`, `archive` or `delete`";

    fn parse(text: &str) -> std::result::Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "off" | "false" => Ok(CleanSource::Off),
            "archive" => Ok(CleanSource::Archive),
            "delete" => Ok(CleanSource::Delete),
            _ => Err(format!("\"{text}\" is not off, archive or delete")),
        }
    }
}

/// What to do, with all that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaning {
    Off,
    /// Into this folder.
    Archive(PathBuf),
    Delete,
}

impl Cleaning {
    pub fn new(options: &FileOptions, listing: &Listing) -> Result<Cleaning> {
        let archive = options.source_archive_dir.as_deref();
        match (options.clean_source, archive) {
            (CleanSource::Off, _) => Ok(Cleaning::Off),
            (CleanSource::Delete, _) => Ok(Cleaning::Delete),
            (CleanSource::Archive, None) => Err(Error::MissingOption {
                key: "source_archive_dir",
                what: "clean_source = 'archive'".to_owned(),
                hint: "Add source_archive_dir = '..' to the WITH list: a folder outside of path".to_owned(),
            }),
            (CleanSource::Archive, Some(folder)) => {
                let invalid = |message: String| Error::InvalidOption {
                    key: "source_archive_dir".to_owned(),
                    message,
                    position: None,
                };
                let folder = std::path::absolute(folder).map_err(|error| invalid(error.to_string()))?;
                let base = listing.base();
                if folder.starts_with(&base) || base.starts_with(&folder) {
                    let message = "it must not be inside of path, nor around it".to_owned();
                    return Err(invalid(message));
                }
                Ok(Cleaning::Archive(folder))
            }
        }
    }

    fn clean(&self, path: &Path) -> io::Result<()> {
        match self {
            Cleaning::Off => Ok(()),
            Cleaning::Delete => fs::remove_file(path),
            Cleaning::Archive(folder) => {
                let target = folder.join(path.strip_prefix("/").unwrap_or(path));
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::rename(path, target)
            }
        }
    }
}

impl FileSource {
    /// Cleans up files before number `before`; a few per call.
    pub(super) fn clean(&self, state: &mut State, before: u64) {
        const FILES_PER_CALL: usize = 256;
        if self.cleaning == Cleaning::Off {
            return;
        }
        let from = state.clean_from.min(before);
        let files: Vec<_> = state.log.range(from..before).take(FILES_PER_CALL).collect();
        let mut next = if files.len() < FILES_PER_CALL {
            before
        } else {
            files[FILES_PER_CALL - 1].0 + 1
        };
        for (number, entry) in files {
            if !is_as_found(entry) {
                continue;
            }
            match self.cleaning.clean(Path::new(&*entry.path)) {
                Ok(()) => tracing::debug!(path = &*entry.path, "a file was cleaned up"),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(path = &*entry.path, %error, "a file that was read could not be cleaned up");
                    next = next.min(number);
                    break;
                }
            }
        }
        state.clean_from = next;
    }
}

fn is_as_found(entry: &FileEntry) -> bool {
    fs::metadata(&*entry.path).is_ok_and(|metadata| {
        metadata.len() == entry.size
            && modified_us(&metadata).is_ok_and(|mtime_us| mtime_us == entry.mtime_us)
    })
}
