//! The first row of each key: it goes on at once, and rows of its key are dropped as long as the key is remembered.
//!
//! Rows are only added. Of the rows of one epoch the earliest is the first, and of those the least by all columns, so the
//! result does not depend on how they arrive within it. With an event time a key is forgotten when the watermark is past
//! the time of its first row by more than the time that duplicates may come within; rows below the watermark are late.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use arrow::row::{RowConverter, RowParser, SortField};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::operator::join::chosen;
use crate::operator::map::record_batch;
use crate::operator::spec::DedupSpec;
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};

type RowBytes = Box<[u8]>;

pub(crate) struct Dedup {
    spec: DedupSpec,
    keys: RowConverter,
    rows: RowConverter,
    parser: RowParser,
    /// The first row of each key, and its time.
    first: HashMap<RowBytes, First>,
    /// Keys by the time of their first row.
    by_time: BTreeMap<i64, Vec<RowBytes>>,
    /// Rows of the running epoch with new keys: the first of each so far.
    incoming: HashMap<RowBytes, First>,
    late_below: Option<i64>,
    delta: Vec<RecordBatch>,
    /// Bytes of an encoded row and key, on average of the last batch.
    row_bytes: usize,
    metrics: OperatorMetrics,
}

/// Rows without a time come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct First {
    time: Option<i64>,
    row: RowBytes,
}

impl Dedup {
    pub fn new(spec: DedupSpec) -> Result<Self> {
        let sort_field = |column: usize| SortField::new(spec.input.field(column).data_type().clone());
        let rows = RowConverter::new((0..spec.input.fields().len()).map(sort_field).collect())?;
        Ok(Self {
            keys: RowConverter::new(spec.keys.iter().copied().map(sort_field).collect())?,
            parser: rows.parser(),
            rows,
            spec,
            first: HashMap::new(),
            by_time: BTreeMap::new(),
            incoming: HashMap::new(),
            late_below: None,
            delta: Vec::new(),
            row_bytes: 0,
            metrics: OperatorMetrics::default(),
        })
    }

    /// Notes the rows whose keys are new.
    fn take_in(&mut self, rows: &RecordBatch) -> Result<()> {
        let columns = rows.columns();
        let encoded = self.rows.convert_columns(columns)?;
        let keys: Vec<_> = self.spec.keys.iter().map(|key| columns[*key].clone()).collect();
        let keys = self.keys.convert_columns(&keys)?;
        self.row_bytes = (encoded.size() + keys.size()) / rows.num_rows().max(1);
        let times = self
            .spec
            .time
            .map(|time| columns[time].as_primitive::<TimestampMicrosecondType>());
        for row in 0..rows.num_rows() {
            let key = keys.row(row).data();
            if self.first.contains_key(key) {
                self.metrics.duplicates += 1;
                continue;
            }
            let first = First {
                time: times
                    .filter(|times| times.is_valid(row))
                    .map(|times| times.value(row)),
                row: encoded.row(row).data().into(),
            };
            match self.incoming.get_mut(key) {
                Some(known) => {
                    self.metrics.duplicates += 1;
                    if first < *known {
                        *known = first;
                    }
                }
                None => {
                    self.incoming.insert(key.into(), first);
                }
            }
        }
        Ok(())
    }

    /// Remembers the new keys; their rows.
    fn remember(&mut self) -> Result<Option<RecordBatch>> {
        let incoming = std::mem::take(&mut self.incoming);
        if incoming.is_empty() {
            return Ok(None);
        }
        let batch = self.decode(incoming.values())?;
        self.metrics.rows_updated += incoming.len() as u64;
        for (key, first) in incoming {
            if let Some(time) = first.time {
                self.by_time.entry(time).or_default().push(key.clone());
            }
            if let Entry::Vacant(place) = self.first.entry(key) {
                place.insert(first);
            }
        }
        Ok(Some(batch))
    }

    /// Forgets keys of which no duplicate can come.
    fn forget(&mut self, watermark: Option<i64>) {
        let Some(below) = watermark.map(|watermark| watermark.saturating_sub(self.spec.within_us)) else {
            return;
        };
        while let Some(entry) = self.by_time.first_entry().filter(|entry| *entry.key() < below) {
            let (time, keys) = entry.remove_entry();
            for key in keys {
                // A key that came again after it was forgotten stands under a later time.
                if self.first.get(&key).is_some_and(|first| first.time == Some(time)) {
                    self.first.remove(&key);
                    self.metrics.rows_removed += 1;
                }
            }
        }
    }

    fn decode<'a>(&self, rows: impl Iterator<Item = &'a First>) -> Result<RecordBatch> {
        let rows: Vec<_> = rows.map(|first| self.parser.parse(&first.row)).collect();
        let length = rows.len();
        Ok(record_batch(
            &self.spec.input,
            self.rows.convert_rows(rows)?,
            length,
        )?)
    }

    fn without_late(&mut self, changes: ChangeBatch, output: &mut Output) -> Result<ChangeBatch> {
        let (Some(below), Some(time)) = (self.late_below, self.spec.time) else {
            return Ok(changes);
        };
        let times = changes
            .rows()
            .column(time)
            .as_primitive::<TimestampMicrosecondType>();
        let on_time: BooleanArray = { times.iter() }
            .map(|time| Some(time.is_none_or(|time| time >= below)))
            .collect();
        let late = (on_time.len() - on_time.true_count()) as u64;
        if late == 0 {
            return Ok(changes);
        }
        self.metrics.rows_dropped_by_watermark += late;
        let rows = (0..on_time.len()).filter(|row| !on_time.value(*row));
        output.set_late_rows_aside(&changes, rows, time, below)?;
        chosen(&changes, &on_time)
    }
}

impl Operator for Dedup {
    fn begin(&mut self, context: &OperatorContext) -> Result<()> {
        self.metrics = OperatorMetrics::default();
        self.late_below = context.late();
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        let changes = self.without_late(changes, output)?;
        self.take_in(changes.rows())
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        if let Some(rows) = self.remember()? {
            self.delta.push(rows.clone());
            output.send(ChangeBatch::insertions(rows));
        }
        self.forget(context.closes());
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        let batches = match full {
            true => vec![self.decode(self.first.values())?],
            false => delta,
        };
        let state = |rows| StateBatch {
            port: 0,
            changes: ChangeBatch::insertions(rows),
        };
        Ok(batches.into_iter().map(state).collect())
    }

    fn restore(&mut self, _context: &OperatorContext, state: StateBatch) -> Result<()> {
        // A key may have been forgotten and have come again: its last row is the one that counts.
        let rows = state.changes.rows();
        self.take_in_again(rows)
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        self.forget(context.closes());
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        let entry = self.row_bytes + size_of::<First>() + 2 * size_of::<RowBytes>();
        OperatorMetrics {
            rows_total: self.first.len() as u64,
            memory_bytes: (self.first.len() * entry) as u64,
            ..self.metrics.clone()
        }
    }
}

impl Dedup {
    /// Puts back rows of a checkpoint.
    fn take_in_again(&mut self, rows: &RecordBatch) -> Result<()> {
        let forgotten = std::mem::take(&mut self.first);
        self.take_in(rows)?;
        let again = std::mem::take(&mut self.incoming);
        self.first = forgotten;
        for (key, first) in again {
            if let Some(time) = first.time {
                self.by_time.entry(time).or_default().push(key.clone());
            }
            self.first.insert(key, first);
        }
        Ok(())
    }
}
