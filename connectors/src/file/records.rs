//! The records that start in one part of a file, in chunks of whole records.
//!
//! The reader of a part that does not begin with the file goes on behind the first record end at or after `start - 1`,
//! and past `end` until the record there is complete. Where line ends may stand between quotes, what the part begins
//! inside of is known from the bytes before it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use millpond_engine::source::SourceError;

use super::compression::Compression;
use super::part::{Part, cut, vanished};
use super::prefixes::line_ends;
use super::reading::{Reading, first_record_end};
use crate::format::csv::{QuoteState, Quoting};

/// Records are handed on in chunks of about this size, which stay in the cache while they are decoded.
pub const CHUNK_BYTES: usize = 512 * 1024;
/// A longer record is a bad row. Bounds the memory that one record can take.
pub const RECORD_BYTES_MAX: usize = 64 << 20;
/// Bytes of such a record that are kept.
const RECORD_BYTES_KEPT: usize = 4096;
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub struct PartRecords {
    pub part: Part,
    input: Input,
    ends: Ends,
    quoting: Option<Quoting>,
    has_header: bool,
    /// Offset of the next byte to read.
    at: u64,
    /// The input has no more bytes.
    ended: bool,
    /// Bytes read of a record whose end was not seen yet.
    unfinished: Vec<u8>,
    /// Offset of the first byte of `unfinished`, else of the next byte to read.
    record_start: u64,
    /// Offset of the first byte that the last `read` appended, and its line where that is known.
    pub first_offset: u64,
    pub first_line: Option<u64>,
    /// Line ends handed out so far, counted where they cannot be counted afterwards.
    lines_passed: u64,
    /// Bytes up to and with the next record end belong to somebody else.
    skipping: bool,
}

enum Input {
    File(File),
    Unpacked(Box<dyn Read + Send>),
}

/// How the ends of records are found.
enum Ends {
    Lines,
    /// `state` is that behind the first `scanned` bytes of the record that is read.
    Quoted {
        quoting: Quoting,
        state: QuoteState,
        scanned: usize,
    },
}

pub enum Progress {
    More,
    Done,
    /// The rest of the file, or a single record, cannot be read.
    Bad(BadRecord),
}

pub struct BadRecord {
    pub path: Arc<str>,
    pub offset: u64,
    /// Where it cannot be found from the offset.
    pub line: Option<u64>,
    pub beginning: Vec<u8>,
    pub error: String,
    pub is_rest: bool,
}

impl PartRecords {
    pub fn open(
        part: Part,
        quoting: Option<Quoting>,
        has_header: bool,
        shared: &Reading,
    ) -> Result<Self, SourceError> {
        let mut file = part.open()?;
        // A record starts at `start` if the byte before ends one.
        let at = part.start.saturating_sub(1);
        let ends = match quoting {
            Some(quoting) => Ends::Quoted {
                quoting,
                state: match at {
                    0 => QuoteState::default(),
                    _ => shared.quotes_at(quoting, &part.path, at)?,
                },
                scanned: 0,
            },
            None => Ends::Lines,
        };
        let failed = |error: io::Error| vanished(&part.path, &error);
        let input = match part.compression {
            Compression::None => {
                file.seek(SeekFrom::Start(at)).map_err(failed)?;
                Input::File(file)
            }
            packed => Input::Unpacked(packed.unpack(file).map_err(failed)?),
        };
        Ok(PartRecords {
            skipping: part.start > 0,
            at,
            record_start: at,
            first_offset: at,
            first_line: None,
            lines_passed: 0,
            ended: false,
            unfinished: Vec::new(),
            has_header,
            quoting,
            ends,
            input,
            part,
        })
    }

    /// Appends whole records to `chunk`, about [`CHUNK_BYTES`] at most unless one record is longer.
    pub fn read(&mut self, chunk: &mut Vec<u8>) -> Result<Progress, SourceError> {
        // What starts at or after `end` is not ours.
        if self.record_start >= self.part.end && !self.skipping {
            return Ok(Progress::Done);
        }
        let begin = chunk.len();
        chunk.append(&mut self.unfinished);
        loop {
            let before = chunk.len();
            if let Some(damage) = self.read_some(chunk, begin)? {
                return Ok(self.give_up_file(chunk, begin, damage));
            }
            let at_end = chunk.len() == before;
            if self.skipping && !self.skip_record(chunk, begin, before) {
                if at_end || self.at >= self.part.end {
                    // The record that runs through the whole part started before it.
                    chunk.truncate(begin);
                    return Ok(Progress::Done);
                }
                continue;
            }
            self.first_offset = self.record_start;
            if let Some(length) = self.complete_length(&chunk[begin..]) {
                self.unfinished.extend_from_slice(&chunk[begin + length..]);
                chunk.truncate(begin + length);
                self.record_start += length as u64;
                self.take_beginning(chunk, begin);
                self.count_lines(&chunk[begin..]);
                let done = self.record_start >= self.part.end || self.is_at_end();
                return Ok(if done { Progress::Done } else { Progress::More });
            }
            if at_end {
                return Ok(Progress::Done);
            }
            if chunk.len() - begin > RECORD_BYTES_MAX {
                return Ok(self.give_up(chunk, begin));
            }
        }
    }

    fn is_at_end(&self) -> bool {
        self.ended || (matches!(self.input, Input::File(_)) && self.at == self.part.size)
    }

    /// Appends bytes to the chunk; past the part's end only what it takes to complete a record, in small steps. Says what
    /// is wrong when the content cannot be unpacked.
    fn read_some(&mut self, chunk: &mut Vec<u8>, begin: usize) -> Result<Option<String>, SourceError> {
        const STEP_BYTES: usize = 16 * 1024;
        if self.is_at_end() {
            return Ok(None);
        }
        let before = chunk.len();
        // A record longer than all that is read in growing steps: each one is searched for an end once.
        let step = STEP_BYTES
            .max(before - begin)
            .min(RECORD_BYTES_MAX + 1 - (before - begin).min(RECORD_BYTES_MAX));
        let wanted = match self.part.end.saturating_sub(self.at) {
            0 => step as u64,
            rest => rest.min(CHUNK_BYTES.saturating_sub(before).max(step) as u64),
        };
        let there = match self.input {
            Input::File(_) => self.part.size - self.at,
            Input::Unpacked(_) => u64::MAX,
        };
        let wanted = wanted.min(there) as usize;
        chunk.resize(before + wanted, 0);
        let mut filled = before;
        while filled < chunk.len() {
            let read = match &mut self.input {
                Input::File(file) => file.read(&mut chunk[filled..]),
                Input::Unpacked(content) => content.read(&mut chunk[filled..]),
            };
            match (read, &self.input) {
                (Ok(0), Input::File(_)) => return Err(cut(&self.part)),
                (Ok(0), Input::Unpacked(_)) => {
                    self.ended = true;
                    break;
                }
                (Ok(read), _) => filled += read,
                (Err(error), _) if error.kind() == io::ErrorKind::Interrupted => {}
                (Err(error), Input::Unpacked(_)) if error.raw_os_error().is_none() => {
                    self.at += (filled - before) as u64;
                    chunk.truncate(filled);
                    return Ok(Some(format!("the file cannot be unpacked any further: {error}")));
                }
                (Err(error), _) => return Err(vanished(&self.part.path, &error)),
            }
        }
        chunk.truncate(filled);
        self.at += (filled - before) as u64;
        Ok(None)
    }

    /// Takes the bytes up to the first record end out of the chunk; false if there is none yet, and then all are taken.
    fn skip_record(&mut self, chunk: &mut Vec<u8>, begin: usize, before: usize) -> bool {
        let end = match &mut self.ends {
            Ends::Lines => memchr::memchr(b'\n', &chunk[before..]).map(|at| at + 1),
            Ends::Quoted {
                quoting,
                state,
                scanned,
            } => {
                *scanned = 0;
                quoting.first_end(state, &chunk[before..])
            }
        };
        let taken = end.map_or(chunk.len(), |end| before + end) - begin;
        self.record_start += taken as u64;
        self.count_lines(&chunk[begin..begin + taken]);
        chunk.drain(begin..begin + taken);
        self.skipping = end.is_none();
        end.is_some()
    }

    /// How many of the bytes, which begin at `record_start`, are whole records of ours; `None` if not even one is
    /// complete.
    fn complete_length(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.record_start >= self.part.end {
            return Some(0);
        }
        // The first record end past `last` ends what is ours.
        let last = usize::try_from(self.part.end - 1 - self.record_start).unwrap_or(usize::MAX);
        let at_end = self.is_at_end();
        match &mut self.ends {
            Ends::Lines => {
                let tail = bytes.get(last..);
                if let Some(position) = tail.and_then(|tail| memchr::memchr(b'\n', tail)) {
                    return Some(last + position + 1);
                }
                // The last record of a file needs no end.
                let own = &bytes[..bytes.len().min(last)];
                match at_end {
                    true => Some(bytes.len()),
                    false => memchr::memrchr(b'\n', own).map(|position| position + 1),
                }
            }
            Ends::Quoted {
                quoting,
                state,
                scanned,
            } => {
                let new = &bytes[*scanned..];
                let (before, past) = quoting.ends_around(state, new, last.saturating_sub(*scanned));
                if let Some(past) = past {
                    return Some(*scanned + past);
                }
                let complete = match at_end {
                    true => Some(bytes.len()),
                    false => before.map(|before| *scanned + before),
                };
                *scanned = bytes.len() - complete.unwrap_or(0);
                complete
            }
        }
    }

    /// Takes the byte order mark and the header out of the first chunk.
    fn take_beginning(&mut self, chunk: &mut Vec<u8>, begin: usize) {
        if self.first_offset != 0 {
            return;
        }
        let mut length = 0;
        if chunk[begin..].starts_with(BYTE_ORDER_MARK) {
            length = BYTE_ORDER_MARK.len();
        }
        if self.has_header {
            let rest = &chunk[begin + length..];
            length += first_record_end(self.quoting, rest).unwrap_or(rest.len());
        }
        self.count_lines(&chunk[begin..begin + length]);
        chunk.drain(begin..begin + length);
        self.first_offset = length as u64;
    }

    /// Notes the line of the first of `bytes`, which are passed now.
    fn count_lines(&mut self, bytes: &[u8]) {
        if let Input::Unpacked(_) = self.input {
            self.first_line = Some(self.lines_passed + 1);
            self.lines_passed += line_ends(bytes);
        }
    }

    /// Takes a record that is too long out of the chunk and passes over the rest of it.
    fn give_up(&mut self, chunk: &mut Vec<u8>, begin: usize) -> Progress {
        let error = format!("the row is longer than {} MB", RECORD_BYTES_MAX >> 20);
        let bad = self.bad_record(&chunk[begin..], error, false);
        self.record_start += (chunk.len() - begin) as u64;
        chunk.truncate(begin);
        self.skipping = true;
        Progress::Bad(bad)
    }

    /// Takes out what could still be read of a damaged file and is not complete.
    fn give_up_file(&mut self, chunk: &mut Vec<u8>, begin: usize, error: String) -> Progress {
        self.first_offset = self.record_start;
        let complete = match &self.ends {
            Ends::Lines => memchr::memrchr(b'\n', &chunk[begin..]).map_or(0, |at| at + 1),
            Ends::Quoted { quoting, .. } => {
                let mut state = QuoteState::default();
                let ends = quoting.ends_around(&mut state, &chunk[begin..], usize::MAX);
                ends.0.unwrap_or(0)
            }
        };
        let rest = chunk.split_off(begin + complete);
        self.record_start += complete as u64;
        self.take_beginning(chunk, begin);
        self.count_lines(&chunk[begin..]);
        let first_line = self.first_line;
        let mut bad = self.bad_record(&rest, error, true);
        bad.line = Some(self.lines_passed + 1);
        self.first_line = first_line;
        Progress::Bad(bad)
    }

    /// The record that `bytes` begin with, at `record_start`.
    fn bad_record(&mut self, bytes: &[u8], error: String, is_rest: bool) -> BadRecord {
        let line = self.lines_passed + 1;
        self.count_lines(if is_rest { &[] } else { bytes });
        BadRecord {
            path: self.part.path.clone(),
            offset: self.record_start,
            line: matches!(self.input, Input::Unpacked(_)).then_some(line),
            beginning: bytes[..bytes.len().min(RECORD_BYTES_KEPT)].to_vec(),
            error,
            is_rest,
        }
    }
}
