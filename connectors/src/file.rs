//! The file source: the lines of the files in a folder, each file once.
//!
//! Files are numbered in the order in which they are read ([`log`]); a position is a file number and a byte offset
//! ([`position`]). A position need not be at a line end: a range holds the lines that start in it ([`reader`]), so large
//! files are cut anywhere, for several epochs and for several workers.

mod line_numbers;
mod listing;
mod log;
mod options;
mod position;
mod reader;
mod slices;

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, Options, arrow_schema};
use millpond_engine::source::{Limit, Position, Slice, SliceReader, Source, SourceContext, SourceError};
use parking_lot::Mutex;

use crate::connector::Connector;
use crate::error::{Error, Result};
use crate::format::{self, Format};
use crate::options::OptionReader;
use line_numbers::LineNumbers;
use listing::{Listing, unavailable};
use log::{FileEntry, FileLog};
use options::FileOptions;
use position::FilePosition;
use reader::{Part, PartsReader};

pub const CONNECTOR: Connector = Connector {
    name: "file",
    doc: "Files of a folder, each read once and as it is when it is found.",
    options: FileOptions::SPECS,
    columns: None,
    validate,
    open,
};

/// An epoch takes at least so much of a large file, however small the caps are.
const PROGRESS_BYTES_MIN: u64 = 64 << 10;

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    let (options, _) = read_options(options, columns)?;
    let listing = Listing::new(&options)?;
    // The folder itself may be made later, by whoever fills it.
    let base = listing.base();
    let parent = base.parent().unwrap_or(&base);
    if fs::metadata(parent).is_err() {
        return Err(Error::Missing {
            message: format!("folder \"{}\" does not exist", parent.display()),
            hint: Some("Check the path, or create the folder first; files may come later.".to_owned()),
        });
    }
    Ok(())
}

fn open(options: &Options, columns: &[Column], context: SourceContext) -> Result<Arc<dyn Source>> {
    let (options, format) = read_options(options, columns)?;
    let log = FileLog::load(context.notes, options.file_name_only)?;
    Ok(Arc::new(FileSource {
        listing: Listing::new(&options)?,
        schema: arrow_schema(columns),
        format,
        options,
        line_numbers: Arc::default(),
        state: Mutex::new(State {
            log,
            listed_at_us: None,
            ignored: HashSet::new(),
            prune_from: 0,
        }),
    }))
}

fn read_options(options: &Options, columns: &[Column]) -> Result<(FileOptions, Arc<dyn Format>)> {
    let mut reader = OptionReader::new("connector \"file\"", options);
    let file = FileOptions::read(&mut reader)?;
    let format = format::open(&file.format, &mut reader, columns)?;
    reader.finish()?;
    if columns.is_empty() {
        return Err(Error::Columns {
            message: format!(
                "a source of format \"{}\" needs a schema: its columns are not declared",
                file.format
            ),
            hint: Some("Declare them: CREATE SOURCE name (column type, ..) WITH (..)".to_owned()),
        });
    }
    Ok((file, format))
}

struct FileSource {
    listing: Listing,
    options: FileOptions,
    schema: SchemaRef,
    format: Arc<dyn Format>,
    line_numbers: Arc<LineNumbers>,
    state: Mutex<State>,
}

struct State {
    log: FileLog,
    /// When the folder was listed last, by the engine's clock.
    listed_at_us: Option<i64>,
    /// Paths that were too old when they were found.
    ignored: HashSet<String>,
    /// Where pruning goes on.
    prune_from: u64,
}

impl FileSource {
    /// Lists the folder and numbers what is new.
    fn discover(&self, state: &mut State, now_us: i64) -> Result<(), SourceError> {
        let State { log, ignored, .. } = state;
        if log.is_empty() && !self.listing.is_there() {
            // A folder that nobody has made yet is an empty one; one that had files before is missing.
            state.listed_at_us = Some(now_us);
            return Ok(());
        }
        let mut found = self
            .listing
            .new_files(|path| log.contains(path) || ignored.contains(path))?;
        state.listed_at_us = Some(now_us);
        let capped =
            self.options.max_files_per_trigger.is_some() || self.options.max_bytes_per_trigger.is_some();
        let every_age = log.is_empty() || self.options.latest_first && capped;
        if !every_age {
            let age_us = i64::try_from(self.options.max_file_age.as_micros()).unwrap_or(i64::MAX);
            let oldest_us = log.newest_mtime_us().saturating_sub(age_us);
            found.retain(|entry| {
                let fresh = entry.mtime_us >= oldest_us;
                if !fresh {
                    tracing::info!(path = &*entry.path, "a file older than max_file_age is ignored");
                    ignored.insert(entry.path.to_string());
                }
                fresh
            });
        }
        found.sort_by(|a, b| (a.mtime_us, &a.path).cmp(&(b.mtime_us, &b.path)));
        if self.options.latest_first {
            found.reverse();
        }
        let mut seen = HashSet::new();
        found.retain(|entry| seen.insert(log.identity(&entry.path).to_owned()));
        if found.is_empty() {
            Ok(())
        } else {
            log.append(found)
        }
    }

    /// The poll interval has passed since the last listing, or the clock was set back.
    fn is_listing_due(&self, state: &State, now_us: i64) -> bool {
        let interval_us = self.options.poll_interval.as_micros() as i64;
        state
            .listed_at_us
            .is_none_or(|listed| now_us < listed || now_us - listed >= interval_us)
    }

    /// What is left to read of the file at `from`, as far as `until` allows; `None` when it has vanished.
    fn rest_of_file(
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
    fn advance_in_log(
        &self,
        log: &FileLog,
        from: &FilePosition,
        until: (u64, u64),
        limit_bytes: u64,
    ) -> Result<FilePosition, SourceError> {
        let cap = self.options.max_bytes_per_trigger.map_or(u64::MAX, |cap| cap.0);
        let budget = limit_bytes.min(cap).max(PROGRESS_BYTES_MIN);
        let files_max = self
            .options
            .max_files_per_trigger
            .map_or(u64::MAX, |cap| cap.get());
        let mut to = FilePosition::at(from.file, from.offset);
        let (mut bytes, mut files) = (0, 0);
        while to.place() < until {
            let cut_at = (to.file == until.0).then_some(until.1);
            let rest = match log.get(to.file) {
                Some(entry) => self
                    .rest_of_file(entry, to.offset, cut_at)?
                    .map(|rest| (rest, entry.size)),
                // Pruned, because it had vanished.
                None => None,
            };
            let Some((rest, size)) = rest else {
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
                if to.offset == size {
                    (to.file, to.offset) = (to.file + 1, 0);
                }
                continue;
            }
            // A file that fits an epoch of its own is not cut.
            if bytes == 0 || size > budget {
                to.offset += left;
            }
            break;
        }
        Ok(to)
    }
}

impl Source for FileSource {
    fn description(&self) -> String {
        format!("file[{}]", self.listing.path().display())
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn start(&self) -> Position {
        (&FilePosition::at(0, 0)).into()
    }

    fn advance(
        &self,
        from: &Position,
        until: Option<&Position>,
        limit: Limit,
    ) -> Result<Option<Position>, SourceError> {
        let from = FilePosition::from(from);
        let until = until.map(|until| FilePosition::from(until).place());
        let mut state = self.state.lock();
        let known = (state.log.next(), 0);
        let at_end = from.place() >= known && until.is_none_or(|until| until > known);
        if at_end && self.is_listing_due(&state, limit.now_us) {
            self.discover(&mut state, limit.now_us)?;
        }
        let end = (state.log.next(), 0);
        let to = self.advance_in_log(&state.log, &from, until.unwrap_or(end).min(end), limit.bytes)?;
        Ok((to.place() > from.place()).then(|| (&to).into()))
    }

    fn latest(&self, now_us: i64) -> Result<Position, SourceError> {
        let mut state = self.state.lock();
        self.discover(&mut state, now_us)?;
        Ok((&FilePosition::at(state.log.next(), 0)).into())
    }

    fn reached(&self, position: &Position, target: &Position) -> bool {
        FilePosition::from(position).place() >= FilePosition::from(target).place()
    }

    fn slices(&self, from: &Position, to: &Position, workers: usize) -> Result<Vec<Slice>, SourceError> {
        let (from, to) = (FilePosition::from(from), FilePosition::from(to));
        let state = self.state.lock();
        let last = if to.offset > 0 { to.file + 1 } else { to.file };
        let mut pieces = Vec::new();
        for file in (from.file..last).filter(|file| !to.is_gone(*file)) {
            let entry = state.log.get(file).ok_or_else(|| SourceError::Failed {
                message: format!("file number {file} is not in the list of files any more"),
                hint: None,
            })?;
            let start = if file == from.file { from.offset } else { 0 };
            let end = if file == to.file { to.offset } else { entry.size };
            pieces.push((file, start, end));
        }
        Ok(slices::pack(&pieces, workers))
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let parts: Vec<(u64, u64, u64)> =
            serde_json::from_value(slice.what.clone()).expect("a slice made by this source");
        let state = self.state.lock();
        let part = |(file, start, end): (u64, u64, u64)| {
            let entry = state.log.get(file).expect("slices are made of files in the log");
            Part {
                path: entry.path.clone(),
                start,
                end,
                size: entry.size,
            }
        };
        let parts = parts.into_iter().map(part).collect();
        let decoder = self.format.decoder(projection);
        Ok(Box::new(PartsReader::new(
            parts,
            decoder,
            self.format.on_bad_row(),
            self.line_numbers.clone(),
        )))
    }

    fn forget(&self, position: &Position) {
        let position = FilePosition::from(position);
        let mut state = self.state.lock();
        if let Err(error) = self.prune(&mut state, position.file) {
            // It only keeps more than it has to.
            tracing::warn!(%error, "the list of files of a file source could not be pruned");
        }
    }

    fn poll_interval_ms(&self) -> u64 {
        (self.options.poll_interval.as_millis() as u64).max(1)
    }
}

impl FileSource {
    /// Forgets files before number `before` that have vanished and are older than `max_file_age`; a few per call.
    fn prune(&self, state: &mut State, before: u64) -> Result<(), SourceError> {
        const FILES_PER_CALL: usize = 64;
        let age_us = i64::try_from(self.options.max_file_age.as_micros()).unwrap_or(i64::MAX);
        let oldest_us = state.log.newest_mtime_us().saturating_sub(age_us);
        let candidates: Vec<_> = state
            .log
            .range(state.prune_from..before.max(state.prune_from))
            .take(FILES_PER_CALL)
            .collect();
        let next = if candidates.len() < FILES_PER_CALL {
            0
        } else {
            candidates[FILES_PER_CALL - 1].0 + 1
        };
        let vanished =
            |path: &str| fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let old = candidates
            .iter()
            .filter(|(_, entry)| entry.mtime_us < oldest_us && vanished(&entry.path));
        let numbers: Vec<u64> = old.map(|(number, _)| *number).collect();
        state.prune_from = next;
        if numbers.is_empty() {
            Ok(())
        } else {
            state.log.prune(&numbers)
        }
    }
}

#[cfg(test)]
mod tests;
