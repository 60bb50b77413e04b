//! Keeps the newest snapshot of a relation up to date, epoch by epoch, at a cost in proportion to what changed.
//!
//! Insertions become a new segment. A retraction finds its row through the index and marks it in a bitmap; what it does not
//! find stays as a row of negative weight (a debt) that a later insertion pays. [`tidy`] sums small segments and
//! writes thin ones anew.
//!
//! Invariant: with an index, a row stands at most once in each segment, and no two live places of a row have weights of
//! different sign.

mod tidy;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use self::tidy::{SEGMENT_ROWS, chunks};
use super::index::{Index, Place};
use super::segment::{Segment, View};
use super::snapshot::Snapshot;
use crate::change::ChangeBatch;
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::payload::FilePayload;
use crate::row_key::{Net, RowKeys, gather};

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

fn row_count(rows: u64) -> usize {
    usize::try_from(rows).expect("rows are counted in memory")
}
