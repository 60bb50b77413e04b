//! How a range of files is dealt out to workers.

use millpond_engine::source::Slice;
use serde_json::json;

/// A slice is not worth being smaller or larger than this: fetching one costs something, and a worker that is done early
/// should find another.
const SLICE_BYTES: std::ops::RangeInclusive<u64> = (256 << 10)..=(4 << 20);
const PIECE_OF_BLOCKS_BYTES: u64 = 8 << 20;

/// A range of a file's bytes.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    pub file: u64,
    pub start: u64,
    pub end: u64,
    pub grain: Grain,
}

/// Into what a range of bytes can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    Whole,
    /// Where files are made of blocks, whoever reads a piece of one reads its dictionaries too, so pieces are large. Their
    /// size does not depend on the workers: what can be read of a damaged block is the same for any number of them.
    Blocks,
    Records,
}

/// Cuts pieces of files that are larger than a slice should be, and puts smaller ones together.
pub fn pack(pieces: &[Piece], workers: usize) -> Vec<Slice> {
    let total: u64 = pieces.iter().map(|piece| piece.end - piece.start).sum();
    // Several slices per worker even out their speed.
    let target = (total / (4 * workers.max(1) as u64)).clamp(*SLICE_BYTES.start(), *SLICE_BYTES.end());
    let mut slices = Vec::new();
    let mut parts: Vec<(u64, u64, u64)> = Vec::new();
    let mut bytes = 0;
    let mut close = |parts: &mut Vec<(u64, u64, u64)>, bytes: &mut u64| {
        if !parts.is_empty() {
            slices.push(Slice {
                what: json!(std::mem::take(parts)),
                bytes: std::mem::take(bytes),
            });
        }
    };
    for piece in pieces {
        let Piece { file, end, .. } = piece;
        let mut start = piece.start;
        if bytes + (end - start) > target {
            close(&mut parts, &mut bytes);
        }
        // Equal cuts instead of a small rest.
        let cuts = match piece.grain {
            Grain::Whole => 1,
            Grain::Blocks => (end - start).div_ceil(PIECE_OF_BLOCKS_BYTES).max(1),
            Grain::Records => (end - start).div_ceil(target).max(1),
        };
        let step = (end - start).div_ceil(cuts).max(1);
        while start < *end {
            let stop = (start + step).min(*end);
            parts.push((*file, start, stop));
            bytes += stop - start;
            if cuts > 1 {
                close(&mut parts, &mut bytes);
            }
            start = stop;
        }
    }
    close(&mut parts, &mut bytes);
    slices
}
