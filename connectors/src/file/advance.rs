//! How far an epoch goes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use millpond_engine::source::SourceError;

use super::FileSource;
use super::compression::Compression;
use super::listing::unavailable;
use super::log::{FileEntry, FileLog};
use super::position::FilePosition;
use crate::format::Format;

/// An epoch takes at least so much of a large file, however small the caps are.
const PROGRESS_BYTES_MIN: u64 = 64 << 10;

impl FileSource {
    /// What is left to read of the file at `from`, as far as `until` allows; `None` when it has vanished.
    pub(super) fn rest_of_file(
        &self,
        entry: &FileEntry,
        from: u64,
        until: Option<u64>,
    ) -> Result<Option<u64>, SourceError> {
        match fs::metadata(&*entry.path) {
            Ok(metadata) if metadata.len() < entry.size => Err(SourceError::Failed {
                message: format!(
                    "file \"{}\" is shorter than the {} bytes it had when it was found",
                    entry.path, entry.size
                ),
                hint: Some(
                    "A file under its final name must not change. Put the former content back.".to_owned(),
                ),
            }),
            Ok(_) => Ok(Some(
                until.unwrap_or(entry.size).min(entry.size).saturating_sub(from),
            )),
            Err(error) if error.kind() == ErrorKind::NotFound && from == 0 => {
                // A folder that is not mounted is no reason to pass over its files.
                let base = self.listing.base();
                match fs::metadata(&base) {
                    Ok(_) => Ok(None),
                    Err(error) => Err(unavailable(&base, &error)),
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Err(SourceError::Failed {
                message: format!(
                    "file \"{}\" has vanished before it was read to its end",
                    entry.path
                ),
                hint: Some("Put it back under the same name and resume the query.".to_owned()),
            }),
            Err(error) => Err(unavailable(Path::new(&*entry.path), &error)),
        }
    }

    /// The end of the next epoch, over files that are already in the log.
    pub(super) fn advance_in_log(
        &self,
        log: &FileLog,
        from: &FilePosition,
        until: (u64, u64),
        limit_bytes: u64,
    ) -> Result<FilePosition, SourceError> {
        let (budget, files_max) = {
            let pace = self.pace.read();
            let budget = limit_bytes.min(pace.bytes_max.unwrap_or(u64::MAX));
            (budget.max(PROGRESS_BYTES_MIN), pace.files_max.unwrap_or(u64::MAX))
        };
        let mut to = FilePosition::at(from.file, from.offset);
        let (mut bytes, mut files) = (0, 0);
        while to.place() < until {
            let cut_at = (to.file == until.0).then_some(until.1);
            let rest = match log.get(to.file) {
                Some(entry) => self
                    .rest_of_file(entry, to.offset, cut_at)?
                    .map(|rest| (rest, entry.size, &entry.path)),
                // Pruned, because it had vanished.
                None => None,
            };
            let Some((rest, size, path)) = rest else {
                to.add_gone(to.file);
                (to.file, to.offset) = (to.file + 1, 0);
                continue;
            };
            if to.offset == 0 {
                if files == files_max {
                    break;
                }
                files += 1;
            }
            let left = budget - bytes;
            if rest <= left {
                bytes += rest;
                to.offset += rest;
                if to.offset >= size {
                    (to.file, to.offset) = (to.file + 1, 0);
                }
                continue;
            }
            let is_whole = self.compression(path) != Compression::None;
            if bytes == 0 && is_whole {
                (to.file, to.offset) = (to.file + 1, 0);
            } else if !is_whole && (bytes == 0 || size > budget) {
                // A file that fits an epoch of its own is not cut.
                to.offset = self.cut_at(path, to.offset + left);
                if to.offset >= size {
                    (to.file, to.offset) = (to.file + 1, 0);
                }
            }
            break;
        }
        Ok(to)
    }
    /// Where a file that is cut at or after `offset` is cut: between blocks, if it has any.
    fn cut_at(&self, path: &str, offset: u64) -> u64 {
        let Format::Blocks(format) = &self.format else {
            return offset;
        };
        // What is wrong with the file shows when it is read; an epoch may hold no block.
        File::open(path)
            .ok()
            .and_then(|file| format.cut_at(path, file, offset).ok())
            .unwrap_or(offset)
    }
}
