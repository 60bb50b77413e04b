//! Formats: bytes of whole lines into record batches, without knowing where the bytes come from.

pub mod json;

use std::sync::Arc;

use arrow::array::RecordBatch;
use millpond_catalog::Column;

use crate::error::{Error, Result};
use crate::options::{OptionReader, OptionSpec, OptionValue};

/// What the rest of the crate knows about a format.
pub struct FormatSpec {
    pub name: &'static str,
    /// One line for the reference.
    pub doc: &'static str,
    /// `None` for a format that is known but not built yet.
    pub options: Option<&'static [OptionSpec]>,
    open: Open,
}

type Open = fn(&mut OptionReader<'_>, &[Column]) -> Result<Arc<dyn Format>>;

pub const FORMATS: &[FormatSpec] = &[
    json::FORMAT,
    not_yet("csv"),
    not_yet("parquet"),
    not_yet("text"),
    not_yet("orc"),
];

const fn not_yet(name: &'static str) -> FormatSpec {
    let open = |_: &mut OptionReader<'_>, _: &[Column]| {
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
pub trait Format: Send + Sync {
    /// A decoder of the columns at `projection`, ascending positions in the declared columns.
    fn decoder(&self, projection: &[usize]) -> Box<dyn Decoder>;

    fn on_bad_row(&self) -> OnBadRow;
}

/// Decodes one chunk after the other.
pub trait Decoder: Send {
    /// Decodes `lines`, whole lines of which the last may lack its end, into batches of bounded size.
    fn decode(&mut self, lines: &[u8]) -> Vec<Decoded>;
}

/// A batch of rows and what could not be decoded among them.
#[derive(Debug)]
pub struct Decoded {
    pub rows: RecordBatch,
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

/// What becomes of a row that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBadRow {
    /// Set aside in `sys.bad_rows` with its bytes, position and error.
    Quarantine,
    /// Left out.
    Drop,
    /// Kept, with NULL for what could not be read.
    Null,
    /// The query stops.
    Fail,
}

impl OptionValue for OnBadRow {
    const KIND: &'static str =
        "`quarantine`, `drop`, `null` or `fail`; Spark's `DROPMALFORMED`, `PERMISSIVE`, `FAILFAST`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "quarantine" => Ok(OnBadRow::Quarantine),
            "drop" | "dropmalformed" => Ok(OnBadRow::Drop),
            "null" | "permissive" => Ok(OnBadRow::Null),
            "fail" | "failfast" => Ok(OnBadRow::Fail),
            _ => Err(format!("\"{text}\" is not quarantine, drop, null or fail")),
        }
    }
}

/// The format called `name`, with its options taken from `reader`.
pub fn open(name: &str, reader: &mut OptionReader<'_>, columns: &[Column]) -> Result<Arc<dyn Format>> {
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
        Some(format) if format.options.is_some() => (format.open)(reader, columns),
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
