//! Line numbers of bad rows.
//!
//! Nobody counts lines while reading well-formed files; when a bad row turns up, the lines before it are counted from the
//! nearest place whose number is known. Files are read roughly in order, so all counting together reads a file about once.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use parking_lot::Mutex;

/// Known numbers of line ends before an offset, by path.
#[derive(Default)]
pub struct LineNumbers(Mutex<HashMap<String, BTreeMap<u64, u64>>>);

/// Places remembered per file, and files.
const PLACES_MAX: usize = 256;
const FILES_MAX: usize = 16;

impl LineNumbers {
    /// The number, from 1, of the line that starts at `offset`.
    pub fn line_at(&self, path: &str, offset: u64) -> io::Result<u64> {
        let known = self
            .0
            .lock()
            .get(path)
            .and_then(|places| places.range(..=offset).next_back().map(|(o, n)| (*o, *n)));
        let (from, before) = known.unwrap_or((0, 0));
        let ends = before + count_line_ends(path, from, offset)?;
        let mut files = self.0.lock();
        if files.len() >= FILES_MAX && !files.contains_key(path) {
            files.clear();
        }
        let places = files.entry(path.to_owned()).or_default();
        if places.len() >= PLACES_MAX {
            // Readers move forward.
            places.pop_first();
        }
        places.insert(offset, ends);
        Ok(ends + 1)
    }
}

fn count_line_ends(path: &str, from: u64, to: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut rest = file.take(to - from);
    let mut buffer = vec![0; 256 * 1024];
    let mut count = 0;
    loop {
        let length = rest.read(&mut buffer)?;
        if length == 0 {
            return Ok(count);
        }
        count += buffer[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
    }
}
