//! Parquet: columns by name, block after block.
//!
//! A row group is a block; it begins where the first page of any of its columns stands. Its rows are thought of as spread
//! evenly over its bytes, so that a part that covers a piece of a block holds as large a piece of its rows, and several
//! workers can read one block. Files of one source may differ in the order, number and width of their columns: each is
//! mapped to the declared ones on its own ([`mod@convert`]).

mod convert;
mod footer;

use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelector,
};
use arrow::array::{ArrayRef, RecordBatch, StringBuilder, new_null_array};
use arrow::datatypes::SchemaRef;
use millpond_catalog::Column;

use super::bad_row::{BadRows, OnBadRow};
use super::rows::{columns_to_read, projected_schema, rows_kept};
use super::{
    BadBlockRow, Block, BlockError, BlockFormat, BlockReader, BlockSize, Format, FormatSpec, Wanted,
};
use crate::error::Result;
use crate::options::OptionReader;
use convert::{Flaws, check, convert};
use footer::{Footer, Footers, share};

pub const FORMAT: FormatSpec = FormatSpec {
    name: "parquet",
    doc: "Parquet files. Columns are found by name; one that a file lacks is NULL.",
    options: Some(&[]),
    open,
};

/// Rows per batch.
const BATCH_ROWS: usize = 8192;

fn open(_: &mut OptionReader<'_>, columns: &[Column], bad_rows: BadRows) -> Result<Format> {
    Ok(Format::Blocks(Arc::new(ParquetFormat {
        columns: columns.to_vec(),
        bad_rows,
        footers: Footers::default(),
    })))
}

struct ParquetFormat {
    columns: Vec<Column>,
    bad_rows: BadRows,
    footers: Footers,
}

impl BlockFormat for ParquetFormat {
    fn open(
        &self,
        path: &str,
        file: File,
        part: Range<u64>,
        wanted: &Wanted<'_>,
    ) -> Result<Box<dyn BlockReader>, BlockError> {
        guarded(|| self.open_groups(path, file, part, wanted))
    }

    fn blocks(&self, path: &str, file: File, columns: &[usize]) -> Result<Vec<BlockSize>, BlockError> {
        let footer = guarded(|| self.footers.of(path, &file))?;
        let sources = columns.iter().map(|column| self.source(&footer, *column));
        let roots: HashSet<usize> = sources.filter_map(|source| source.ok().flatten()).collect();
        let mut blocks: Vec<_> = { footer.groups.iter().enumerate() }
            .map(|(index, group)| BlockSize {
                start: group.start,
                bytes: footer.unpacked_bytes(index, &roots),
            })
            .collect();
        blocks.sort_by_key(|block| block.start);
        Ok(blocks)
    }

    fn on_bad_row(&self) -> OnBadRow {
        self.bad_rows.policy
    }
}

/// A damaged file may break an assumption of the Parquet library; that is the file's fault.
fn guarded<T>(read: impl FnOnce() -> Result<T, BlockError>) -> Result<T, BlockError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(BlockError::Bad("the file is not valid Parquet".to_owned())))
}

impl ParquetFormat {
    fn open_groups(
        &self,
        path: &str,
        file: File,
        part: Range<u64>,
        wanted: &Wanted<'_>,
    ) -> Result<Box<dyn BlockReader>, BlockError> {
        let footer = self.footers.of(path, &file)?;
        let read = columns_to_read(&self.columns, &self.bad_rows, wanted);
        let mut sources = Vec::with_capacity(read.len());
        for column in &read {
            let source = self.source(&footer, *column).map_err(BlockError::Bad)?;
            sources.push(source);
        }
        let mut roots: Vec<usize> = sources.iter().flatten().copied().collect();
        roots.sort_unstable();
        roots.dedup();
        let place = |root: &usize| roots.iter().position(|other| other == root);
        let inputs = read
            .iter()
            .zip(&sources)
            .map(|(column, root)| (self.columns[*column].clone(), root.as_ref().and_then(place)))
            .collect();
        let output = wanted
            .projection
            .iter()
            .map(|column| read.iter().position(|read| read == column))
            .collect();
        let groups = footer.groups.iter().enumerate();
        let groups: Vec<(usize, Range<u64>)> = groups
            .map(|(index, group)| (index, group.rows_in(&part)))
            .filter(|(_, rows)| !rows.is_empty())
            .collect();
        Ok(Box::new(GroupsReader {
            schema: projected_schema(&self.columns, wanted.projection),
            policy: self.bad_rows.policy,
            inputs,
            output,
            roots,
            groups: groups.into_iter(),
            footer,
            file,
            current: None,
        }))
    }

    /// The file's column that the declared one at `column` is read from; `None` where it is NULL.
    fn source(&self, footer: &Footer, column: usize) -> Result<Option<usize>, String> {
        let column = &self.columns[column];
        let fields = footer.metadata.schema().fields();
        let exact = fields.iter().position(|field| *field.name() == column.name);
        let found = exact.or_else(|| {
            fields
                .iter()
                .position(|field| field.name().eq_ignore_ascii_case(&column.name))
        });
        let Some(root) = found else {
            return if column.nullable {
                Ok(None)
            } else {
                Err(format!(
                    "the file has no column \"{}\", which is NOT NULL",
                    column.name
                ))
            };
        };
        match check(fields[root].data_type(), &column.sql_type) {
            Ok(()) => Ok(Some(root)),
            Err(_) if self.bad_rows.policy == OnBadRow::Null => Ok(None),
            Err(error) => Err(format!("column \"{}\": {error}", column.name)),
        }
    }
}

/// The row groups of a part, one after the other.
struct GroupsReader {
    schema: SchemaRef,
    policy: OnBadRow,
    /// The declared columns that are read, and where each is among the file's columns that are decoded.
    inputs: Vec<(Column, Option<usize>)>,
    /// Per returned column its input; the one without holds the text of corrupt rows.
    output: Vec<Option<usize>>,
    roots: Vec<usize>,
    /// Row groups and the rows to read of each, from 0.
    groups: std::vec::IntoIter<(usize, Range<u64>)>,
    footer: Arc<Footer>,
    file: File,
    current: Option<Group>,
}

/// A row group while it is read.
struct Group {
    reader: ParquetRecordBatchReader,
    /// Of the next row, from 1.
    row: u64,
    rows_left: u64,
    bytes_left: u64,
}

impl BlockReader for GroupsReader {
    fn next(&mut self) -> Result<Option<Block>, BlockError> {
        guarded(|| self.next_block())
    }
}

impl GroupsReader {
    fn next_block(&mut self) -> Result<Option<Block>, BlockError> {
        loop {
            let Some(group) = &mut self.current else {
                match self.groups.next() {
                    Some((index, rows)) => self.current = Some(self.open_group(index, rows)?),
                    None => return Ok(None),
                }
                continue;
            };
            let Some(batch) = group.reader.next() else {
                self.current = None;
                continue;
            };
            let batch = batch.map_err(|error| BlockError::Bad(error.to_string()))?;
            let rows = batch.num_rows() as u64;
            let first_row = group.row;
            let bytes = share(group.bytes_left, rows, group.rows_left);
            group.row += rows;
            group.rows_left = group.rows_left.saturating_sub(rows);
            group.bytes_left -= bytes;
            return self.block(&batch, first_row, bytes).map(Some);
        }
    }

    fn open_group(&self, index: usize, rows: Range<u64>) -> Result<Group, BlockError> {
        let info = &self.footer.groups[index];
        let file = self.file.try_clone().map_err(BlockError::Io)?;
        let metadata = self.footer.metadata.clone();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), self.roots.iter().copied());
        let wanted = rows.end - rows.start;
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_row_groups(vec![index])
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS);
        if wanted < info.rows {
            let skip = RowSelector::skip(rows.start as usize);
            builder = builder.with_row_selection(vec![skip, RowSelector::select(wanted as usize)].into());
        }
        let reader = builder
            .build()
            .map_err(|error| BlockError::Bad(error.to_string()))?;
        Ok(Group {
            reader,
            row: info.first_row + rows.start + 1,
            rows_left: wanted,
            bytes_left: share(info.bytes, wanted, info.rows),
        })
    }

    /// The declared columns of `batch`, without the rows that do not fit them.
    fn block(&self, batch: &RecordBatch, first_row: u64, bytes: u64) -> Result<Block, BlockError> {
        let mut flaws = Flaws::default();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.inputs.len());
        for (column, place) in &self.inputs {
            arrays.push(match place {
                Some(place) => {
                    let array = batch.column(*place);
                    let converted = convert(array, &column.sql_type, &mut flaws.of_column(&column.name))
                        .map_err(|error| BlockError::Bad(format!("column \"{}\": {error}", column.name)))?;
                    if !column.nullable {
                        flaws.of_column(&column.name).add_nulls(array);
                    }
                    converted
                }
                None => new_null_array(&column.sql_type.arrow(), batch.num_rows()),
            });
        }
        let mut texts = flaws
            .rows()
            .map(|row| (row, row_text(batch, row)))
            .collect::<Vec<_>>();
        let columns = self.output.iter().map(|input| match input {
            Some(input) => arrays[*input].clone(),
            None => corrupt_records(batch.num_rows(), &texts),
        });
        let bad: Vec<usize> = match self.policy {
            OnBadRow::Null => Vec::new(),
            _ => flaws.rows().collect(),
        };
        let rows = rows_kept(&self.schema, columns.collect(), batch.num_rows(), &bad);
        if matches!(self.policy, OnBadRow::Null | OnBadRow::Drop) {
            texts.clear();
        }
        let bad_row = |(row, text): (usize, String)| BadBlockRow {
            number: first_row + row as u64,
            text,
            error: flaws.error_of(row),
        };
        let bad_rows = texts.into_iter().map(bad_row).collect();
        Ok(Block {
            rows,
            first_row,
            left_out: bad,
            bytes,
            bad_rows,
        })
    }
}

/// The columns of a row that were read, as JSON.
fn row_text(batch: &RecordBatch, row: usize) -> String {
    let mut text = Vec::new();
    let mut writer = arrow::json::LineDelimitedWriter::new(&mut text);
    let written = writer.write(&batch.slice(row, 1)).and_then(|()| writer.finish());
    if written.is_err() {
        // Shown for the reader's sake: a type without a form in JSON is no reason to stop.
        return String::new();
    }
    String::from_utf8_lossy(text.trim_ascii_end()).into_owned()
}

fn corrupt_records(rows: usize, texts: &[(usize, String)]) -> ArrayRef {
    let mut builder = StringBuilder::new();
    let mut texts = texts.iter().peekable();
    for row in 0..rows {
        match texts.next_if(|(bad, _)| *bad == row) {
            Some((_, text)) => builder.append_value(text),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests;
