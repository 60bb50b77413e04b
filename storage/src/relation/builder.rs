//! Keeps the newest snapshot of a relation up to date, epoch by epoch, at a cost in proportion to what changed.
//!
//! Insertions become a new segment. A retraction finds its row through the index and marks it in a bitmap; what it does not
//! find stays as a row of negative weight (a debt) that a later insertion pays. Small segments are summed with their
//! neighbours ([`super::tiers`]), and a segment of which more than half is deleted is written anew.
//!
//! Invariant: with an index, a row stands at most once in each segment, and no two live places of a row have weights of
//! different sign.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

use super::index::{Index, Place};
use super::segment::{Segment, View, batch_bytes};
use super::snapshot::Snapshot;
use super::tiers;
use crate::change::ChangeBatch;
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::payload::FilePayload;
use crate::row_key::{Net, RowKeys, gather};

/// Rows of a segment in memory at most: bounds the copy of its bitmap.
const SEGMENT_ROWS: usize = if cfg!(test) { 64 } else { 64 * 1024 };
/// Segments of half that many rows, or this many bytes, are not summed any more.
const SEALED_ROWS: usize = SEGMENT_ROWS / 2;
const SEALED_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Builder {
    schema: SchemaRef,
    append_only: bool,
    cut: Cut,
    views: Vec<View>,
    free_ids: Vec<u32>,
    /// Position in `views` of each segment id.
    positions: Vec<usize>,
    /// Both are made when the first retraction comes.
    keys: Option<RowKeys>,
    index: Option<Index>,
    /// Sums of the positive and, without sign, of the negative weights.
    rows: u64,
    debts: u64,
}

impl Builder {
    pub(crate) fn new(schema: SchemaRef, append_only: bool) -> Self {
        Self {
            schema,
            append_only,
            cut: Cut::ZERO,
            views: Vec::new(),
            free_ids: Vec::new(),
            positions: Vec::new(),
            keys: None,
            index: None,
            rows: 0,
            debts: 0,
        }
    }

    /// What was applied so far, which is all up to the end of `cut`.
    pub(crate) fn snapshot(&mut self, cut: Cut) -> Arc<Snapshot> {
        self.cut = cut;
        Arc::new(Snapshot {
            schema: self.schema.clone(),
            cut,
            views: self.views.clone(),
            rows: self.rows,
        })
    }

    /// Cut of the last snapshot.
    pub(crate) fn cut(&self) -> Cut {
        self.cut
    }

    /// Adds changes, all of the builder's schema.
    pub(crate) fn apply(&mut self, changes: &[ChangeBatch]) -> Result<()> {
        let positive = changes
            .iter()
            .all(|c| c.weights().is_none_or(|w| w.values().iter().all(|w| *w > 0)));
        if self.append_only && !positive {
            return Err(Error::Invalid(
                "a retraction reached an append-only relation".to_string(),
            ));
        }
        if self.append_only || (positive && self.index.is_none()) {
            self.push_plain(changes)?;
        } else {
            self.build_index()?;
            let net = self.keys().sum(changes)?;
            self.push_net(&net)?;
        }
        self.tidy()
    }

    /// Adds an entry of an append-only log that stays in its file: `rows` rows whose weights sum to `weight`.
    pub(crate) fn apply_file(&mut self, payload: FilePayload, rows: u64, weight: u64) -> Result<()> {
        assert!(self.append_only, "rows in files cannot be taken away");
        self.push_segment(Segment::File {
            payload,
            rows: row_count(rows),
        });
        self.rows += weight;
        Ok(())
    }

    /// In an append-only relation, rows `start..start + sum of counts` are now in these files.
    pub(crate) fn move_to_files(&mut self, start: u64, files: Vec<(FilePayload, u64)>) {
        assert!(self.append_only, "only append-only relations keep rows in files");
        let (start, counts) = (
            row_count(start),
            files.iter().map(|(_, rows)| row_count(*rows)).sum::<usize>(),
        );
        let end = start + counts;
        let mut files = Some(files);
        let mut position = 0;
        for view in std::mem::take(&mut self.views) {
            let (first, last) = (position, position + view.segment.len());
            position = last;
            if last <= start || first >= end {
                self.keep_view(view);
                continue;
            }
            // Rows are in log order, so only the first and last segment can lie partly outside.
            if first < start {
                self.keep_slice(&view, 0, start - first);
            }
            for (payload, rows) in files.take().into_iter().flatten() {
                self.push_segment(Segment::File {
                    payload,
                    rows: row_count(rows),
                });
            }
            if last > end {
                self.keep_slice(&view, end - first, last - end);
            }
            self.free_ids.push(view.id);
        }
    }

    fn keep_slice(&mut self, view: &View, offset: usize, length: usize) {
        let id = self.next_id();
        let slice = view
            .slice(id, offset, length)
            .expect("a file holds whole entries, and entries are moved whole");
        self.keep_view(slice);
    }

    fn keep_view(&mut self, view: View) {
        self.positions[view.id as usize] = self.views.len();
        self.views.push(view);
    }

    fn next_id(&mut self) -> u32 {
        self.free_ids.pop().unwrap_or_else(|| {
            self.positions.push(usize::MAX);
            u32::try_from(self.positions.len() - 1).expect("less than 4 G segments")
        })
    }

    fn push_segment(&mut self, segment: Segment) -> u32 {
        let id = self.next_id();
        self.keep_view(View::new(id, segment));
        id
    }

    /// Adds insertions as they are, joining small batches.
    fn push_plain(&mut self, changes: &[ChangeBatch]) -> Result<()> {
        for segment in chunks(&self.schema, changes)? {
            self.rows += weight_sums(&segment).0;
            self.push_segment(Segment::memory(segment));
        }
        Ok(())
    }

    fn keys(&self) -> &RowKeys {
        self.keys.as_ref().expect("keys are made with the index")
    }

    /// Rows of the net sum find their counterparts of opposite sign; what is left becomes a segment.
    fn push_net(&mut self, net: &Net) -> Result<()> {
        let mut left = net.weights.clone();
        for (row, place) in self.counterparts(net)? {
            // Once the sign has turned, `left` is what remains of a stored row.
            if left[row].signum() != net.weights[row].signum() {
                continue;
            }
            let position = self.positions[place.segment as usize];
            let held = self.views[position].weight(place.row as usize);
            self.index
                .as_mut()
                .expect("retractions come with an index")
                .remove(place);
            self.views[position].delete(place.row as usize);
            if held > 0 {
                self.rows -= held.unsigned_abs();
            } else {
                self.debts -= held.unsigned_abs();
            }
            left[row] += held;
        }
        let rest = (0..left.len()).filter(|row| left[*row] != 0).collect::<Vec<_>>();
        for part in rest.chunks(SEGMENT_ROWS) {
            let picks = part.iter().map(|row| (0, *row)).collect::<Vec<_>>();
            let rows = match part.len() == left.len() {
                true => net.rows.clone(),
                false => gather(&self.schema, &[&net.rows], &picks)?,
            };
            let weights = part.iter().map(|row| left[*row]).collect::<Vec<_>>();
            let changes = match weights.iter().all(|w| *w == 1) {
                true => ChangeBatch::insertions(rows),
                false => ChangeBatch::new(rows, weights.into()),
            };
            self.push_indexed(changes, part.iter().map(|row| net.hash(*row)).collect());
        }
        Ok(())
    }

    fn push_indexed(&mut self, changes: ChangeBatch, hashes: Vec<u64>) {
        let (rows, debts) = weight_sums(&changes);
        self.rows += rows;
        self.debts += debts;
        let id = self.push_segment(Segment::memory(changes));
        self.index
            .as_mut()
            .expect("the index was built")
            .insert(id, hashes);
    }

    /// Places of rows equal to those of `net` whose weight has the opposite sign.
    fn counterparts(&self, net: &Net) -> Result<Vec<(usize, Place)>> {
        let index = self.index.as_ref().expect("retractions come with an index");
        let mut found = Vec::new();
        for (row, weight) in net.weights.iter().enumerate() {
            if *weight > 0 && self.debts == 0 {
                continue;
            }
            for place in index.find(net.hash(row)) {
                let held = self.views[self.positions[place.segment as usize]].weight(place.row as usize);
                if held.signum() != weight.signum() {
                    found.push((row, place));
                }
            }
        }
        // Equal hashes are no proof.
        let batches = self.views.iter().filter_map(View::rows).collect::<Vec<_>>();
        let picks = found
            .iter()
            .map(|(_, place)| (self.positions[place.segment as usize], place.row as usize))
            .collect::<Vec<_>>();
        let stored = self.keys().keys(&gather(&self.schema, &batches, &picks)?)?;
        let mut number = 0..found.len();
        found.retain(|(row, _)| stored.key(number.next().expect("a number per place")) == net.key(*row));
        Ok(found)
    }

    /// Makes the index, summing equal rows within each segment on the way.
    fn build_index(&mut self) -> Result<()> {
        if self.index.is_some() {
            return Ok(());
        }
        self.keys = Some(RowKeys::new(self.schema.clone())?);
        self.index = Some(Index::default());
        let all = 0..self.views.len();
        self.rewrite_each(all)
    }

    /// Writes segments anew, each by itself.
    fn rewrite_each(&mut self, range: std::ops::Range<usize>) -> Result<()> {
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
    fn tidy(&mut self) -> Result<()> {
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
            let Some(range) = tiers::pick(&sizes) else {
                return Ok(());
            };
            let new = self.sum_views(range.clone())?;
            self.replace(range, new);
        }
    }

    /// The live rows of some views as new segments, with their hashes if there is an index.
    fn sum_views(&self, range: std::ops::Range<usize>) -> Result<Vec<(ChangeBatch, Vec<u64>)>> {
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
    fn replace(&mut self, range: std::ops::Range<usize>, new: Vec<(ChangeBatch, Vec<u64>)>) {
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

/// Sums of the positive and of the negative weights.
fn weight_sums(changes: &ChangeBatch) -> (u64, u64) {
    let Some(weights) = changes.weights() else {
        return (changes.num_rows() as u64, 0);
    };
    let sum = |sign: i64| {
        weights
            .values()
            .iter()
            .filter(|w| w.signum() == sign)
            .map(|w| w.unsigned_abs())
            .sum()
    };
    (sum(1), sum(-1))
}

/// The same rows in batches that are as large as a segment may be.
fn chunks(schema: &SchemaRef, changes: &[ChangeBatch]) -> Result<Vec<ChangeBatch>> {
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

fn row_count(rows: u64) -> usize {
    usize::try_from(rows).expect("rows are counted in memory")
}
