//! One row per window that a row's time is in.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::operator::aggregate::timestamps;
use crate::operator::map::record_batch;
use crate::operator::spec::WindowAssignSpec;
use crate::operator::{Operator, OperatorMetrics, Output};

pub(crate) struct WindowAssign {
    spec: WindowAssignSpec,
    watermark: Option<i64>,
    metrics: OperatorMetrics,
}

impl WindowAssign {
    pub fn new(spec: WindowAssignSpec) -> Self {
        Self {
            spec,
            watermark: None,
            metrics: OperatorMetrics::default(),
        }
    }
}

/// A batch with its windows, and what was left out.
pub(crate) struct Expanded {
    pub rows: RecordBatch,
    /// The input row of each output row; `None` when every row stands once and in order.
    pub origins: Option<UInt32Array>,
    /// Rows whose windows are all final.
    late: Vec<usize>,
    /// Rows in no window.
    windowless: Vec<usize>,
}

/// Adds window bounds to every row. Windows that end at or before `watermark` are left out.
pub(crate) fn expand(
    spec: &WindowAssignSpec,
    rows: &RecordBatch,
    watermark: Option<i64>,
) -> Result<Expanded> {
    let times = rows.column(spec.time).as_primitive::<TimestampMicrosecondType>();
    let (mut starts, mut origins) = (Vec::with_capacity(times.len()), Vec::with_capacity(times.len()));
    let (mut late, mut windowless) = (Vec::new(), Vec::new());
    let (mut same, mut once) = (None, true);
    for row in 0..times.len() {
        let time = times.value(row);
        // Consecutive rows are mostly in the same windows.
        if !same.is_some_and(|same: crate::window::Assigned| (same.from..same.until).contains(&time)) {
            same = spec.rule.assign(time);
        }
        let Some(assigned) = same.filter(|_| times.is_valid(row)) else {
            windowless.push(row);
            continue;
        };
        let before = starts.len();
        for back in 0..i64::from(assigned.count) {
            let start = assigned.latest - back * spec.rule.slide();
            if watermark.is_some_and(|watermark| start + spec.rule.size() <= watermark) {
                break;
            }
            starts.push(start);
            origins.push(row as u32);
        }
        match starts.len() - before {
            0 => late.push(row),
            1 => {}
            _ => once = false,
        }
    }
    let origins = (!once || origins.len() < times.len()).then(|| UInt32Array::from(origins));
    let mut columns = Vec::with_capacity(rows.num_columns() + 2);
    for column in rows.columns() {
        columns.push(match &origins {
            None => Arc::clone(column),
            Some(origins) => take(column, origins, None)?,
        });
    }
    let time_type = times.data_type();
    let (length, ends) = (
        starts.len(),
        starts.iter().map(|start| start + spec.rule.size()).collect(),
    );
    { starts.iter_mut() }.for_each(|start| *start = spec.rule.start_of(*start));
    columns.extend::<[ArrayRef; 2]>([timestamps(starts, time_type), timestamps(ends, time_type)]);
    Ok(Expanded {
        rows: record_batch(&spec.output, columns, length)?,
        origins,
        late,
        windowless,
    })
}

impl Operator for WindowAssign {
    fn begin(&mut self, context: &OperatorContext) -> Result<()> {
        self.watermark = context.late().filter(|_| self.spec.drop_late);
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        let expanded = expand(&self.spec, changes.rows(), self.watermark)?;
        if let Some(watermark) = self.watermark {
            output.set_late_rows_aside(&changes, expanded.late.iter().copied(), self.spec.time, watermark)?;
        }
        let count = |rows: &[usize]| {
            rows.iter()
                .map(|row| changes.weight(*row).unsigned_abs())
                .sum::<u64>()
        };
        self.metrics.rows_dropped_by_watermark += count(&expanded.late);
        self.metrics.null_event_time += count(&expanded.windowless);
        output.send(match (changes.weights(), &expanded.origins) {
            (None, _) => ChangeBatch::insertions(expanded.rows),
            (Some(weights), None) => ChangeBatch::new(expanded.rows, weights.clone()),
            (Some(weights), Some(origins)) => {
                let weights = take(weights, origins, None)?;
                ChangeBatch::new(expanded.rows, weights.as_primitive::<Int64Type>().clone())
            }
        });
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        self.metrics.clone()
    }
}
