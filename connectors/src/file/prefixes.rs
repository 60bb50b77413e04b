//! Sums over the bytes of a file up to a place: how many line ends there are before it, whether it is between quotes.
//!
//! They are only asked for where a file is cut or a row is bad, and are made from the nearest place whose sum is known.
//! Files are read roughly in order, so all asking together reads a file about once.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use parking_lot::Mutex;

/// Known sums, by path and offset.
pub struct Prefixes<T>(Mutex<HashMap<String, BTreeMap<u64, T>>>);

/// Places remembered per file, and files.
const PLACES_MAX: usize = 256;
const FILES_MAX: usize = 16;
const BUFFER_BYTES: usize = 256 * 1024;

impl<T> Default for Prefixes<T> {
    fn default() -> Self {
        Prefixes(Mutex::default())
    }
}

impl<T: Copy + Default> Prefixes<T> {
    /// The sum over the bytes before `offset`. `add` adds bytes to a sum.
    pub fn before(&self, path: &str, offset: u64, add: impl Fn(&mut T, &[u8])) -> io::Result<T> {
        let known = self
            .0
            .lock()
            .get(path)
            .and_then(|places| places.range(..=offset).next_back().map(|(at, sum)| (*at, *sum)));
        let (from, mut sum) = known.unwrap_or_default();
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut rest = file.take(offset - from);
        let mut buffer = vec![0; BUFFER_BYTES.min((offset - from) as usize)];
        loop {
            let length = rest.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            add(&mut sum, &buffer[..length]);
        }
        let mut files = self.0.lock();
        if files.len() >= FILES_MAX && !files.contains_key(path) {
            files.clear();
        }
        let places = files.entry(path.to_owned()).or_default();
        if places.len() >= PLACES_MAX {
            // Readers move forward.
            places.pop_first();
        }
        places.insert(offset, sum);
        Ok(sum)
    }
}

/// The line ends in `bytes`.
pub fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
