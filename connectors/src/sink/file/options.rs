//! Options of the file sink.

use std::fmt;

use crate::options::{OptionValue, options};

options! {
    /// Where and how files are written.
    pub struct FileSinkOptions {
        /// The folder; its last part is made by the sink.
        path: String = required,
        /// What the files are.
        format ["data_format"]: FileSinkFormat = required,
        /// Columns, parted by commas, whose values become folders `key=value` instead of standing in the files. Also the
        /// clause `PARTITIONED BY (a, b)`.
        partition_by: String = none,
        /// Of Parquet `snappy` (which is its default), `zstd`, `lz4`, `gzip` or `none`; of JSON and CSV `none`, `gzip` or
        /// `zstd`.
        compression: String = none,
        /// CSV files begin with a line of column names.
        header: bool = "false",
    }
}

/// What files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSinkFormat {
    Parquet,
    Json,
    Csv,
    Text,
}

impl OptionValue for FileSinkFormat {
    const KIND: &'static str = "`parquet`, `json`, `csv` or `text`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "parquet" => Ok(FileSinkFormat::Parquet),
            "json" => Ok(FileSinkFormat::Json),
            "csv" => Ok(FileSinkFormat::Csv),
            "text" => Ok(FileSinkFormat::Text),
            _ => Err(format!("\"{text}\" is not parquet, json, csv or text")),
        }
    }
}

impl fmt::Display for FileSinkFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileSinkFormat::Parquet => "parquet",
            FileSinkFormat::Json => "json",
            FileSinkFormat::Csv => "csv",
            FileSinkFormat::Text => "text",
        })
    }
}
