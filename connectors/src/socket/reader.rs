//! Blocks of lines, as they are kept and as they are read.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray};
use arrow::datatypes::SchemaRef;
use millpond_catalog::Column;
use millpond_engine::source::{BadRow, Place, SliceReader, SourceBatch, SourceError};

use crate::error::{Error, Result};
use crate::format::rows::projected_schema;
use crate::format::{Decoded, Decoder, OnBadRow, RecordFormat, Wanted};

/// Lines that arrived together, each with its end.
pub struct Block {
    /// Number of the first line, from 0.
    pub first: u64,
    arrived_us: i64,
    text: Vec<u8>,
}

impl Block {
    pub fn new(first: u64, arrived_us: i64, text: Vec<u8>) -> Self {
        Block {
            first,
            arrived_us,
            text,
        }
    }

    /// The time, then the lines.
    pub fn encode(&self) -> Vec<u8> {
        [&self.arrived_us.to_le_bytes()[..], &self.text].concat()
    }

    pub fn decode(first: u64, bytes: &[u8]) -> Option<Block> {
        let (time, text) = bytes.split_first_chunk::<8>()?;
        Some(Block {
            first,
            arrived_us: i64::from_le_bytes(*time),
            text: text.to_vec(),
        })
    }

    /// Number of lines, and bytes.
    pub fn size(&self) -> (u64, u64) {
        let lines = memchr::memchr_iter(b'\n', &self.text).count();
        (lines as u64, self.text.len() as u64)
    }

    /// The number of the line behind the last one.
    pub fn end(&self) -> u64 {
        self.first + self.size().0
    }

    /// Only the lines of these numbers.
    pub fn lines(mut self, wanted: Range<u64>) -> Block {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', &self.text).map(|at| at + 1));
        let place = |line: u64| {
            starts
                .get((line - self.first) as usize)
                .copied()
                .unwrap_or(self.text.len())
        };
        self.text = self.text[place(wanted.start)..place(wanted.end)].to_vec();
        self.first = wanted.start;
        self
    }
}

/// The columns fit the format.
pub fn check(format: &dyn RecordFormat, columns: &[Column], timestamp: Option<usize>) -> Result<()> {
    let from_path: Vec<usize> = timestamp.into_iter().collect();
    let wanted = Wanted {
        projection: &[],
        from_path: &from_path,
        header: None,
    };
    format
        .decoder(&wanted)
        .map(|_| ())
        .map_err(|message| Error::Columns {
            message,
            hint: (!columns.is_empty())
                .then(|| "Leave out the column list to get the columns of the socket.".to_owned()),
        })
}

pub struct LinesReader {
    block: Option<Block>,
    address: String,
    decoder: Box<dyn Decoder>,
    on_bad_row: OnBadRow,
    schema: SchemaRef,
    /// Where in the projection the arrival time is.
    timestamp: Option<usize>,
    /// The numbers of the lines of the last batch.
    last: Vec<u64>,
}

impl LinesReader {
    pub fn new(
        block: Block,
        address: &str,
        format: &dyn RecordFormat,
        columns: &[Column],
        timestamp: Option<usize>,
        projection: &[usize],
    ) -> Result<Self, SourceError> {
        let content = projection
            .iter()
            .copied()
            .filter(|column| Some(*column) != timestamp);
        let content: Vec<usize> = content.collect();
        let from_path: Vec<usize> = timestamp.into_iter().collect();
        let wanted = Wanted {
            projection: &content,
            from_path: &from_path,
            header: None,
        };
        let decoder = format
            .decoder(&wanted)
            .map_err(|message| SourceError::Failed { message, hint: None })?;
        Ok(LinesReader {
            block: Some(block),
            address: address.to_owned(),
            decoder,
            on_bad_row: format.on_bad_row(),
            schema: projected_schema(columns, projection),
            timestamp: projection.iter().position(|column| Some(*column) == timestamp),
            last: Vec::new(),
        })
    }

    fn with_timestamp(&self, rows: RecordBatch, arrived_us: i64) -> RecordBatch {
        let Some(place) = self.timestamp else {
            return rows;
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let times = TimestampMicrosecondArray::from_value(arrived_us, rows.num_rows())
            .with_data_type(self.schema.field(place).data_type().clone());
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.insert(place, Arc::new(times));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .expect("the time put in its place")
    }

    fn bad_rows(&self, block: &Block, decoded: &[Decoded]) -> Result<Vec<BadRow>, SourceError> {
        let lines = decoded.iter().flat_map(|decoded| &decoded.bad_lines);
        let bad: Vec<BadRow> = lines
            .map(|line| {
                let before = memchr::memchr_iter(b'\n', &block.text[..line.start]).count() as u64;
                BadRow {
                    position: format!("{}, line {}", self.address, block.first + before + 1),
                    bytes: block.text[line.start..line.end].trim_ascii_end().to_vec(),
                    error: line.error.clone(),
                }
            })
            .collect();
        match bad.first() {
            Some(first) if self.on_bad_row == OnBadRow::Fail => Err(SourceError::Failed {
                message: format!("bad row at {}: {}", first.position, first.error),
                hint: Some("Create the source with on_bad_row = 'quarantine'.".to_owned()),
            }),
            _ => Ok(bad),
        }
    }
}

impl SliceReader for LinesReader {
    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let Some(block) = self.block.take() else {
            return Ok(None);
        };
        let decoded = self.decoder.decode(&block.text);
        let bad_rows = self.bad_rows(&block, &decoded)?;
        self.last = line_numbers(&block, &decoded);
        let batches: Vec<RecordBatch> = decoded.into_iter().map(|decoded| decoded.rows).collect();
        let Some(first) = batches.first() else {
            return Ok(None);
        };
        let rows = arrow::compute::concat_batches(&first.schema(), &batches).expect("batches of one decoder");
        Ok(Some(SourceBatch {
            rows: self.with_timestamp(rows, block.arrived_us),
            bytes: block.text.len() as u64,
            bad_rows,
        }))
    }

    fn places(&mut self, rows: &[usize]) -> Result<Option<Vec<Place>>, SourceError> {
        let place = |row: &usize| Place {
            partition: None,
            offset: i64::try_from(self.last[*row]).unwrap_or(i64::MAX),
        };
        Ok(Some(rows.iter().map(place).collect()))
    }
}

fn line_numbers(block: &Block, decoded: &[Decoded]) -> Vec<u64> {
    let (mut at, mut number) = (0, block.first);
    let lines = decoded.iter().flat_map(|decoded| &decoded.lines);
    let number_of = |line: &Range<usize>| {
        number += memchr::memchr_iter(b'\n', &block.text[at..line.start]).count() as u64;
        at = line.start;
        number
    };
    lines.map(number_of).collect()
}
