//! Which files a path stands for, and what is there now.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use glob::{MatchOptions, Pattern};
use millpond_engine::source::SourceError;

use super::log::FileEntry;
use super::options::FileOptions;
use super::partition::key_and_value;
use crate::error::{Error, Result};

/// What `path` names.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Absolute.
    path: PathBuf,
    is_pattern: bool,
    recursive: bool,
    /// Files are packed as their names say.
    checks_compression: bool,
    name_filter: Option<Pattern>,
}

const MATCH: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

impl Listing {
    pub fn new(options: &FileOptions) -> Result<Self> {
        let text = options.path.strip_prefix("file://").unwrap_or(&options.path);
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(Error::NotSupported {
                what: format!("path with scheme \"{scheme}\""),
                hint: Some("Give a path of the server's file system.".to_owned()),
            });
        }
        let path = std::path::absolute(text).map_err(|error| invalid("path", error))?;
        let is_pattern = text.contains(['*', '?', '[']) && !path.exists();
        if is_pattern {
            Pattern::new(&path.to_string_lossy()).map_err(|error| invalid("path", error))?;
        }
        let name_filter = options.path_glob_filter.as_deref().map(Pattern::new).transpose();
        let name_filter = name_filter.map_err(|error| invalid("path_glob_filter", error))?;
        Ok(Listing {
            path,
            is_pattern,
            recursive: options.recursive_file_lookup,
            checks_compression: options.compression.0.is_none(),
            name_filter,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder or file that has to be there: of a pattern, the part before the first wildcard.
    pub fn base(&self) -> PathBuf {
        if !self.is_pattern {
            return self.path.clone();
        }
        let fixed =
            |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        self.path.components().take_while(fixed).collect()
    }

    pub fn is_there(&self) -> bool {
        !fs::metadata(self.base()).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Files there now whose path `known` does not have. Known files cost no more than their name.
    pub fn new_files(&self, known: impl Fn(&str) -> bool) -> Result<Vec<FileEntry>, SourceError> {
        let base = self.base();
        if let Err(error) = fs::metadata(&base) {
            return Err(unavailable(&base, &error));
        }
        let mut found = Vec::new();
        if self.is_pattern {
            let pattern = self.path.to_string_lossy();
            let paths = glob::glob_with(&pattern, MATCH).map_err(|error| SourceError::Failed {
                message: format!("\"{pattern}\": {error}"),
                hint: None,
            })?;
            for path in paths {
                let path = path.map_err(|error| unavailable(error.path(), error.error()))?;
                let below = path.strip_prefix(&base).unwrap_or(&path);
                if below.iter().any(|part| is_hidden(&part.to_string_lossy())) {
                    continue;
                }
                if path.is_dir() {
                    self.list_folder(&path, &known, &mut found)?;
                } else {
                    self.consider(path, &known, &mut found)?;
                }
            }
        } else if self.path.is_dir() {
            self.list_folder(&self.path, &known, &mut found)?;
        } else {
            self.add(self.path.clone(), &known, &mut found)?;
        }
        Ok(found)
    }

    fn list_folder(
        &self,
        folder: &Path,
        known: &impl Fn(&str) -> bool,
        found: &mut Vec<FileEntry>,
    ) -> Result<(), SourceError> {
        let entries = fs::read_dir(folder).map_err(|error| unavailable(folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unavailable(folder, &error))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if (self.recursive || key_and_value(&name).is_some())
                && entry.path().is_dir()
                && !is_hidden(&name)
            {
                self.list_folder(&entry.path(), known, found)?;
                continue;
            }
            self.consider(entry.path(), known, found)?;
        }
        Ok(())
    }

    /// Adds a file unless its name says that it is not meant.
    fn consider(
        &self,
        path: PathBuf,
        known: &impl Fn(&str) -> bool,
        found: &mut Vec<FileEntry>,
    ) -> Result<(), SourceError> {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else {
            return Ok(());
        };
        let wanted = self
            .name_filter
            .as_ref()
            .is_none_or(|filter| filter.matches(&name));
        if !wanted || is_hidden(&name) || is_unfinished(&name) {
            return Ok(());
        }
        self.add(path, known, found)
    }

    fn add(
        &self,
        path: PathBuf,
        known: &impl Fn(&str) -> bool,
        found: &mut Vec<FileEntry>,
    ) -> Result<(), SourceError> {
        let Some(text) = path.to_str() else {
            tracing::warn!(path = %path.display(), "a file is passed over because its name is not UTF-8");
            return Ok(());
        };
        if known(text) {
            return Ok(());
        }
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            // Gone again since it was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unavailable(&path, &error)),
        };
        // A file without content is one that somebody is about to write, or has no rows anyway.
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(());
        }
        if self.checks_compression {
            refuse_unknown_compression(text)?;
        }
        let mtime_us = modified_us(&metadata).map_err(|error| unavailable(&path, &error))?;
        found.push(FileEntry {
            path: text.into(),
            size: metadata.len(),
            mtime_us,
        });
        Ok(())
    }
}

/// When the file was modified, in microseconds since 1970.
pub fn modified_us(metadata: &fs::Metadata) -> std::io::Result<i64> {
    Ok(match metadata.modified()?.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    })
}

/// Names that are by convention not data. `_x=1` is a partition folder's.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || (name.starts_with('_') && !name.contains('='))
}

fn is_unfinished(name: &str) -> bool {
    const ENDINGS: &[&str] = &[
        ".tmp",
        ".part",
        ".partial",
        ".inprogress",
        ".crdownload",
        "._COPYING_",
        "~",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Better than thousands of bad rows.
fn refuse_unknown_compression(path: &str) -> Result<(), SourceError> {
    const ENDINGS: &[&str] = &[".bz2", ".xz", ".lz4", ".snappy", ".zip", ".br", ".deflate"];
    if ENDINGS.iter().any(|ending| path.ends_with(ending)) {
        return Err(SourceError::Unavailable(format!(
            "\"{path}\" is compressed in a way that is not supported: unpack it, pack it as .gz or .zst, or pass over it \
             with path_glob_filter"
        )));
    }
    Ok(())
}

/// The outside world refused; it may be better later.
pub fn unavailable(path: &Path, error: &std::io::Error) -> SourceError {
    match error.kind() {
        ErrorKind::NotFound => SourceError::Unavailable(format!("\"{}\" does not exist", path.display())),
        _ => SourceError::Unavailable(format!("cannot read \"{}\": {error}", path.display())),
    }
}

fn invalid(key: &str, error: impl std::fmt::Display) -> Error {
    Error::InvalidOption {
        key: key.to_owned(),
        message: error.to_string(),
        position: None,
    }
}
