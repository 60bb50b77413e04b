//! The first row of each key: it goes on at once, and rows of its key are dropped as long as the key is remembered.
//!
//! Rows are only added. Of the rows of one epoch the earliest is the first, and of those the least by all columns, so the
//! result does not depend on how they arrive within it. With an event time a key is forgotten when the watermark is past
//! the time of its first row by more than the time that duplicates may come within; rows below the watermark are late.

mod memory;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use arrow::row::{RowConverter, RowParser, SortField};
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::operator::join::chosen;
use crate::operator::map::record_batch;
use crate::operator::spec::DedupSpec;
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};

use memory::Memory;

pub(crate) struct Dedup {
    spec: DedupSpec,
    keys: RowConverter,
    rows: RowConverter,
    parser: RowParser,
    memory: Memory,
    late_below: Option<i64>,
    delta: Vec<RecordBatch>,
    metrics: OperatorMetrics,
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
            memory: Memory::default(),
            late_below: None,
            delta: Vec::new(),
            metrics: OperatorMetrics::default(),
        })
    }

    /// Notes the rows whose keys are new. With `again`, rows of a checkpoint: a key may have been forgotten and have come
    /// again, and its last row is the one that counts.
    fn take_in(&mut self, rows: &RecordBatch, again: bool) -> Result<()> {
        let columns = rows.columns();
        let encoded = self.rows.convert_columns(columns)?;
        let keys: Vec<_> = self.spec.keys.iter().map(|key| columns[*key].clone()).collect();
        let keys = self.keys.convert_columns(&keys)?;
        let times = self
            .spec
            .time
            .map(|time| columns[time].as_primitive::<TimestampMicrosecondType>());
        for row in 0..rows.num_rows() {
            let time = times
                .filter(|times| times.is_valid(row))
                .map(|times| times.value(row));
            let (key, row) = (keys.row(row).data(), encoded.row(row).data());
            self.metrics.duplicates += u64::from(!self.memory.note(key, row, time, again));
        }
        Ok(())
    }

    fn decode<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> Result<RecordBatch> {
        let rows: Vec<_> = rows.map(|row| self.parser.parse(row)).collect();
        let length = rows.len();
        Ok(record_batch(
            &self.spec.input,
            self.rows.convert_rows(rows)?,
            length,
        )?)
    }

    /// Forgets keys of which no duplicate can come.
    fn forget(&mut self, watermark: Option<i64>) {
        if let Some(watermark) = watermark {
            let below = watermark.saturating_sub(self.spec.within_us);
            self.metrics.rows_removed += self.memory.forget(below);
        }
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
        self.take_in(changes.rows(), false)
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        if self.memory.has_fresh() {
            let rows = self.decode(self.memory.fresh())?;
            self.metrics.rows_updated += rows.num_rows() as u64;
            self.memory.settle();
            self.delta.push(rows.clone());
            output.send(ChangeBatch::insertions(rows));
        }
        self.forget(context.closes());
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        let batches = match full {
            true => vec![self.decode(self.memory.rows())?],
            false => delta,
        };
        let state = |rows| StateBatch {
            port: 0,
            changes: ChangeBatch::insertions(rows),
        };
        Ok(batches.into_iter().map(state).collect())
    }

    fn restore(&mut self, _context: &OperatorContext, state: StateBatch) -> Result<()> {
        self.take_in(state.changes.rows(), true)?;
        self.memory.settle();
        Ok(())
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        self.forget(context.closes());
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        OperatorMetrics {
            rows_total: self.memory.len() as u64,
            memory_bytes: self.memory.bytes() as u64,
            ..self.metrics.clone()
        }
    }
}
