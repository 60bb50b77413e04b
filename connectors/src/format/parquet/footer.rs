//! What stands at the end of a Parquet file: its columns and where its row groups are.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use parking_lot::Mutex;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;

use crate::format::BlockError;

pub struct Footer {
    pub metadata: ArrowReaderMetadata,
    pub groups: Vec<GroupPlace>,
}

/// A row group's place in the file.
pub struct GroupPlace {
    /// Offset of its first page.
    pub start: u64,
    /// Rows in the groups before it.
    pub first_row: u64,
    pub rows: u64,
    /// Up to the next group, or to the end of the file.
    pub bytes: u64,
}

impl Footer {
    /// What the pages of the columns at `roots` hold in a group, without compression.
    pub fn unpacked_bytes(&self, group: usize, roots: &HashSet<usize>) -> u64 {
        let schema = self.metadata.parquet_schema();
        let chunks = self.metadata.metadata().row_group(group).columns().iter();
        chunks
            .enumerate()
            .filter(|(leaf, _)| roots.contains(&schema.get_column_root_idx(*leaf)))
            .map(|(_, chunk)| chunk.uncompressed_size().max(0) as u64)
            .fold(0, u64::saturating_add)
    }
}

impl GroupPlace {
    /// The rows of the group, from 0, that fall into `part` of the file.
    pub fn rows_in(&self, part: &Range<u64>) -> Range<u64> {
        let row_at = |offset: u64| share(self.rows, offset.saturating_sub(self.start), self.bytes.max(1));
        row_at(part.start)..row_at(part.end)
    }
}

/// The share that `part` of `whole` has in `amount`.
pub fn share(amount: u64, part: u64, whole: u64) -> u64 {
    if part >= whole {
        return amount;
    }
    // Below `amount`, since the part is below the whole.
    (u128::from(amount) * u128::from(part) / u128::from(whole)) as u64
}

/// Footers read last: the parts of a file share one.
#[derive(Default)]
pub struct Footers(Mutex<HashMap<String, (u64, Arc<Footer>)>>);

const FOOTERS_MAX: usize = 16;

impl Footers {
    pub fn of(&self, path: &str, file: &File) -> Result<Arc<Footer>, BlockError> {
        let size = file.metadata().map_err(BlockError::Io)?.len();
        if let Some((known, footer)) = self.0.lock().get(path)
            && *known == size
        {
            return Ok(footer.clone());
        }
        let footer = Arc::new(read(file, size)?);
        let mut footers = self.0.lock();
        if footers.len() >= FOOTERS_MAX {
            footers.clear();
        }
        footers.insert(path.to_owned(), (size, footer.clone()));
        Ok(footer)
    }
}

fn read(file: &File, size: u64) -> Result<Footer, BlockError> {
    // The types that a writer notes for Arrow readers are about its own memory; those of Parquet itself say enough.
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let mut metadata = ArrowReaderMetadata::load(file, plain.clone()).map_err(bad)?;
    if let Some(schema) = without_nanoseconds(&metadata) {
        let options = plain.with_schema(Arc::new(schema));
        metadata = ArrowReaderMetadata::try_new(metadata.metadata().clone(), options).map_err(bad)?;
    }
    let groups = metadata.metadata().row_groups();
    let starts = groups.iter().map(|group| start(group).ok_or_else(damaged));
    let starts = starts.collect::<Result<Vec<_>, _>>()?;
    let mut first_row = 0;
    let mut places = Vec::new();
    for (group, start) in groups.iter().zip(&starts) {
        let rows = u64::try_from(group.num_rows()).map_err(|_| damaged())?;
        let next = starts.iter().filter(|next| *next > start).min();
        places.push(GroupPlace {
            start: *start,
            first_row,
            rows,
            bytes: next.unwrap_or(&size).saturating_sub(*start),
        });
        first_row += rows;
    }
    Ok(Footer {
        metadata,
        groups: places,
    })
}

fn start(group: &RowGroupMetaData) -> Option<u64> {
    let starts = group.columns().iter().map(|chunk| {
        chunk
            .dictionary_page_offset()
            .unwrap_or_else(|| chunk.data_page_offset())
    });
    u64::try_from(starts.min().unwrap_or(0)).ok()
}

/// The schema with microseconds for the old 96-bit times: in nanoseconds they reach only from 1677 to 2262.
fn without_nanoseconds(metadata: &ArrowReaderMetadata) -> Option<Schema> {
    let parquet = metadata.parquet_schema();
    let roots = parquet.root_schema().get_fields();
    let is_old =
        |root: usize| roots[root].is_primitive() && roots[root].get_physical_type() == PhysicalType::INT96;
    let fields = metadata.schema().fields();
    if !(0..fields.len()).any(is_old) {
        return None;
    }
    let field = |(root, field): (usize, &Arc<Field>)| match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) if is_old(root) => field
            .as_ref()
            .clone()
            .with_data_type(DataType::Timestamp(TimeUnit::Microsecond, zone.clone())),
        _ => field.as_ref().clone(),
    };
    Some(Schema::new(
        fields.iter().enumerate().map(field).collect::<Vec<_>>(),
    ))
}

fn bad(error: ParquetError) -> BlockError {
    BlockError::Bad(format!("the file is not valid Parquet: {error}"))
}

fn damaged() -> BlockError {
    BlockError::Bad("the file is not valid Parquet: a row group has a negative size or place".to_owned())
}
