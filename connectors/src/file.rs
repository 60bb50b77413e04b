//! The file source: the rows of the files in a folder, each file once.
//!
//! Files are numbered in the order in which they are read ([`log`]); a position is a file number and a byte offset
//! ([`position`]). A position need not be at the end of a row: a range holds the records ([`records`]) or blocks
//! ([`blocks`]) that start in it, so large files are cut anywhere, for several epochs and for several workers.

mod advance;
mod blocks;
mod clean;
mod compression;
mod discover;
mod listing;
mod log;
mod options;
mod part;
pub(crate) mod partition;
mod position;
mod prefixes;
mod reader;
mod reading;
mod records;
mod slices;

use std::collections::HashSet;
use std::fs;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, Options, arrow_schema};
use millpond_engine::source::{Limit, Position, Slice, SliceReader, Source, SourceContext, SourceError};
use parking_lot::{Mutex, RwLock};

use crate::connector::Connector;
use crate::error::{Error, Result};
use crate::format::{self, Format};
use crate::options::OptionReader;
use blocks::BlocksReader;
use clean::Cleaning;
use compression::Compression;
use listing::Listing;
use log::{FileEntry, FileLog};
use options::FileOptions;
use part::Part;
use position::FilePosition;
use reader::RecordsReader;
use reading::Reading;
use slices::{Grain, Piece};

pub const CONNECTOR: Connector = Connector {
    name: "file",
    doc: "Files of a folder, each read once and as it is when it is found.",
    options: FileOptions::SPECS,
    changeable: &["max_files_per_trigger", "max_bytes_per_trigger", "poll_interval"],
    fault_tolerant: true,
    columns: default_columns,
    validate,
    open,
};

/// A text file has one column, which needs no declaration.
fn default_columns(options: &Options) -> Option<Vec<Column>> {
    let format = options
        .iter()
        .find(|option| matches!(option.key.as_str(), "format" | "data_format"))?;
    format
        .value
        .eq_ignore_ascii_case(format::text::FORMAT.name)
        .then(format::text::default_columns)
}

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    let (options, _) = read_options(options, columns)?;
    let listing = Listing::new(&options)?;
    Cleaning::new(&options, &listing)?;
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
    let listing = Listing::new(&options)?;
    Ok(Arc::new(FileSource {
        cleaning: Cleaning::new(&options, &listing)?,
        listing,
        schema: arrow_schema(columns),
        shared: Arc::new(Reading::new(columns.to_vec(), format.on_bad_row())),
        format,
        pace: RwLock::new(Pace::of(&options)),
        columns: columns.to_vec(),
        options,
        state: Mutex::new(State {
            log,
            listed_at_us: None,
            ignored: HashSet::new(),
            prune_from: 0,
            clean_from: 0,
        }),
    }))
}

fn read_options(options: &Options, columns: &[Column]) -> Result<(FileOptions, Format)> {
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
    /// Caps and poll interval, which may change.
    pace: RwLock<Pace>,
    cleaning: Cleaning,
    schema: SchemaRef,
    columns: Vec<Column>,
    format: Format,
    shared: Arc<Reading>,
    state: Mutex<State>,
}

/// How fast the files are read.
struct Pace {
    files_max: Option<u64>,
    bytes_max: Option<u64>,
    poll_interval: Duration,
}

impl Pace {
    fn of(options: &FileOptions) -> Self {
        Self {
            files_max: options.max_files_per_trigger.map(NonZeroU64::get),
            bytes_max: options.max_bytes_per_trigger.map(|bytes| bytes.0),
            poll_interval: options.poll_interval,
        }
    }
}

struct State {
    log: FileLog,
    /// When the folder was listed last, by the engine's clock.
    listed_at_us: Option<i64>,
    /// Paths that were too old when they were found.
    ignored: HashSet<String>,
    /// Where pruning goes on.
    prune_from: u64,
    /// Where cleaning up goes on.
    clean_from: u64,
}

impl FileSource {
    /// How the file is packed. Blocks have a compression of their own inside.
    fn compression(&self, path: &str) -> Compression {
        match (&self.format, self.options.compression.0) {
            (Format::Blocks(_), _) => Compression::None,
            (Format::Records(_), Some(compression)) => compression,
            (Format::Records(_), None) => Compression::of_name(path),
        }
    }

    fn part(&self, entry: &FileEntry, start: u64, end: u64) -> Part {
        let compression = self.compression(&entry.path);
        // How long the content is shows at its end.
        let whole = compression != Compression::None;
        Part {
            path: entry.path.clone(),
            start,
            end: if whole { u64::MAX } else { end },
            size: entry.size,
            compression,
        }
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
        limit: Limit<'_>,
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
        let to = self.advance_in_log(&state.log, &from, until.unwrap_or(end).min(end), limit)?;
        Ok((to.place() > from.place()).then(|| (&to).into()))
    }

    fn known(&self, _now_us: i64) -> Result<Position, SourceError> {
        let state = self.state.lock();
        Ok((&FilePosition::at(state.log.next(), 0)).into())
    }

    fn latest(&self, now_us: i64) -> Result<Position, SourceError> {
        let mut state = self.state.lock();
        self.discover(&mut state, now_us)?;
        Ok((&FilePosition::at(state.log.next(), 0)).into())
    }

    fn present(&self, from: &Position, to: Position) -> Result<Position, SourceError> {
        let (from, mut to) = (FilePosition::from(from), FilePosition::from(&to));
        let state = self.state.lock();
        for file in from.file..to.file {
            let rest = match state.log.get(file) {
                Some(entry) => self.rest_of_file(entry, 0, None)?,
                // Pruned, because it had vanished.
                None => None,
            };
            if rest.is_none() && !to.is_gone(file) {
                to.add_gone(file);
            }
        }
        Ok((&to).into())
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
            pieces.push(Piece {
                file,
                start,
                end,
                grain: match &self.format {
                    Format::Blocks(_) => Grain::Blocks,
                    Format::Records(_) if self.compression(&entry.path) != Compression::None => Grain::Whole,
                    Format::Records(_) => Grain::Records,
                },
            });
        }
        Ok(slices::pack(&pieces, workers))
    }

    fn open(&self, slice: &Slice, projection: &[usize]) -> Result<Box<dyn SliceReader>, SourceError> {
        let parts: Vec<(u64, u64, u64)> =
            serde_json::from_value(slice.what.clone()).expect("a slice made by this source");
        let state = self.state.lock();
        let part = |(file, start, end): (u64, u64, u64)| {
            let entry = state.log.get(file).expect("slices are made of files in the log");
            self.part(entry, start, end)
        };
        let parts = parts.into_iter().map(part).collect();
        let shared = self.shared.clone();
        Ok(match &self.format {
            Format::Records(format) => {
                Box::new(RecordsReader::new(parts, format.clone(), shared, projection))
            }
            Format::Blocks(format) => Box::new(BlocksReader::new(parts, format.clone(), shared, projection)),
        })
    }

    fn forget(&self, position: &Position) {
        let position = FilePosition::from(position);
        let mut state = self.state.lock();
        self.clean(&mut state, position.file);
        if let Err(error) = self.prune(&mut state, position.file) {
            // It only keeps more than it has to.
            tracing::warn!(%error, "the list of files of a file source could not be pruned");
        }
    }

    fn poll_interval_ms(&self) -> u64 {
        (self.pace.read().poll_interval.as_millis() as u64).max(1)
    }

    fn repace(&self, options: &Options) -> Result<(), SourceError> {
        let (options, _) = read_options(options, &self.columns).map_err(|error| SourceError::Failed {
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        })?;
        *self.pace.write() = Pace::of(&options);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
