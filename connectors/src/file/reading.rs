//! What all readers of one source share: how rows are read, and what is known about files.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow::array::RecordBatch;
use millpond_catalog::Column;
use millpond_engine::source::{BadRow, SourceBatch, SourceError};
use parking_lot::Mutex;

use super::part::{Part, vanished};
use super::prefixes::{Prefixes, line_ends};
use super::records::BYTE_ORDER_MARK;
use crate::format::OnBadRow;
use crate::format::csv::{QuoteState, Quoting};
use crate::format::rows::projected_schema;
use crate::literal::shortened;

pub struct Reading {
    pub columns: Vec<Column>,
    pub on_bad_row: OnBadRow,
    line_ends: Prefixes<u64>,
    quotes: Prefixes<QuoteState>,
    headers: Mutex<HashMap<String, Header>>,
}

/// The first record of a file without its line end; `None` for a file without content. Or what is wrong with the file.
pub type Header = Result<Option<Arc<[u8]>>, String>;

const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 1 << 20;

impl Reading {
    pub fn new(columns: Vec<Column>, on_bad_row: OnBadRow) -> Self {
        Reading {
            columns,
            on_bad_row,
            line_ends: Prefixes::default(),
            quotes: Prefixes::default(),
            headers: Mutex::default(),
        }
    }

    /// The number, from 1, of the line that starts at `offset`.
    pub fn line_at(&self, path: &str, offset: u64) -> Result<u64, SourceError> {
        let add = |sum: &mut u64, bytes: &[u8]| *sum += line_ends(bytes);
        let before = self.line_ends.before(path, offset, add);
        Ok(before.map_err(|error| vanished(path, &error))? + 1)
    }

    /// What the byte at `offset` is inside of.
    pub fn quotes_at(&self, quoting: Quoting, path: &str, offset: u64) -> Result<QuoteState, SourceError> {
        let add = |state: &mut QuoteState, bytes: &[u8]| quoting.skip(state, bytes);
        self.quotes
            .before(path, offset, add)
            .map_err(|error| vanished(path, &error))
    }

    /// The header of the file that `part` is of.
    pub fn header(&self, part: &Part, quoting: Option<Quoting>) -> Result<Header, SourceError> {
        if let Some(header) = self.headers.lock().get(&*part.path) {
            return Ok(header.clone());
        }
        let header = read_header(part, quoting)?;
        let mut headers = self.headers.lock();
        if headers.len() >= HEADERS_MAX {
            headers.clear();
        }
        headers.insert(part.path.to_string(), header.clone());
        Ok(header)
    }

    /// A batch that only says that a file, or the rest of it, cannot be read.
    pub fn bad_file(
        &self,
        projection: &[usize],
        position: String,
        bytes: Vec<u8>,
        error: String,
    ) -> Result<SourceBatch, SourceError> {
        self.checked(SourceBatch {
            rows: RecordBatch::new_empty(projected_schema(&self.columns, projection)),
            bytes: bytes.len() as u64,
            // There is no row that `Null` could keep.
            bad_rows: match self.on_bad_row {
                OnBadRow::Drop => Vec::new(),
                _ => vec![BadRow {
                    position,
                    bytes,
                    error,
                }],
            },
        })
    }

    /// Stops at a bad row where the user wants that.
    pub fn checked(&self, batch: SourceBatch) -> Result<SourceBatch, SourceError> {
        match batch.bad_rows.first() {
            Some(bad) if self.on_bad_row == OnBadRow::Fail => {
                let text = shortened(&String::from_utf8_lossy(&bad.bytes));
                let shown = if text.is_empty() {
                    text
                } else {
                    format!(": {text}")
                };
                Err(SourceError::Failed {
                    message: format!("bad row at {}: {}{shown}", bad.position, bad.error),
                    hint: Some(
                        "Mend the row, or create the source with on_bad_row = 'quarantine'.".to_owned(),
                    ),
                })
            }
            _ => Ok(batch),
        }
    }
}

fn read_header(part: &Part, quoting: Option<Quoting>) -> Result<Header, SourceError> {
    let failed = |error: std::io::Error| match error.raw_os_error() {
        Some(_) => Err(vanished(&part.path, &error)),
        // The content is not what the name says.
        None => Ok(Err(format!("the file cannot be unpacked: {error}"))),
    };
    let mut content = match part.compression.unpack(part.open()?) {
        Ok(content) => content,
        Err(error) => return failed(error),
    };
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 8192];
    let end = loop {
        match content.read(&mut buffer) {
            Ok(0) => break bytes.len(),
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return failed(error),
        }
        if let Some(end) = first_record_end(quoting, &bytes) {
            break end;
        }
        if bytes.len() > HEADER_BYTES_MAX {
            return Ok(Err("the first line is too long for a header".to_owned()));
        }
    };
    if bytes.is_empty() {
        return Ok(Ok(None));
    }
    let header = &bytes[..end];
    let header = header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header);
    let header = header.strip_suffix(b"\n").unwrap_or(header);
    Ok(Ok(Some(header.strip_suffix(b"\r").unwrap_or(header).into())))
}

/// The place behind the first record of `bytes`.
pub fn first_record_end(quoting: Option<Quoting>, bytes: &[u8]) -> Option<usize> {
    match quoting {
        Some(quoting) => quoting.first_end(&mut QuoteState::default(), bytes),
        None => memchr::memchr(b'\n', bytes).map(|at| at + 1),
    }
}
