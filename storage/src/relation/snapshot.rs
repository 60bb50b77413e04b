//! Snapshots: the sum of a relation's changes up to a cut, as an immutable value.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::order::KeyRange;
use super::segment::{Repeat, Segment, View};
use crate::change::ChangeBatch;
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::ipc::ChangeReader;

/// Rows per batch when a row's weight makes it come many times.
const REPEAT_ROWS: usize = 8192;

/// The state of a relation as of the end of a cut. Holding it keeps its memory and its files, and blocks nobody.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) schema: SchemaRef,
    pub(super) cut: Cut,
    pub(super) views: Vec<View>,
    /// Sum of the positive weights.
    pub(super) rows: u64,
}

impl Snapshot {
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The last cut whose changes are in it.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// Rows of the table, each counted as often as its weight.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of memory that the rows take; rows that are read from files when scanned do not count.
    pub fn memory_size(&self) -> usize {
        self.views.iter().map(|view| view.segment.bytes()).sum()
    }

    /// The table: each row as often as its weight. The order of rows is that of insertion in an append-only relation and
    /// unspecified in others.
    pub fn scan(self: &Arc<Self>) -> Scan {
        Scan {
            changes: self.scan_changes(),
            ready: None,
        }
    }

    /// As [`Snapshot::scan`], without most of the rows that are not in the range. What it leaves out is not in the range;
    /// what it gives has to be looked at once more.
    pub fn scan_range(self: &Arc<Self>, range: KeyRange) -> Scan {
        let mut scan = self.scan();
        scan.changes.range = Some(range);
        scan
    }

    /// The table as changes: each row with its weight. A row that was taken away before it came has a negative one.
    pub fn scan_changes(self: &Arc<Self>) -> ScanChanges {
        ScanChanges {
            snapshot: self.clone(),
            next: 0,
            file: None,
            range: None,
        }
    }
}

/// Iterator of [`Snapshot::scan_changes`].
pub struct ScanChanges {
    snapshot: Arc<Snapshot>,
    next: usize,
    file: Option<ChangeReader>,
    /// Rows beyond it may be left out.
    range: Option<KeyRange>,
}

impl ScanChanges {
    fn advance(&mut self) -> Result<Option<ChangeBatch>> {
        loop {
            if let Some(reader) = &mut self.file {
                if let Some(changes) = reader.next() {
                    return changes.map(Some);
                }
                self.file = None;
            }
            let Some(view) = self.snapshot.views.get(self.next) else {
                return Ok(None);
            };
            self.next += 1;
            match &*view.segment {
                Segment::File { payload, .. } => self.file = Some(payload.read(Some(&self.snapshot.schema))?),
                Segment::Memory { .. } => {
                    let changes = match &self.range {
                        Some(range) => view.changes_in(range),
                        None => view.changes(),
                    };
                    let changes = changes.map_err(|error| Error::Invalid(error.to_string()))?;
                    if let Some(changes) = changes.filter(|c| !c.is_empty()) {
                        return Ok(Some(changes));
                    }
                }
            }
        }
    }
}

impl Iterator for ScanChanges {
    type Item = Result<ChangeBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.advance();
        if result.is_err() {
            // Nothing sensible follows damage.
            self.next = usize::MAX;
            self.file = None;
        }
        result.transpose()
    }
}

/// Iterator of [`Snapshot::scan`].
pub struct Scan {
    changes: ScanChanges,
    ready: Option<Repeat>,
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.as_mut().and_then(|repeat| repeat.next(REPEAT_ROWS)) {
                return Some(batch.map_err(|error| Error::Invalid(error.to_string())));
            }
            match self.changes.next()? {
                Ok(changes) => self.ready = Some(Repeat::new(changes)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
