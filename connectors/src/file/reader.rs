//! Reads the records of a slice in chunks and hands them to the format.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::compute::concat_batches;
use millpond_engine::source::{BadRow, Place, SliceReader, SourceBatch, SourceError, WholeRows};

use super::part::Part;
use super::partition::{self, PathColumns, PathValues};
use super::prefixes::line_ends;
use super::reading::Reading;
use super::records::{BadRecord, CHUNK_BYTES, PartRecords, Progress};
use crate::format::{BadLine, Decoded, Decoder, RecordFormat, Wanted};

pub struct RecordsReader {
    parts: VecDeque<Part>,
    current: Option<PartRecords>,
    format: Arc<dyn RecordFormat>,
    shared: Arc<Reading>,
    projection: Vec<usize>,
    /// Decodes files of one shape; the chunk holds records of such files only.
    decoder: Option<ShapeDecoder>,
    chunk: Vec<u8>,
    origins: Vec<Origin>,
    ready: VecDeque<Ready>,
    /// Where in the chunk each row of the last batch stands.
    lines: Vec<Range<usize>>,
    /// Decodes all columns of files of one shape.
    whole: Option<ShapeDecoder>,
}

/// A batch that is decoded, with the place of each row in the chunk, which stays until all of it are taken.
struct Ready {
    batch: SourceBatch,
    lines: Vec<Range<usize>>,
}

/// What files have in common that one decoder can read.
#[derive(Clone, PartialEq, Eq)]
struct Shape {
    header: Option<Arc<[u8]>>,
    values: PathValues,
}

struct ShapeDecoder {
    shape: Shape,
    decoder: Box<dyn Decoder>,
    path_columns: PathColumns,
}

/// From byte `at` on, the chunk holds the file's bytes from `offset` on.
struct Origin {
    at: usize,
    path: Arc<str>,
    offset: u64,
    /// Where it cannot be found from the offset.
    line: Option<u64>,
}

impl RecordsReader {
    pub fn new(
        parts: Vec<Part>,
        format: Arc<dyn RecordFormat>,
        shared: Arc<Reading>,
        projection: &[usize],
    ) -> Self {
        RecordsReader {
            parts: parts.into(),
            current: None,
            format,
            shared,
            projection: projection.to_vec(),
            decoder: None,
            chunk: Vec::new(),
            origins: Vec::new(),
            ready: VecDeque::new(),
            lines: Vec::new(),
            whole: None,
        }
    }

    /// Fills the chunk with whole records; it stays empty when all parts are read. Returns what could not be read after
    /// them.
    fn fill(&mut self) -> Result<Option<BadRecord>, SourceError> {
        self.chunk.clear();
        self.origins.clear();
        while self.chunk.len() < CHUNK_BYTES {
            if self.current.is_none() && !self.open_next()? {
                break;
            }
            let Some(records) = &mut self.current else { break };
            if self.chunk.last().is_some_and(|byte| *byte != b'\n') {
                // The last record of the file before had no end.
                self.chunk.push(b'\n');
            }
            let at = self.chunk.len();
            let progress = records.read(&mut self.chunk)?;
            if self.chunk.len() > at {
                self.origins.push(Origin {
                    at,
                    path: records.part.path.clone(),
                    offset: records.first_offset,
                    line: records.first_line,
                });
            }
            match progress {
                Progress::More => {}
                Progress::Done => self.current = None,
                Progress::Bad(bad) => {
                    if bad.is_rest {
                        self.current = None;
                    }
                    return Ok(Some(bad));
                }
            }
        }
        Ok(None)
    }

    /// Opens the next part that has anything to read. False when there is none, or when the chunk must be decoded before.
    fn open_next(&mut self) -> Result<bool, SourceError> {
        while let Some(part) = self.parts.front() {
            let shape = match self.shape(part)? {
                Ok(Some(shape)) => shape,
                Ok(None) => {
                    self.parts.pop_front();
                    continue;
                }
                Err(error) => {
                    self.pass_over(error)?;
                    continue;
                }
            };
            if self.decoder.as_ref().is_none_or(|decoder| decoder.shape != shape) {
                if !self.chunk.is_empty() {
                    return Ok(false);
                }
                match self.decoder_of(shape, &self.projection) {
                    Ok(decoder) => self.decoder = Some(decoder),
                    Err(error) => {
                        self.pass_over(error)?;
                        continue;
                    }
                }
            }
            if let Some(part) = self.parts.pop_front() {
                let (quoting, has_header) = (self.format.quoting(), self.format.has_header());
                self.current = Some(PartRecords::open(part, quoting, has_header, &self.shared)?);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// How the file is to be read; `None` if it has no content.
    fn shape(&self, part: &Part) -> Result<Result<Option<Shape>, String>, SourceError> {
        let header = if self.format.has_header() {
            match self.shared.header(part, self.format.quoting())? {
                Ok(Some(header)) => Some(header),
                Ok(None) => return Ok(Ok(None)),
                Err(error) => return Ok(Err(error)),
            }
        } else {
            None
        };
        let values = partition::values(&part.path, &self.shared.columns);
        Ok(Ok(Some(Shape { header, values })))
    }

    fn decoder_of(&self, shape: Shape, projection: &[usize]) -> Result<ShapeDecoder, String> {
        let path_columns = PathColumns::new(
            &self.shared.columns,
            projection,
            &shape.values,
            self.shared.on_bad_row,
        )?;
        let decoder = self.format.decoder(&Wanted {
            projection: &path_columns.content,
            from_path: &path_columns.from_path,
            header: shape.header.as_deref(),
        })?;
        Ok(ShapeDecoder {
            shape,
            decoder,
            path_columns,
        })
    }

    /// Leaves out the next part, whose file is not what it should be; the part that begins the file says so.
    fn pass_over(&mut self, error: String) -> Result<(), SourceError> {
        if let Some(part) = self.parts.pop_front()
            && part.start == 0
        {
            let position = part.path.to_string();
            let batch = self
                .shared
                .bad_file(&self.projection, position, Vec::new(), error)?;
            self.ready.push_back(Ready::without_rows(batch));
        }
        Ok(())
    }

    fn decode(&mut self) -> Result<(), SourceError> {
        let Some(ShapeDecoder {
            decoder,
            path_columns,
            ..
        }) = &mut self.decoder
        else {
            return Ok(());
        };
        let mut decoded = Vec::new();
        for Decoded {
            rows,
            lines,
            bytes,
            bad_lines,
        } in decoder.decode(&self.chunk)
        {
            decoded.push((path_columns.add(rows), lines, bytes, bad_lines));
        }
        for (rows, lines, bytes, bad_lines) in decoded {
            let bad_rows = self.bad_rows(&bad_lines)?;
            let batch = SourceBatch {
                rows,
                bytes,
                bad_rows,
            };
            let batch = self.shared.checked(batch)?;
            self.ready.push_back(Ready { batch, lines });
        }
        Ok(())
    }

    fn bad_rows(&self, lines: &[BadLine]) -> Result<Vec<BadRow>, SourceError> {
        // Where the last bad row stood: its origin, its place in the chunk and its line number.
        let mut last: Option<(usize, usize, u64)> = None;
        let mut bad_rows = Vec::with_capacity(lines.len());
        for line in lines {
            let index = self.origins.partition_point(|origin| origin.at <= line.start) - 1;
            let origin = &self.origins[index];
            let (from, number) = match (last, origin.line) {
                (Some((same, from, number)), _) if same == index => (from, number),
                (_, Some(number)) => (origin.at, number),
                (_, None) => (origin.at, self.shared.line_at(&origin.path, origin.offset)?),
            };
            let number = number + line_ends(&self.chunk[from..line.start]);
            last = Some((index, line.start, number));
            bad_rows.push(BadRow {
                position: format!("{}:{number}", origin.path),
                bytes: self.chunk[line.start..line.end].trim_ascii_end().to_vec(),
                error: line.error.clone(),
            });
        }
        Ok(bad_rows)
    }

    fn unreadable(&mut self, bad: BadRecord) -> Result<(), SourceError> {
        let number = match bad.line {
            Some(number) => number,
            None => self.shared.line_at(&bad.path, bad.offset)?,
        };
        let position = format!("{}:{number}", bad.path);
        let batch = self
            .shared
            .bad_file(&self.projection, position, bad.beginning, bad.error)?;
        self.ready.push_back(Ready::without_rows(batch));
        Ok(())
    }
}

impl SliceReader for RecordsReader {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        while self.ready.is_empty() {
            let unreadable = self.fill()?;
            let ended = self.chunk.is_empty()
                && unreadable.is_none()
                && self.current.is_none()
                && self.parts.is_empty();
            if !self.chunk.is_empty() {
                self.decode()?;
            }
            if let Some(bad) = unreadable {
                self.unreadable(bad)?;
            }
            if ended && self.ready.is_empty() {
                return Ok(None);
            }
        }
        let ready = self.ready.pop_front();
        Ok(ready.map(|ready| {
            self.lines = ready.lines;
            ready.batch
        }))
    }

    fn places(&mut self, rows: &[usize]) -> Result<Option<Vec<Place>>, SourceError> {
        let place = |row: &usize| {
            let start = self.lines[*row].start;
            let origin = &self.origins[self.origins.partition_point(|origin| origin.at <= start) - 1];
            let offset = origin.offset + (start - origin.at) as u64;
            Place {
                partition: Some(Arc::clone(&origin.path)),
                offset: i64::try_from(offset).unwrap_or(i64::MAX),
            }
        };
        Ok(Some(rows.iter().map(place).collect()))
    }

    fn whole(&mut self, rows: &[usize]) -> Result<Option<WholeRows>, SourceError> {
        let Some(ShapeDecoder { shape, .. }) = &self.decoder else {
            return Ok(None);
        };
        if self.whole.as_ref().is_none_or(|whole| whole.shape != *shape) {
            let all: Vec<usize> = (0..self.shared.columns.len()).collect();
            let shape = shape.clone();
            // What is wrong with the file as a whole is told by those who read all of it.
            self.whole = self.decoder_of(shape, &all).ok();
        }
        let Some(whole) = &mut self.whole else {
            return Ok(None);
        };
        let (mut records, mut starts) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            starts.push(records.len());
            records.extend_from_slice(&self.chunk[self.lines[*row].clone()]);
            records.push(b'\n');
        }
        let decoded = whole.decoder.decode(&records);
        let lines = decoded.iter().flat_map(|decoded| &decoded.lines);
        let of = lines.map(|line| starts.partition_point(|start| *start <= line.start) - 1);
        let of = of.collect();
        let batches: Vec<_> = { decoded.into_iter() }
            .map(|decoded| whole.path_columns.add(decoded.rows))
            .collect();
        let Some(first) = batches.first() else {
            return Ok(None);
        };
        let rows = concat_batches(&first.schema(), &batches).expect("batches of one decoder");
        Ok(Some(WholeRows { rows, of }))
    }
}

impl Ready {
    fn without_rows(batch: SourceBatch) -> Self {
        let lines = Vec::new();
        Self { batch, lines }
    }
}
