//! COPY: rows in Postgres' text format, as CSV and in its binary format.

mod binary;
mod csv;
mod read;
mod text;
mod write;

pub use read::Reader;
pub use write::Writer;

/// A line of input as fields. `None` is NULL.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    /// Number of its first line, from 1.
    line: u64,
    fields: Vec<Option<String>>,
    /// As it came, for errors.
    raw: String,
}
