//! How far an epoch goes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use millpond_engine::source::{Limit, SourceError};

use super::FileSource;
use super::compression::Compression;
use super::listing::unavailable;
use super::log::{FileEntry, FileLog};
use super::position::FilePosition;
use crate::format::{BlockSize, Format};

/// An epoch takes at least so much of a large file, however small the caps are.
const PROGRESS_BYTES_MIN: u64 = 64 << 10;
/// Bytes of a file that count for one, if no more of them than that is read.
const BYTES_PER_COST_MAX: u64 = 64;

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
        limit: Limit<'_>,
    ) -> Result<FilePosition, SourceError> {
        let (mut budget, files_max) = {
            let pace = self.pace.read();
            let budget = Budget::new(limit.bytes, pace.bytes_max);
            (budget, pace.files_max.unwrap_or(u64::MAX))
        };
        let mut to = FilePosition::at(from.file, from.offset);
        let mut files = 0;
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
            let cost = self.cost(path, limit.columns);
            let fits = |start: u64, end: u64| budget.admits(end - start, cost.of(start..end));
            if fits(to.offset, to.offset + rest) {
                budget.take(rest, cost.of(to.offset..to.offset + rest));
                to.offset += rest;
                if to.offset >= size {
                    (to.file, to.offset) = (to.file + 1, 0);
                }
                continue;
            }
            // A file that fits an epoch of its own is not cut.
            if budget.is_whole() || !budget.could_admit(size, cost.of(0..size)) {
                to.offset = match self.compression(path) {
                    Compression::None => cost.cut(to.offset, &budget).unwrap_or(size),
                    _ if budget.is_whole() => size,
                    _ => to.offset,
                };
                if to.offset >= size {
                    (to.file, to.offset) = (to.file + 1, 0);
                }
            }
            break;
        }
        Ok(to)
    }

    /// What reading `columns` of the file takes in.
    fn cost(&self, path: &str, columns: &[usize]) -> Cost {
        let Format::Blocks(format) = &self.format else {
            return Cost::Bytes;
        };
        // What is wrong with the file shows when it is read.
        File::open(path)
            .ok()
            .and_then(|file| format.blocks(path, file, columns).ok())
            .map_or(Cost::Bytes, Cost::Blocks)
    }
}

/// What is left of an epoch: bytes as the engine counts them, and of files as the user caps them.
struct Budget {
    read: u64,
    file: u64,
    read_max: u64,
    file_max: u64,
}

impl Budget {
    fn new(read_max: u64, file_max: Option<u64>) -> Self {
        let file_max = file_max.unwrap_or(u64::MAX).max(PROGRESS_BYTES_MIN);
        let read_max = read_max.max(PROGRESS_BYTES_MIN);
        Budget {
            read: read_max,
            file: file_max,
            read_max,
            file_max,
        }
    }

    fn admits(&self, file: u64, read: u64) -> bool {
        file <= self.file && read <= self.read
    }

    fn take(&mut self, file: u64, read: u64) {
        self.file -= file;
        self.read -= read;
    }

    /// Nothing has been taken yet.
    fn is_whole(&self) -> bool {
        self.file == self.file_max && self.read == self.read_max
    }

    /// An epoch of its own would hold so much.
    fn could_admit(&self, file: u64, read: u64) -> bool {
        file <= self.file_max && read <= self.read_max
    }
}

/// What reading a range of a file takes in.
enum Cost {
    Bytes,
    Blocks(Vec<BlockSize>),
}

impl Cost {
    fn of(&self, range: Range<u64>) -> u64 {
        match self {
            Cost::Bytes => range.end - range.start,
            Cost::Blocks(blocks) => {
                let read = blocks.iter().filter(|block| range.contains(&block.start));
                let read = read.map(|block| block.bytes).fold(0, u64::saturating_add);
                // Rows without columns are work too.
                read.max((range.end - range.start) / BYTES_PER_COST_MAX)
            }
        }
    }

    /// Where a file that has more than is left of the budget is cut; blocks are whole, and one at least is taken. `None`
    /// at the end of the file.
    fn cut(&self, from: u64, budget: &Budget) -> Option<u64> {
        match self {
            Cost::Bytes => Some(from + budget.file.min(budget.read)),
            Cost::Blocks(blocks) => { blocks.iter().map(|block| block.start) }
                .skip_while(|start| *start <= from)
                .find(|start| start - from >= budget.file || self.of(from..*start) >= budget.read),
        }
    }
}
