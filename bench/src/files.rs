//! Bids in files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use parquet::arrow::ArrowWriter;

use crate::nexmark;

/// Writes `bids` bids into `files` files of `folder`, in order; the bytes of all.
pub fn write_json(folder: &Path, bids: u64, files: u64) -> Result<u64> {
    write_json_with(folder, bids, files, |number, text| {
        nexmark::bid(number).write_json(text)
    })
}

/// As [`write_json`], with lines of the caller's making: it appends that of a number.
pub fn write_json_with(
    folder: &Path,
    bids: u64,
    files: u64,
    mut line: impl FnMut(u64, &mut String),
) -> Result<u64> {
    let mut total = 0;
    let mut text = String::new();
    for file in 0..files {
        let mut output = BufWriter::new(File::create(folder.join(format!("bids-{file:05}.json")))?);
        for number in bids * file / files..bids * (file + 1) / files {
            text.clear();
            line(number, &mut text);
            output.write_all(text.as_bytes())?;
            total += text.len() as u64;
        }
        output.flush()?;
    }
    Ok(total)
}

/// Writes `bids` bids into `files` Parquet files of `folder`, in order, with the writer's defaults; the bytes of all.
pub fn write_parquet(folder: &Path, bids: u64, files: u64) -> Result<u64> {
    let mut total = 0;
    for file in 0..files {
        let output = File::create(folder.join(format!("bids-{file:05}.parquet")))?;
        let mut writer = ArrowWriter::try_new(output, nexmark::schema(), None)?;
        let (begin, end) = (bids * file / files, bids * (file + 1) / files);
        for start in (begin..end).step_by(8192) {
            writer.write(&nexmark::batch(start..end.min(start + 8192)))?;
        }
        total += writer.into_inner()?.metadata()?.len();
    }
    Ok(total)
}
