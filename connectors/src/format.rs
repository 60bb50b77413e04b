//! Formats: bytes into record batches, without knowing where the bytes come from.
//!
//! Two kinds. A [`RecordFormat`] is text whose records end with a line end: files of it can be cut anywhere and
//! compressed as a whole. A [`BlockFormat`] has a structure of its own, which it reads from the open file.

pub mod bad_row;
mod column;
pub mod csv;
pub mod json;
pub mod parquet;
pub mod rows;
pub mod text;
mod token;

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use millpond_catalog::{Column, SqlType};
use millpond_engine::source::SourceError;

use crate::error::{Error, Result};
use crate::options::{OptionReader, OptionSpec};
pub use bad_row::{BadRows, OnBadRow};
use csv::Quoting;

/// What the rest of the crate knows about a format.
pub struct FormatSpec {
    pub name: &'static str,
    /// One line for the reference.
    pub doc: &'static str,
    /// `None` for a format that is known but not built yet.
    pub options: Option<&'static [OptionSpec]>,
    open: Open,
}

type Open = fn(&mut OptionReader<'_>, &[Column], BadRows) -> Result<Format>;

pub const FORMATS: &[FormatSpec] = &[
    json::FORMAT,
    csv::FORMAT,
    parquet::FORMAT,
    text::FORMAT,
    not_yet("orc"),
    not_yet("avro"),
];

const fn not_yet(name: &'static str) -> FormatSpec {
    let open = |_: &mut OptionReader<'_>, _: &[Column], _: BadRows| {
        Err(Error::NotSupported {
            what: "this format".to_owned(),
            hint: None,
        })
    };
    FormatSpec {
        name,
        doc: "Not supported yet.",
        options: None,
        open,
    }
}

/// A format with its options, for the declared columns of one source.
#[derive(Clone)]
pub enum Format {
    Records(Arc<dyn RecordFormat>),
    Blocks(Arc<dyn BlockFormat>),
}

impl Format {
    pub fn on_bad_row(&self) -> OnBadRow {
        match self {
            Format::Records(format) => format.on_bad_row(),
            Format::Blocks(format) => format.on_bad_row(),
        }
    }
}

/// What is wanted of one file.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Ascending positions in the declared columns.
    pub projection: &'a [usize],
    /// Declared columns whose values the file's path tells; none of them is in `projection`.
    pub from_path: &'a [usize],
    /// The file's first record, of a format that has headers.
    pub header: Option<&'a [u8]>,
}

/// Text whose records end with a line end.
pub trait RecordFormat: Send + Sync {
    /// A decoder for files like the one that `wanted` describes, or what is wrong with such a file as a whole.
    fn decoder(&self, wanted: &Wanted<'_>) -> Result<Box<dyn Decoder>, String>;

    fn on_bad_row(&self) -> OnBadRow;

    /// Which line ends are inside a record; without it, none are.
    fn quoting(&self) -> Option<Quoting> {
        None
    }

    /// The first record of a file tells what the others are.
    fn has_header(&self) -> bool {
        false
    }
}

/// Decodes one chunk after the other.
pub trait Decoder: Send {
    /// Decodes `records`, whole records of which the last may lack its end, into batches of bounded size.
    fn decode(&mut self, records: &[u8]) -> Vec<Decoded>;
}

/// A batch of rows and what could not be decoded among them.
#[derive(Debug)]
pub struct Decoded {
    pub rows: RecordBatch,
    /// Where in the chunk each row stands.
    pub lines: Vec<Range<usize>>,
    /// Encoded bytes that the batch was made from.
    pub bytes: u64,
    pub bad_lines: Vec<BadLine>,
}

/// Bytes `start..end` of the chunk are not a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    pub start: usize,
    pub end: usize,
    pub error: String,
}

/// Files with a structure of their own, made of blocks that each begin at an offset.
pub trait BlockFormat: Send + Sync {
    /// Opens the blocks of `file` that begin in `part`.
    fn open(
        &self,
        path: &str,
        file: File,
        part: Range<u64>,
        wanted: &Wanted<'_>,
    ) -> Result<Box<dyn BlockReader>, BlockError>;

    /// Bytes, unpacked, of `columns` in the blocks of `file`, in the order of the file.
    fn blocks(&self, path: &str, file: File, columns: &[usize]) -> Result<Vec<BlockSize>, BlockError>;

    fn on_bad_row(&self) -> OnBadRow;
}

pub trait BlockReader: Send {
    fn next(&mut self) -> Result<Option<Block>, BlockError>;
}

/// A block's place in its file, and what reading some of its columns takes in.
#[derive(Debug, Clone, Copy)]
pub struct BlockSize {
    pub start: u64,
    pub bytes: u64,
}

/// Rows of a block and the bad ones among them.
pub struct Block {
    pub rows: RecordBatch,
    /// From 1, in the file: the number of the first row that was read for the block.
    pub first_row: u64,
    /// Which of those are not among `rows`, ascending.
    pub left_out: Vec<usize>,
    pub bytes: u64,
    pub bad_rows: Vec<BadBlockRow>,
}

/// A row of a block that does not fit the columns.
pub struct BadBlockRow {
    /// From 1, in the file.
    pub number: u64,
    /// The row as JSON.
    pub text: String,
    pub error: String,
}

/// Why a file of blocks cannot be read.
#[derive(Debug)]
pub enum BlockError {
    /// The file is not what it should be.
    Bad(String),
    Io(std::io::Error),
    Source(SourceError),
}

/// The format called `name`, with its options taken from `reader`.
pub fn open(name: &str, reader: &mut OptionReader<'_>, columns: &[Column]) -> Result<Format> {
    let supported = || {
        let names: Vec<_> = FORMATS
            .iter()
            .filter(|f| f.options.is_some())
            .map(|f| f.name)
            .collect();
        format!("Formats: {}.", names.join(", "))
    };
    match FORMATS
        .iter()
        .find(|format| format.name.eq_ignore_ascii_case(name))
    {
        Some(format) if format.options.is_some() => {
            if let Some(column) = columns.iter().find(|column| holds_system_type(&column.sql_type)) {
                return Err(Error::Columns {
                    message: format!("column \"{}\" cannot have type {}", column.name, column.sql_type),
                    hint: Some("That type is for system tables.".to_owned()),
                });
            }
            let bad_rows = BadRows::read(reader, columns)?;
            (format.open)(reader, columns, bad_rows)
        }
        Some(format) => Err(Error::NotSupported {
            what: format!("format \"{}\"", format.name),
            hint: Some(supported()),
        }),
        None => Err(Error::InvalidOption {
            key: "format".to_owned(),
            message: format!("unknown format \"{name}\". {}", supported()),
            position: None,
        }),
    }
}

fn holds_system_type(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::System(_) => true,
        SqlType::Array(element) => holds_system_type(element),
        SqlType::Struct(fields) => fields.iter().any(|(_, sql_type)| holds_system_type(sql_type)),
        _ => false,
    }
}

/// One value of `column` from its text, as CSV would have it, or what is wrong with it.
pub fn value_of_text(column: &Column, text: Option<&str>) -> Result<ArrayRef, String> {
    column::single(column, text)
}
