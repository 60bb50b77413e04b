//! Reads the lines of a slice in chunks and hands them to the format.
//!
//! A slice is a list of parts of files, and a part owns the lines that *start* in it: the reader begins after the first
//! line end at or after `start - 1` and goes on past `end` until the line there is complete. So parts that adjoin hold
//! every line once, wherever they are cut.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use millpond_engine::source::{BadRow, SliceReader, SourceBatch, SourceError};

use super::line_numbers::LineNumbers;
use crate::format::{BadLine, Decoded, Decoder, OnBadRow};
use crate::literal::shortened;

/// Lines are handed on in chunks of about this size, which stay in the cache while they are decoded.
const CHUNK_BYTES: usize = 512 * 1024;
/// A longer line is a bad row. Bounds the memory that one line can take.
pub const LINE_BYTES_MAX: usize = 64 << 20;
/// Bytes of such a line that are kept.
const LINE_BYTES_KEPT: usize = 4096;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes `start..end` of a file that had `size` bytes when it was found.
#[derive(Debug, Clone)]
pub struct Part {
    pub path: Arc<str>,
    pub start: u64,
    pub end: u64,
    pub size: u64,
}

pub struct PartsReader {
    parts: VecDeque<Part>,
    current: Option<PartLines>,
    decoder: Box<dyn Decoder>,
    on_bad_row: OnBadRow,
    line_numbers: Arc<LineNumbers>,
    chunk: Vec<u8>,
    origins: Vec<Origin>,
    ready: VecDeque<SourceBatch>,
}

/// From byte `at` on, the chunk holds the file's bytes from `offset` on.
struct Origin {
    at: usize,
    path: Arc<str>,
    offset: u64,
}

impl PartsReader {
    pub fn new(
        parts: Vec<Part>,
        decoder: Box<dyn Decoder>,
        on_bad_row: OnBadRow,
        line_numbers: Arc<LineNumbers>,
    ) -> Self {
        PartsReader {
            parts: parts.into(),
            current: None,
            decoder,
            on_bad_row,
            line_numbers,
            chunk: Vec::new(),
            origins: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// Fills the chunk with whole lines; it stays empty when all parts are read. Returns a line that was too long.
    fn fill(&mut self) -> Result<Option<TooLong>, SourceError> {
        self.chunk.clear();
        self.origins.clear();
        while self.chunk.len() < CHUNK_BYTES {
            let lines = match &mut self.current {
                Some(lines) => lines,
                None => {
                    let Some(part) = self.parts.pop_front() else { break };
                    self.current.insert(PartLines::open(part)?)
                }
            };
            if self.chunk.last().is_some_and(|byte| *byte != b'\n') {
                // The last line of the file before had no end.
                self.chunk.push(b'\n');
            }
            let at = self.chunk.len();
            let progress = lines.read(&mut self.chunk)?;
            self.origins.push(Origin {
                at,
                path: lines.part.path.clone(),
                offset: lines.first_offset,
            });
            match progress {
                Progress::More => {}
                Progress::Done => self.current = None,
                Progress::TooLong(line) => return Ok(Some(line)),
            }
        }
        Ok(None)
    }

    fn batch(&self, decoded: Decoded) -> Result<SourceBatch, SourceError> {
        let bad_rows = self.bad_rows(&decoded.bad_lines)?;
        self.checked(SourceBatch {
            rows: decoded.rows,
            bytes: decoded.bytes,
            bad_rows,
        })
    }

    fn bad_rows(&self, lines: &[BadLine]) -> Result<Vec<BadRow>, SourceError> {
        // Where the last bad row stood: its origin, its place in the chunk and its line number.
        let mut last: Option<(usize, usize, u64)> = None;
        let mut bad_rows = Vec::with_capacity(lines.len());
        for line in lines {
            let index = self.origins.partition_point(|origin| origin.at <= line.start) - 1;
            let origin = &self.origins[index];
            let (from, number) = match last {
                Some((same, from, number)) if same == index => (from, number),
                _ => (origin.at, self.line_number(&origin.path, origin.offset)?),
            };
            let passed = self.chunk[from..line.start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count() as u64;
            last = Some((index, line.start, number + passed));
            bad_rows.push(BadRow {
                position: format!("{}:{}", origin.path, number + passed),
                bytes: self.chunk[line.start..line.end].trim_ascii_end().to_vec(),
                error: line.error.clone(),
            });
        }
        Ok(bad_rows)
    }

    fn line_number(&self, path: &str, offset: u64) -> Result<u64, SourceError> {
        self.line_numbers
            .line_at(path, offset)
            .map_err(|error| vanished(path, &error))
    }

    /// Stops at a bad row where the user wants that.
    fn checked(&self, batch: SourceBatch) -> Result<SourceBatch, SourceError> {
        match batch.bad_rows.first() {
            Some(bad) if self.on_bad_row == OnBadRow::Fail => Err(SourceError::Failed {
                message: format!(
                    "bad row at {}: {}: {}",
                    bad.position,
                    bad.error,
                    shortened(&String::from_utf8_lossy(&bad.bytes))
                ),
                hint: Some("Mend the row, or create the source with on_bad_row = 'quarantine'.".to_owned()),
            }),
            _ => Ok(batch),
        }
    }

    fn too_long(&mut self, line: TooLong) -> Result<(), SourceError> {
        // Decoding nothing gives a batch of the right schema; `Null` keeps no row either, for it could be of any size.
        let Some(empty) = self.decoder.decode(b"\n").pop() else {
            return Ok(());
        };
        let error = format!("the line is longer than {} MB", LINE_BYTES_MAX >> 20);
        let bad_row = BadRow {
            position: format!("{}:{}", line.path, self.line_number(&line.path, line.offset)?),
            bytes: line.beginning,
            error,
        };
        let bad_rows = if self.on_bad_row == OnBadRow::Drop {
            Vec::new()
        } else {
            vec![bad_row]
        };
        let batch = self.checked(SourceBatch {
            rows: empty.rows,
            bytes: line.bytes,
            bad_rows,
        })?;
        self.ready.push_back(batch);
        Ok(())
    }
}

impl SliceReader for PartsReader {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        while self.ready.is_empty() {
            let too_long = self.fill()?;
            let ended = self.chunk.is_empty() && too_long.is_none();
            for decoded in self.decoder.decode(&self.chunk) {
                let batch = self.batch(decoded)?;
                self.ready.push_back(batch);
            }
            if let Some(line) = too_long {
                self.too_long(line)?;
            }
            if ended {
                return Ok(None);
            }
        }
        Ok(self.ready.pop_front())
    }
}

/// The lines that start in one part.
struct PartLines {
    part: Part,
    file: File,
    /// Offset of the next byte to read.
    at: u64,
    /// Bytes read of a line whose end was not seen yet.
    unfinished: Vec<u8>,
    /// Offset of the first byte of `unfinished`, else of the next byte to read.
    line_start: u64,
    /// Offset of the first byte that the last `read` appended.
    first_offset: u64,
    /// Bytes up to and with the next line end belong to somebody else.
    skipping: bool,
}

enum Progress {
    More,
    Done,
    TooLong(TooLong),
}

struct TooLong {
    path: Arc<str>,
    offset: u64,
    beginning: Vec<u8>,
    bytes: u64,
}

impl PartLines {
    fn open(part: Part) -> Result<Self, SourceError> {
        let failed = |error: io::Error| vanished(&part.path, &error);
        let mut file = File::open(&*part.path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() < part.size {
            return Err(cut(&part));
        }
        // A line starts at `start` if the byte before is a line end.
        let at = part.start.saturating_sub(1);
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        Ok(PartLines {
            at,
            line_start: at,
            first_offset: at,
            unfinished: Vec::new(),
            skipping: part.start > 0,
            file,
            part,
        })
    }

    /// Appends whole lines to `chunk`, about [`CHUNK_BYTES`] at most unless one line is longer.
    fn read(&mut self, chunk: &mut Vec<u8>) -> Result<Progress, SourceError> {
        // What starts at or after `end` is not ours.
        if self.line_start >= self.part.end && !self.skipping {
            return Ok(Progress::Done);
        }
        let begin = chunk.len();
        chunk.append(&mut self.unfinished);
        loop {
            let before = chunk.len();
            self.read_some(chunk, begin)?;
            let at_end = chunk.len() == before;
            if self.skipping && !self.skip_line(chunk, begin, before) {
                if at_end || self.at >= self.part.end {
                    // The line that runs through the whole part started before it.
                    chunk.truncate(begin);
                    return Ok(Progress::Done);
                }
                continue;
            }
            self.first_offset = self.line_start;
            if at_end {
                self.line_start = self.part.end;
                return Ok(Progress::Done);
            }
            if let Some(length) = self.complete_length(&chunk[begin..]) {
                self.unfinished.extend_from_slice(&chunk[begin + length..]);
                chunk.truncate(begin + length);
                self.line_start += length as u64;
                if self.first_offset == 0 && chunk[begin..].starts_with(BYTE_ORDER_MARK) {
                    chunk.drain(begin..begin + BYTE_ORDER_MARK.len());
                    self.first_offset = BYTE_ORDER_MARK.len() as u64;
                }
                return Ok(if self.line_start >= self.part.end {
                    Progress::Done
                } else {
                    Progress::More
                });
            }
            if chunk.len() - begin > LINE_BYTES_MAX {
                return Ok(self.give_up(chunk, begin));
            }
        }
    }

    /// Appends bytes to the chunk; past the part's end only what it takes to complete a line, in small steps.
    fn read_some(&mut self, chunk: &mut Vec<u8>, begin: usize) -> Result<(), SourceError> {
        const STEP_BYTES: usize = 16 * 1024;
        let before = chunk.len();
        // A line longer than all that is read in growing steps: each one is searched for a line end once.
        let step = STEP_BYTES
            .max(before - begin)
            .min(LINE_BYTES_MAX + 1 - (before - begin));
        let wanted = match self.part.end.saturating_sub(self.at) {
            0 => step as u64,
            rest => rest.min(CHUNK_BYTES.saturating_sub(before).max(step) as u64),
        };
        let wanted = wanted.min(self.part.size - self.at) as usize;
        chunk.resize(before + wanted, 0);
        let mut filled = before;
        while filled < chunk.len() {
            match self.file.read(&mut chunk[filled..]) {
                Ok(0) => return Err(cut(&self.part)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(vanished(&self.part.path, &error)),
            }
        }
        self.at += wanted as u64;
        Ok(())
    }

    /// Takes the bytes up to the first line end out of the chunk; false if there is none yet, and then all are taken.
    fn skip_line(&mut self, chunk: &mut Vec<u8>, begin: usize, before: usize) -> bool {
        match chunk[before..].iter().position(|byte| *byte == b'\n') {
            Some(position) => {
                let taken = before + position + 1 - begin;
                chunk.drain(begin..begin + taken);
                self.line_start += taken as u64;
                self.skipping = false;
                true
            }
            None => {
                self.line_start += (chunk.len() - begin) as u64;
                chunk.truncate(begin);
                false
            }
        }
    }

    /// How many of the bytes, which begin at `line_start`, are whole lines of ours; `None` if not even one is complete.
    fn complete_length(&self, bytes: &[u8]) -> Option<usize> {
        if self.line_start >= self.part.end {
            return Some(0);
        }
        // Lines up to the first line end at or after `end - 1` are ours.
        let last = usize::try_from(self.part.end - 1 - self.line_start).unwrap_or(usize::MAX);
        if let Some(tail) = bytes.get(last..)
            && let Some(position) = tail.iter().position(|byte| *byte == b'\n')
        {
            return Some(last + position + 1);
        }
        if self.at == self.part.size {
            // The last line of a file needs no end.
            return Some(bytes.len());
        }
        let own = &bytes[..bytes.len().min(last)];
        own.iter()
            .rposition(|byte| *byte == b'\n')
            .map(|position| position + 1)
    }

    /// Takes a line that is too long out of the chunk and passes over the rest of it.
    fn give_up(&mut self, chunk: &mut Vec<u8>, begin: usize) -> Progress {
        let line = TooLong {
            path: self.part.path.clone(),
            offset: self.line_start,
            beginning: chunk[begin..begin + LINE_BYTES_KEPT].to_vec(),
            bytes: (chunk.len() - begin) as u64,
        };
        self.line_start += (chunk.len() - begin) as u64;
        chunk.truncate(begin);
        self.skipping = true;
        Progress::TooLong(line)
    }
}

fn vanished(path: &str, error: &io::Error) -> SourceError {
    match error.kind() {
        io::ErrorKind::NotFound => SourceError::Failed {
            message: format!("file \"{path}\" has vanished before it was read to its end"),
            hint: Some("Put it back under the same name and resume the query.".to_owned()),
        },
        _ => SourceError::Unavailable(format!("cannot read \"{path}\": {error}")),
    }
}

fn cut(part: &Part) -> SourceError {
    SourceError::Failed {
        message: format!(
            "file \"{}\" is shorter than the {} bytes it had when it was found",
            part.path, part.size
        ),
        hint: Some("A file under its final name must not change. Put the former content back.".to_owned()),
    }
}
