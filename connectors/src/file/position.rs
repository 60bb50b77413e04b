//! How far a reader has come in the list of files.

use millpond_engine::source::Position;
use serde::{Deserialize, Serialize};

/// Every line that starts before byte `offset` of file number `file` was read, and all of the files before it. A whole
/// file read is the beginning of the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    pub file: u64,
    pub offset: u64,
    /// In the range that ends here: runs of files, first and last, that had vanished before anyone began to read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<(u64, u64)>,
}

impl FilePosition {
    pub fn at(file: u64, offset: u64) -> Self {
        FilePosition {
            file,
            offset,
            gone: Vec::new(),
        }
    }

    /// What positions are compared by.
    pub fn place(&self) -> (u64, u64) {
        (self.file, self.offset)
    }

    pub fn is_gone(&self, file: u64) -> bool {
        self.gone
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&file))
    }

    pub fn add_gone(&mut self, file: u64) {
        match self.gone.last_mut() {
            Some((_, last)) if *last + 1 == file => *last = file,
            _ => self.gone.push((file, file)),
        }
    }
}

impl From<&FilePosition> for Position {
    fn from(position: &FilePosition) -> Self {
        Position(serde_json::to_value(position).expect("numbers become JSON"))
    }
}

impl From<&Position> for FilePosition {
    fn from(position: &Position) -> Self {
        FilePosition::deserialize(&position.0).expect("a position made by this source")
    }
}
