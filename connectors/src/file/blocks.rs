//! Reads the blocks that begin in the parts of a slice.

use std::collections::VecDeque;
use std::sync::Arc;

use millpond_engine::source::{BadRow, Place, SliceReader, SourceBatch, SourceError};

use super::part::{Part, vanished};
use super::partition::{self, PathColumns};
use super::reading::Reading;
use crate::format::{Block, BlockError, BlockFormat, BlockReader, Wanted};

pub struct BlocksReader {
    parts: VecDeque<Part>,
    current: Option<PartBlocks>,
    format: Arc<dyn BlockFormat>,
    shared: Arc<Reading>,
    projection: Vec<usize>,
    /// The file of the last batch, and per row of it how many rows are before it in the file.
    last: Option<(Arc<str>, Vec<i64>)>,
}

struct PartBlocks {
    part: Part,
    reader: Box<dyn BlockReader>,
    path_columns: PathColumns,
}

impl BlocksReader {
    pub fn new(
        parts: Vec<Part>,
        format: Arc<dyn BlockFormat>,
        shared: Arc<Reading>,
        projection: &[usize],
    ) -> Self {
        BlocksReader {
            parts: parts.into(),
            current: None,
            format,
            shared,
            projection: projection.to_vec(),
            last: None,
        }
    }

    fn open(&self, part: Part) -> Result<PartBlocks, (Part, BlockError)> {
        let file = match part.open() {
            Ok(file) => file,
            Err(error) => return Err((part, BlockError::Source(error))),
        };
        let values = partition::values(&part.path, &self.shared.columns);
        let (columns, on_bad_row) = (&self.shared.columns, self.shared.on_bad_row);
        let path_columns = match PathColumns::new(columns, &self.projection, &values, on_bad_row) {
            Ok(path_columns) => path_columns,
            Err(error) => return Err((part, BlockError::Bad(error))),
        };
        let wanted = Wanted {
            projection: &path_columns.content,
            from_path: &path_columns.from_path,
            header: None,
        };
        match self.format.open(&part.path, file, part.start..part.end, &wanted) {
            Ok(reader) => Ok(PartBlocks {
                part,
                reader,
                path_columns,
            }),
            Err(error) => Err((part, error)),
        }
    }

    /// A file that cannot be read is a bad row, told by the part that begins it; for a block inside, by the block's own.
    fn failed(
        &self,
        part: &Part,
        error: BlockError,
        begun: bool,
    ) -> Result<Option<SourceBatch>, SourceError> {
        match error {
            BlockError::Bad(error) if begun || part.start == 0 => {
                let position = part.path.to_string();
                let batch = self
                    .shared
                    .bad_file(&self.projection, position, Vec::new(), error)?;
                Ok(Some(batch))
            }
            BlockError::Bad(_) => Ok(None),
            BlockError::Io(error) => Err(vanished(&part.path, &error)),
            BlockError::Source(error) => Err(error),
        }
    }

    fn batch(&self, blocks: &PartBlocks, block: Block) -> Result<SourceBatch, SourceError> {
        let bad_rows = block.bad_rows.into_iter().map(|bad| BadRow {
            position: format!("{}:{}", blocks.part.path, bad.number),
            bytes: bad.text.into_bytes(),
            error: bad.error,
        });
        self.shared.checked(SourceBatch {
            rows: blocks.path_columns.add(block.rows),
            bytes: block.bytes,
            bad_rows: bad_rows.collect(),
        })
    }
}

/// How many rows of the file are before each row.
fn row_numbers(block: &Block) -> Vec<i64> {
    let count = block.rows.num_rows() + block.left_out.len();
    let first = i64::try_from(block.first_row - 1).unwrap_or(i64::MAX);
    let mut left_out = block.left_out.iter().peekable();
    (0..count)
        .filter(|row| left_out.next_if(|left_out| *left_out == row).is_none())
        .map(|row| first.saturating_add(row as i64))
        .collect()
}

impl SliceReader for BlocksReader {
    fn places(&mut self, rows: &[usize]) -> Result<Option<Vec<Place>>, SourceError> {
        let Some((path, numbers)) = &self.last else {
            return Ok(None);
        };
        let places = rows.iter().map(|row| Place {
            partition: Some(Arc::clone(path)),
            offset: numbers[*row],
        });
        Ok(Some(places.collect()))
    }

    fn next(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        self.last = None;
        loop {
            let Some(mut blocks) = self.current.take() else {
                let Some(part) = self.parts.pop_front() else {
                    return Ok(None);
                };
                match self.open(part) {
                    Ok(blocks) => self.current = Some(blocks),
                    Err((part, error)) => {
                        if let Some(batch) = self.failed(&part, error, false)? {
                            return Ok(Some(batch));
                        }
                    }
                }
                continue;
            };
            match blocks.reader.next() {
                Ok(Some(block)) => {
                    self.last = Some((Arc::clone(&blocks.part.path), row_numbers(&block)));
                    let batch = self.batch(&blocks, block)?;
                    self.current = Some(blocks);
                    return Ok(Some(batch));
                }
                Ok(None) => {}
                Err(error) => {
                    if let Some(batch) = self.failed(&blocks.part, error, true)? {
                        return Ok(Some(batch));
                    }
                }
            }
        }
    }
}
