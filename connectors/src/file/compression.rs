//! Compressed files: which they are, and how they are unpacked.
//!
//! A compressed file cannot be entered in the middle. It is one piece: a single reader takes it from its beginning to its
//! end, within one epoch.

use std::fs::File;
use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;

use crate::options::OptionValue;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// What the name of a file says.
    pub fn of_name(path: &str) -> Compression {
        let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        match ending.as_str() {
            "gz" | "gzip" => Compression::Gzip,
            "zst" | "zstd" => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The content of the file. A gzip file may have several members, a zstd file several frames.
    pub fn unpack(self, file: File) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(64 << 10, file))),
            Compression::Zstd => Box::new(zstd::Decoder::new(file)?),
        })
    }
}

/// The option: `None` goes by the name of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionOption(pub Option<Compression>);

impl OptionValue for CompressionOption {
    const KIND: &'static str = "`auto`, `none`, `gzip` or `zstd`";

    fn parse(text: &str) -> Result<Self, String> {
        let compression = match text.trim().to_ascii_lowercase().as_str() {
            "auto" | "auto_detect" => None,
            "none" | "uncompressed" => Some(Compression::None),
            "gzip" | "gz" => Some(Compression::Gzip),
            "zstd" | "zst" => Some(Compression::Zstd),
            _ => return Err(format!("\"{text}\" is not auto, none, gzip or zstd")),
        };
        Ok(CompressionOption(compression))
    }
}
