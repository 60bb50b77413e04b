//! Session windows: rows of one key that follow each other closely share a window, whose bounds become two more columns.
//!
//! A new row can extend a session or join two, a retraction can split one; so rows that came out before are taken back and
//! come out again with the bounds they have now. State is the rows of the sessions. With a watermark a session is final
//! once its end has passed, and it is forgotten once no row can touch it any more: until then, a late row must be told
//! from one that begins a session of its own.

mod timeline;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{IntervalMonthDayNanoType, TimestampMicrosecondType};
use arrow::row::{RowConverter, RowParser, SortField};
use hashbrown::HashMap;
use millpond_storage::{ChangeBatch, consolidate};

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::operator::aggregate::timestamps;
use crate::operator::map::record_batch;
use crate::operator::spec::{SessionGap, SessionSpec};
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};

use timeline::{Arrival, Assigned, RowBytes, Session, Step, Timeline};

const DAY_US: i64 = 86_400_000_000;
/// As `justify_interval` of Postgres counts.
const MONTH_DAYS: i64 = 30;

pub(crate) struct SessionAssign {
    spec: SessionSpec,
    rows: RowConverter,
    parser: RowParser,
    /// `None` without keys, where all rows have one.
    keys: Option<RowConverter>,
    timelines: HashMap<RowBytes, Timeline>,
    /// Changes of the epoch that have a place in time, by key.
    incoming: HashMap<RowBytes, Vec<Arrival>>,
    /// Ends of sessions that are not final, for a result that holds final ones only.
    open: BTreeSet<(i64, RowBytes, i64)>,
    /// When to forget which session.
    forget: BTreeSet<(i64, RowBytes, i64)>,
    /// What took effect since the last checkpoint.
    delta: Vec<ChangeBatch>,
    /// Bytes of an encoded row, on average of the last batch.
    row_bytes: usize,
    metrics: OperatorMetrics,
}

impl SessionAssign {
    pub fn new(spec: SessionSpec) -> Result<Self> {
        let sort_field = |column: usize| SortField::new(spec.input.field(column).data_type().clone());
        let rows = RowConverter::new((0..spec.input.fields().len()).map(sort_field).collect())?;
        let keys = match spec.keys.as_slice() {
            [] => None,
            keys => Some(RowConverter::new(keys.iter().copied().map(sort_field).collect())?),
        };
        let parser = rows.parser();
        Ok(Self {
            spec,
            rows,
            parser,
            keys,
            timelines: HashMap::new(),
            incoming: HashMap::new(),
            open: BTreeSet::new(),
            forget: BTreeSet::new(),
            delta: Vec::new(),
            row_bytes: 0,
            metrics: OperatorMetrics::default(),
        })
    }

    /// All sessions of rows that are complete, in the columns of the output.
    pub fn run_once(spec: SessionSpec, rows: Vec<RecordBatch>) -> Result<RecordBatch> {
        let mut operator = Self::new(spec)?;
        for batch in rows {
            operator.take_in(&ChangeBatch::insertions(batch))?;
        }
        let mut assigned = Vec::new();
        for (_, arrivals) in std::mem::take(&mut operator.incoming) {
            for row in Timeline::default().apply(arrivals, None).assigned {
                let times = usize::try_from(row.weight).unwrap_or(0);
                assigned.extend(std::iter::repeat_n(row, times));
            }
        }
        Ok(operator.output(&assigned)?.into_parts().0)
    }

    fn watermark(&self, context: &OperatorContext) -> Option<i64> {
        context.closes().filter(|_| self.spec.watermark)
    }

    /// Sorts changes by key; those without a time or with no gap are in no session.
    fn take_in(&mut self, changes: &ChangeBatch) -> Result<()> {
        let columns = changes.rows().columns();
        let rows = self.rows.convert_columns(columns)?;
        self.row_bytes = rows.size() / rows.num_rows().max(1);
        let keys = match &mut self.keys {
            None => None,
            Some(keys) => {
                let columns: Vec<ArrayRef> = self
                    .spec
                    .keys
                    .iter()
                    .map(|column| Arc::clone(&columns[*column]))
                    .collect();
                Some(keys.convert_columns(&columns)?)
            }
        };
        let times = columns[self.spec.time].as_primitive::<TimestampMicrosecondType>();
        let mut key = RowBytes::default();
        for row in 0..changes.num_rows() {
            let time = times.value(row);
            let placed = times.is_valid(row) && ![i64::MIN, i64::MAX].contains(&time);
            let gap = self.gap(columns, row).filter(|gap| *gap > 0);
            let Some(gap) = gap.filter(|_| placed) else {
                let weight = changes.weight(row).unsigned_abs();
                self.metrics.null_event_time += weight;
                continue;
            };
            if let Some(keys) = &keys
                && *key != *keys.row(row).data()
            {
                key = keys.row(row).data().into();
            }
            let arrival = Arrival {
                time,
                gap,
                row: rows.row(row).data().into(),
                weight: changes.weight(row),
            };
            self.incoming.entry(key.clone()).or_default().push(arrival);
        }
        Ok(())
    }

    /// Microseconds, `None` for NULL.
    fn gap(&self, columns: &[ArrayRef], row: usize) -> Option<i64> {
        match self.spec.gap {
            SessionGap::Constant(us) => Some(us),
            SessionGap::Column(column) => {
                let gaps = columns[column].as_primitive::<IntervalMonthDayNanoType>();
                let gap = gaps.is_valid(row).then(|| gaps.value(row))?;
                let days = i64::from(gap.months) * MONTH_DAYS + i64::from(gap.days);
                Some(days.saturating_mul(DAY_US).saturating_add(gap.nanoseconds / 1000))
            }
        }
    }

    fn apply(&mut self, key: RowBytes, arrivals: Vec<Arrival>, watermark: Option<i64>) -> Step {
        let timeline = self.timelines.entry(key.clone()).or_default();
        let rows_before = timeline.num_rows();
        let step = timeline.apply(arrivals, watermark);
        let rows_after = timeline.num_rows();
        if timeline.is_empty() {
            self.timelines.remove(&key);
        }
        self.metrics.rows_total = (self.metrics.rows_total + rows_after as u64) - rows_before as u64;
        self.metrics.rows_updated += step.applied.len() as u64;
        self.metrics.rows_dropped_by_watermark += step.late;
        if self.spec.watermark {
            for session in &step.gone {
                self.open.remove(&(session.end, key.clone(), session.start));
                self.forget
                    .remove(&(session.forgotten_at(), key.clone(), session.start));
            }
            self.schedule(&key, &step.come);
        }
        step
    }

    fn schedule(&mut self, key: &RowBytes, sessions: &[Session]) {
        for session in sessions {
            self.forget
                .insert((session.forgotten_at(), key.clone(), session.start));
            if self.spec.final_only {
                self.open.insert((session.end, key.clone(), session.start));
            }
        }
    }

    /// The sessions that have become final, for a result that holds no others.
    fn close(&mut self, watermark: i64) -> Vec<Assigned> {
        let mut assigned = Vec::new();
        while let Some((end, key, start)) = self.open.first().cloned() {
            if end >= watermark {
                break;
            }
            self.open.pop_first();
            let timeline = &self.timelines[&key];
            if let Some(session) = timeline.session(start) {
                assigned.extend(timeline.rows_of(&session).map(|(row, weight)| Assigned {
                    row: row.clone(),
                    start,
                    end,
                    weight,
                }));
            }
        }
        assigned
    }

    /// Drops what no row can touch any more.
    fn forget(&mut self, watermark: i64) {
        while let Some((at, key, start)) = self.forget.first().cloned() {
            if at >= watermark {
                break;
            }
            self.forget.pop_first();
            let Some(timeline) = self.timelines.get_mut(&key) else {
                continue;
            };
            if let Some(session) = timeline.session(start) {
                let removed = timeline.forget(&session);
                self.metrics.rows_removed += removed;
                self.metrics.rows_total -= removed;
            }
            if timeline.is_empty() {
                self.timelines.remove(&key);
            }
        }
    }

    /// Rows and their weights in the input's columns.
    fn input_rows<'a>(&self, rows: impl Iterator<Item = (&'a RowBytes, i64)>) -> Result<ChangeBatch> {
        let (rows, weights): (Vec<_>, Vec<_>) = rows.unzip();
        let columns = self.decode(rows.into_iter())?;
        let batch = record_batch(&self.spec.input, columns, weights.len())?;
        Ok(ChangeBatch::new(batch, weights.into()))
    }

    fn decode<'a>(&self, rows: impl Iterator<Item = &'a RowBytes>) -> Result<Vec<ArrayRef>> {
        Ok(self.rows.convert_rows(rows.map(|row| self.parser.parse(row)))?)
    }

    fn output(&self, assigned: &[Assigned]) -> Result<ChangeBatch> {
        let mut columns = self.decode(assigned.iter().map(|assigned| &assigned.row))?;
        let time_type = self.spec.input.field(self.spec.time).data_type();
        let bound = |of: fn(&Assigned) -> i64| timestamps(assigned.iter().map(of).collect(), time_type);
        columns.extend([bound(|assigned| assigned.start), bound(|assigned| assigned.end)]);
        let rows = record_batch(&self.spec.output, columns, assigned.len())?;
        let weights: Int64Array = assigned.iter().map(|assigned| assigned.weight).collect();
        Ok(if weights.values().iter().all(|weight| *weight == 1) {
            ChangeBatch::insertions(rows)
        } else {
            ChangeBatch::new(rows, weights)
        })
    }
}

impl Operator for SessionAssign {
    fn begin(&mut self, _context: &OperatorContext) -> Result<()> {
        self.metrics = OperatorMetrics {
            rows_total: self.metrics.rows_total,
            ..OperatorMetrics::default()
        };
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        self.take_in(&changes)
    }

    fn seal(&mut self, context: &OperatorContext, output: &mut Output) -> Result<()> {
        let watermark = self.watermark(context);
        let mut assigned = match watermark {
            Some(watermark) if self.spec.final_only => self.close(watermark),
            _ => Vec::new(),
        };
        let (mut applied, mut late) = (Vec::new(), Vec::new());
        for (key, arrivals) in std::mem::take(&mut self.incoming) {
            let step = self.apply(key, arrivals, watermark);
            if !self.spec.final_only {
                assigned.extend(step.assigned);
            }
            applied.extend(step.applied);
            late.extend(step.late_rows);
        }
        if let Some(watermark) = watermark.filter(|_| !late.is_empty()) {
            let rows = self.input_rows(late.iter().map(|arrival| (&arrival.row, arrival.weight)))?;
            output.set_late_rows_aside(&rows, 0..rows.num_rows(), self.spec.time, watermark)?;
        }
        if !applied.is_empty() {
            let applied = applied.iter().map(|arrival| (&arrival.row, arrival.weight));
            self.delta.push(self.input_rows(applied)?);
        }
        if let Some(watermark) = watermark {
            self.forget(watermark);
        }
        if !assigned.is_empty() {
            output.send(self.output(&assigned)?);
        }
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        let changes = if full {
            let rows = self.timelines.values().flat_map(Timeline::rows);
            Some(self.input_rows(rows)?)
        } else {
            consolidate(&delta)?
        };
        Ok(StateBatch::of_input(changes, full))
    }

    fn restore(&mut self, _context: &OperatorContext, state: StateBatch) -> Result<()> {
        self.take_in(&state.changes)?;
        for (key, arrivals) in std::mem::take(&mut self.incoming) {
            let timeline = self.timelines.entry(key).or_default();
            arrivals
                .into_iter()
                .for_each(|arrival| timeline.put_back(arrival));
        }
        Ok(())
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        let watermark = self.watermark(context);
        let mut rows_total = 0;
        let mut sessions = Vec::new();
        for (key, timeline) in &mut self.timelines {
            timeline.rebuild();
            rows_total += timeline.num_rows() as u64;
            sessions.extend(timeline.sessions().map(|session| (key.clone(), *session)));
        }
        self.metrics.rows_total = rows_total;
        if self.spec.watermark {
            for (key, session) in sessions {
                // What was final by the last epoch has come out.
                let emitted = session.is_final(watermark);
                self.schedule(&key, &[session]);
                if emitted {
                    self.open.remove(&(session.end, key, session.start));
                }
            }
        }
        if let Some(watermark) = watermark {
            self.forget(watermark);
        }
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        OperatorMetrics {
            memory_bytes: self.metrics.rows_total * (self.row_bytes + size_of::<Arrival>()) as u64,
            ..self.metrics.clone()
        }
    }
}
