//! Bids in JSON files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use crate::nexmark;

/// Writes `bids` bids into `files` files of `folder`, in order; the bytes of all.
pub fn write(folder: &Path, bids: u64, files: u64) -> Result<u64> {
    let mut total = 0;
    let mut text = String::new();
    for file in 0..files {
        let mut output = BufWriter::new(File::create(folder.join(format!("bids-{file:05}.json")))?);
        for number in bids * file / files..bids * (file + 1) / files {
            text.clear();
            nexmark::bid(number).write_json(&mut text);
            output.write_all(text.as_bytes())?;
            total += text.len() as u64;
        }
        output.flush()?;
    }
    Ok(total)
}
