//! Keeping the number of segments small and their rows mostly live.
//!
//! Nothing here changes the sum of a snapshot. Work is paid by what was added or deleted since: see [`tiers`].

use std::collections::VecDeque;
use std::ops::Range;

use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

use super::Builder;
use crate::change::ChangeBatch;
use crate::error::{Error, Result};
use crate::relation::index::Index;
use crate::relation::segment::{Segment, View, batch_bytes};
use crate::relation::tiers;
use crate::row_key::RowKeys;

/// Rows of a segment in memory at most: bounds the copy of its bitmap.
pub(super) const SEGMENT_ROWS: usize = if cfg!(test) { 64 } else { 64 * 1024 };
/// Segments of half that many rows, or this many bytes, are not summed any more.
const SEALED_ROWS: usize = SEGMENT_ROWS / 2;
const SEALED_BYTES: usize = 8 * 1024 * 1024;
/// Segments of about one size that are left side by side.
const SEGMENTS_MIN: usize = 8;

impl Builder {
    /// Makes the index, summing equal rows within each segment on the way.
    pub(super) fn build_index(&mut self) -> Result<()> {
        if self.index.is_some() {
            return Ok(());
        }
        self.keys = Some(RowKeys::new(self.schema.clone())?);
        self.index = Some(Index::default());
        let all = 0..self.views.len();
        self.rewrite_each(all)
    }

    /// Writes segments anew, each by itself.
    fn rewrite_each(&mut self, range: Range<usize>) -> Result<()> {
        for position in range {
            let new = self.sum_views(position..position + 1)?;
            assert_eq!(
                new.len(),
                1,
                "there are no empty segments between epochs, and a sum is no larger"
            );
            self.replace(position..position + 1, new);
        }
        Ok(())
    }

    /// Drops empty segments, writes thin ones anew and sums small neighbours.
    pub(super) fn tidy(&mut self) -> Result<()> {
        let mut position = 0;
        while position < self.views.len() {
            let view = &self.views[position];
            if view.live == 0 {
                self.replace(position..position + 1, Vec::new());
                continue;
            }
            if view.live * 2 < view.segment.len() {
                let new = self.sum_views(position..position + 1)?;
                self.replace(position..position + 1, new);
            }
            position += 1;
        }
        loop {
            let sizes = self.views.iter().map(size).collect::<Vec<_>>();
            let Some(range) = tiers::pick(&sizes, SEGMENTS_MIN) else {
                return Ok(());
            };
            let new = self.sum_views(range.clone())?;
            self.replace(range, new);
        }
    }

    /// The live rows of some views as new segments, with their hashes if there is an index.
    fn sum_views(&self, range: Range<usize>) -> Result<Vec<(ChangeBatch, Vec<u64>)>> {
        let changes = self.views[range]
            .iter()
            .map(View::changes)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Error::Invalid(error.to_string()))?;
        let changes = changes
            .into_iter()
            .flatten()
            .filter(|c| !c.is_empty())
            .collect::<Vec<_>>();
        if self.index.is_none() {
            return Ok(chunks(&self.schema, &changes)?
                .into_iter()
                .map(|c| (c, Vec::new()))
                .collect());
        }
        let net = self.keys().sum(&changes)?;
        let mut hashes = (0..net.weights.len())
            .map(|row| net.hash(row))
            .collect::<VecDeque<_>>();
        let Some(sum) = net.into_changes() else {
            return Ok(Vec::new());
        };
        let parts = (0..sum.num_rows()).step_by(SEGMENT_ROWS).map(|start| {
            let part = sum.slice(start, SEGMENT_ROWS.min(sum.num_rows() - start));
            let hashes = hashes.drain(..part.num_rows()).collect();
            (part, hashes)
        });
        Ok(parts.collect())
    }

    /// Puts new segments in the place of old ones with the same sum.
    fn replace(&mut self, range: Range<usize>, new: Vec<(ChangeBatch, Vec<u64>)>) {
        let indexed = self.index.is_some();
        for position in range.clone() {
            let view = &self.views[position];
            if let Some(index) = &mut self.index {
                index.forget(view.id, (0..view.segment.len()).filter(|row| view.is_live(*row)));
            }
            self.free_ids.push(view.id);
        }
        let mut views = Vec::with_capacity(new.len());
        for (changes, hashes) in new {
            let id = self.next_id();
            views.push(View::new(id, Segment::memory(changes)));
            if indexed {
                self.index.as_mut().expect("checked above").insert(id, hashes);
            }
        }
        let start = range.start;
        self.views.splice(range, views);
        for (position, view) in self.views.iter().enumerate().skip(start) {
            self.positions[view.id as usize] = position;
        }
    }
}

/// A segment's size for summing; `None` when it is large enough or in a file.
fn size(view: &View) -> Option<u64> {
    let sealed = view.rows().is_none() || view.live >= SEALED_ROWS || view.segment.bytes() >= SEALED_BYTES;
    (!sealed).then_some(view.live as u64)
}

/// The same rows in batches that are as large as a segment may be.
pub(super) fn chunks(schema: &SchemaRef, changes: &[ChangeBatch]) -> Result<Vec<ChangeBatch>> {
    let mut chunks = Vec::new();
    let (mut pending, mut rows, mut bytes) = (Vec::new(), 0, 0);
    for changes in changes {
        for start in (0..changes.num_rows()).step_by(SEGMENT_ROWS) {
            let part = changes.slice(start, SEGMENT_ROWS.min(changes.num_rows() - start));
            let size = batch_bytes(part.rows());
            if rows + part.num_rows() > SEGMENT_ROWS || bytes + size > SEALED_BYTES {
                chunks.extend(join(schema, std::mem::take(&mut pending))?);
                (rows, bytes) = (0, 0);
            }
            rows += part.num_rows();
            bytes += size;
            pending.push(part);
        }
    }
    chunks.extend(join(schema, pending)?);
    Ok(chunks)
}

fn join(schema: &SchemaRef, mut parts: Vec<ChangeBatch>) -> Result<Option<ChangeBatch>> {
    if parts.len() < 2 {
        return Ok(parts.pop());
    }
    let rows = concat_batches(schema, parts.iter().map(ChangeBatch::rows))
        .map_err(|error| Error::Invalid(format!("rows cannot be joined: {error}")))?;
    if parts.iter().all(|part| part.weights().is_none()) {
        return Ok(Some(ChangeBatch::insertions(rows)));
    }
    let weights = parts
        .iter()
        .flat_map(|part| (0..part.num_rows()).map(|row| part.weight(row)))
        .collect::<Vec<_>>();
    Ok(Some(ChangeBatch::new(rows, weights.into())))
}
