//! The first phase: the epoch's rows, summed up per group on the worker where they arrived. Keeps nothing across epochs.
//!
//! Rows of a sliding window are not expanded: a *slice* is a stretch of time whose rows are in the same windows, and
//! groups are kept per slice, so a row costs the same however many windows it is in.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, RecordBatch};
use arrow::compute::{filter, filter_record_batch};
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::operator::aggregate::{Groups, timestamps};
use crate::operator::map::record_batch;
use crate::operator::spec::{AggregateSpec, WindowKey, WindowSource};
use crate::operator::{Operator, OperatorMetrics, Output};

/// Above this many bytes the groups are handed on within the epoch.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// The size is only worth computing when there are many groups.
const GROUPS_MAX: usize = 1 << 17;

pub(crate) struct PartialAggregate {
    spec: Arc<AggregateSpec>,
    groups: Groups,
    /// Set at the start of the epoch, if the window's time is bounded by it.
    watermark: Option<i64>,
    metrics: OperatorMetrics,
    /// Kept between batches for its allocation.
    row_groups: Vec<usize>,
}

impl PartialAggregate {
    pub fn new(spec: Arc<AggregateSpec>) -> Result<Self> {
        let keys = spec
            .keys
            .iter()
            .map(|column| spec.input.field(*column).data_type().clone());
        // The window's key is the start of the slice.
        let key_types: Vec<DataType> = spec.window.iter().map(|_| DataType::Int64).chain(keys).collect();
        let groups = Groups::new(&spec, &key_types)?;
        Ok(Self {
            spec,
            groups,
            watermark: None,
            metrics: OperatorMetrics::default(),
            row_groups: Vec::new(),
        })
    }

    fn add(
        &mut self,
        rows: &RecordBatch,
        weights: Option<&Int64Array>,
        slices: Option<ArrayRef>,
    ) -> Result<()> {
        let keys: Vec<ArrayRef> = slices
            .into_iter()
            .chain(
                self.spec
                    .keys
                    .iter()
                    .map(|column| Arc::clone(rows.column(*column))),
            )
            .collect();
        self.groups.intern(&keys, rows.num_rows(), &mut self.row_groups)?;
        self.groups.update(&self.spec, &self.row_groups, rows, weights)
    }

    fn flush(&mut self, output: &mut Output) -> Result<()> {
        let all: Vec<usize> = (0..self.groups.len()).collect();
        if all.is_empty() {
            return Ok(());
        }
        let mut columns = self.groups.table.keys(&all)?;
        if let Some(window) = &self.spec.window {
            let slices = columns.remove(0);
            let time_type = self.spec.partial.field(0).data_type();
            columns.splice(0..0, windows_of(window, &slices, time_type));
        }
        columns.extend(self.groups.state(&all)?);
        output.send(ChangeBatch::insertions(record_batch(
            &self.spec.partial,
            columns,
            all.len(),
        )?));
        self.groups.clear()
    }
}

impl Operator for PartialAggregate {
    fn begin(&mut self, context: &OperatorContext) -> Result<()> {
        self.watermark = context.late();
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        match &self.spec.window {
            None => self.add(changes.rows(), changes.weights(), None)?,
            Some(window) => {
                let sliced = slice(window, &changes, self.watermark, &mut self.metrics);
                if let Some(watermark) = self.watermark {
                    output.set_late_rows_aside(&changes, sliced.late, window.time, watermark)?;
                }
                let slices: ArrayRef = Arc::new(Int64Array::from(sliced.starts));
                match sliced.dropped {
                    None => self.add(changes.rows(), changes.weights(), Some(slices))?,
                    Some(kept) => {
                        let rows = filter_record_batch(changes.rows(), &kept)?;
                        let weights = changes
                            .weights()
                            .map(|weights| filter(weights, &kept))
                            .transpose()?;
                        let weights = weights.as_ref().map(|weights| weights.as_primitive());
                        self.add(&rows, weights, Some(filter(&slices, &kept)?))?;
                    }
                }
            }
        }
        if self.groups.len() > GROUPS_MAX && self.groups.memory() > MEMORY_BYTES_MAX {
            self.flush(output)?;
        }
        Ok(())
    }

    fn seal(&mut self, _context: &OperatorContext, output: &mut Output) -> Result<()> {
        self.flush(output)
    }

    fn metrics(&self) -> OperatorMetrics {
        OperatorMetrics {
            memory_bytes: self.groups.memory() as u64,
            ..self.metrics.clone()
        }
    }
}

/// The slice of each row of a batch.
struct Sliced {
    /// By row; meaningless for rows that are dropped.
    starts: Vec<i64>,
    /// False for rows in no window, or only in windows that are final; `None` when there are none.
    dropped: Option<BooleanArray>,
    /// Positions of the rows that are late.
    late: Vec<usize>,
}

/// What rows of one slice have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Late,
    NoWindow,
}

fn slice(
    window: &WindowKey,
    changes: &ChangeBatch,
    watermark: Option<i64>,
    metrics: &mut OperatorMetrics,
) -> Sliced {
    let watermark = watermark.filter(|_| window.watermark);
    let times = changes
        .rows()
        .column(window.time)
        .as_primitive::<TimestampMicrosecondType>();
    let nulls = times.nulls();
    let mut starts = Vec::with_capacity(times.len());
    let mut dropped: Vec<(usize, Fate)> = Vec::new();
    // Consecutive rows are mostly in one slice, whose bounds are at hand.
    let (mut from, mut until, mut fate) = (0, 0, Fate::Kept);
    for (row, time) in times.values().iter().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            dropped.push((row, Fate::NoWindow));
        } else {
            if !(from <= *time && *time < until) {
                (from, until, fate) = slice_of(window.assign, *time, watermark);
            }
            if fate != Fate::Kept {
                dropped.push((row, fate));
            }
        }
        starts.push(from);
    }
    if dropped.is_empty() {
        return Sliced {
            starts,
            dropped: None,
            late: Vec::new(),
        };
    }
    let mut kept = vec![true; times.len()];
    let mut late = Vec::new();
    for (row, fate) in dropped {
        kept[row] = false;
        let count = changes.weight(row).unsigned_abs();
        match fate {
            Fate::Late => {
                metrics.rows_dropped_by_watermark += count;
                late.push(row);
            }
            Fate::NoWindow | Fate::Kept => metrics.null_event_time += count,
        }
    }
    Sliced {
        starts,
        dropped: Some(kept.into()),
        late,
    }
}

/// Start and end of the slice that `time` is in, and what becomes of its rows.
fn slice_of(assign: WindowSource, time: i64, watermark: Option<i64>) -> (i64, i64, Fate) {
    let (from, until, latest) = match assign {
        WindowSource::Start { .. } => (time, time.saturating_add(1), time),
        WindowSource::Rule(rule) => match rule.assign(time) {
            Some(assigned) => (assigned.from, assigned.until, assigned.latest),
            None => return (time, time, Fate::NoWindow),
        },
    };
    // The latest window is the last to become final.
    let is_final = watermark.is_some_and(|watermark| latest.saturating_add(assign.size()) <= watermark);
    (from, until, if is_final { Fate::Late } else { Fate::Kept })
}

/// The window columns of partial rows.
fn windows_of(window: &WindowKey, slices: &ArrayRef, time_type: &DataType) -> Vec<ArrayRef> {
    let slices = slices.as_primitive::<arrow::datatypes::Int64Type>().values();
    let WindowSource::Rule(rule) = window.assign else {
        return vec![timestamps(slices.to_vec(), time_type)];
    };
    let assigned = || {
        slices
            .iter()
            .map(|slice| rule.assign(*slice).expect("the slice was assigned by this rule"))
    };
    let starts = timestamps(assigned().map(|assigned| assigned.latest).collect(), time_type);
    if rule.is_tumbling() {
        return vec![starts];
    }
    let counts = Int32Array::from_iter_values(assigned().map(|assigned| assigned.count as i32));
    vec![starts, Arc::new(counts)]
}
