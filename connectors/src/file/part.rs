//! A part of a file, and what can be wrong with the file.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use millpond_engine::source::SourceError;

use super::compression::Compression;

/// Bytes `start..end` of a file that had `size` bytes when it was found. A part owns the records that *start* in it, so
/// parts that adjoin hold every record once, wherever they are cut.
#[derive(Debug, Clone)]
pub struct Part {
    pub path: Arc<str>,
    pub start: u64,
    pub end: u64,
    pub size: u64,
    pub compression: Compression,
}

impl Part {
    /// The file, if it is still what was found.
    pub fn open(&self) -> Result<File, SourceError> {
        let failed = |error: io::Error| vanished(&self.path, &error);
        let file = File::open(&*self.path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() < self.size {
            return Err(cut(self));
        }
        Ok(file)
    }
}

pub fn vanished(path: &str, error: &io::Error) -> SourceError {
    match error.kind() {
        ErrorKind::NotFound => SourceError::Failed {
            message: format!("file \"{path}\" has vanished before it was read to its end"),
            hint: Some("Put it back under the same name and resume the query.".to_owned()),
        },
        _ => SourceError::Unavailable(format!("cannot read \"{path}\": {error}")),
    }
}

pub fn cut(part: &Part) -> SourceError {
    SourceError::Failed {
        message: format!(
            "file \"{}\" is shorter than the {} bytes it had when it was found",
            part.path, part.size
        ),
        hint: Some("A file under its final name must not change. Put the former content back.".to_owned()),
    }
}
