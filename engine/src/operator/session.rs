//! Session windows: rows of one key that follow each other closely share a window, whose bounds become two more columns.
//!
//! A new row can extend a session or join two, a retraction can split one; so rows that came out before are taken back and
//! come out again with the bounds they have now. State is the rows of the sessions. With a watermark a session is final
//! once its end has passed, and it is forgotten once no row can touch it any more: until then, a late row must be told
//! from one that begins a session of its own.

mod timeline;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
    /// When to look at which session, with a watermark: to let it out, and then to forget it. One that has grown meanwhile
    /// is looked at again later, one that is not there any more no further.
    due: BinaryHeap<Reverse<(i64, RowBytes, i64)>>,
    /// Sessions that no row can touch any more.
    over: Vec<(RowBytes, i64)>,
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
            due: BinaryHeap::new(),
            over: Vec::new(),
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
            for row in Timeline::default().apply(arrivals, None, true).assigned {
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
        for row in 0..changes.num_rows() {
            let time = times.value(row);
            let placed = times.is_valid(row) && ![i64::MIN, i64::MAX].contains(&time);
            let gap = self.gap(columns, row).filter(|gap| *gap > 0);
            let Some(gap) = gap.filter(|_| placed) else {
                let weight = changes.weight(row).unsigned_abs();
                self.metrics.null_event_time += weight;
                continue;
            };
            let key = keys.as_ref().map_or(&[][..], |keys| keys.row(row).data());
            let arrival = Arrival {
                time,
                gap,
                row: rows.row(row).data().into(),
                weight: changes.weight(row),
            };
            match self.incoming.get_mut(key) {
                Some(arrivals) => arrivals.push(arrival),
                None => _ = self.incoming.insert(key.into(), vec![arrival]),
            }
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
        let timeline = self.timelines.entry(Arc::clone(&key)).or_default();
        let rows_before = timeline.num_rows();
        let step = timeline.apply(arrivals, watermark, !self.spec.final_only);
        let rows_after = timeline.num_rows();
        if timeline.is_empty() {
            self.timelines.remove(&key);
        }
        self.metrics.rows_total = (self.metrics.rows_total + rows_after as u64) - rows_before as u64;
        self.metrics.rows_updated += step.applied.len() as u64;
        self.metrics.rows_dropped_by_watermark += step.late;
        if self.spec.watermark {
            for session in &step.begun {
                self.schedule(&key, session);
            }
        }
        step
    }

    fn schedule(&mut self, key: &RowBytes, session: &Session) {
        let at = self.due_at(session);
        self.due.push(Reverse((at, Arc::clone(key), session.start)));
    }

    /// Past which watermark something is to be done about the session.
    fn due_at(&self, session: &Session) -> i64 {
        if self.spec.final_only && !session.emitted {
            session.end
        } else {
            session.forgotten_at()
        }
    }

    /// The sessions that have become final, for a result that holds no others. Those that no row can touch any more are
    /// noted.
    fn close(&mut self, watermark: i64) -> Vec<Assigned> {
        let mut assigned = Vec::new();
        while let Some(Reverse((at, ..))) = self.due.peek()
            && *at < watermark
            && let Some(Reverse((_, key, start))) = self.due.pop()
        {
            let Some(timeline) = self.timelines.get_mut(&key) else {
                continue;
            };
            let Some(session) = timeline.session(start) else {
                continue;
            };
            let lets_out = self.spec.final_only && !session.emitted && session.end < watermark;
            session.emitted |= lets_out;
            let session = *session;
            if lets_out {
                assigned.extend(timeline.rows_of(&session).map(|(row, weight)| Assigned {
                    row: Arc::clone(row),
                    start,
                    end: session.end,
                    weight,
                }));
            }
            if self.due_at(&session) < watermark {
                self.over.push((key, start));
            } else {
                self.schedule(&key, &session);
            }
        }
        assigned
    }

    /// Drops what no row can touch any more.
    fn forget(&mut self) {
        for (key, start) in std::mem::take(&mut self.over) {
            let Some(timeline) = self.timelines.get_mut(&key) else {
                continue;
            };
            if let Some(session) = timeline.session(start).copied() {
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
        let mut assigned = watermark.map_or_else(Vec::new, |watermark| self.close(watermark));
        let (mut applied, mut late) = (Vec::new(), Vec::new());
        for (key, arrivals) in std::mem::take(&mut self.incoming) {
            let step = self.apply(key, arrivals, watermark);
            assigned.extend(step.assigned);
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
        self.forget();
        if !assigned.is_empty() {
            output.send(self.output(&assigned)?);
        }
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        let changes = match delta.as_slice() {
            _ if full => {
                let rows = self.timelines.values().flat_map(Timeline::rows);
                Some(self.input_rows(rows)?)
            }
            // The rows of one epoch are summed already.
            [one] => Some(one.clone()),
            several => consolidate(several)?,
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
            for session in timeline.sessions() {
                // What was final by the last epoch has come out.
                session.emitted = self.spec.final_only && session.is_final(watermark);
                sessions.push((Arc::clone(key), *session));
            }
        }
        self.metrics.rows_total = rows_total;
        if self.spec.watermark {
            sessions
                .iter()
                .for_each(|(key, session)| self.schedule(key, session));
        }
        if let Some(watermark) = watermark {
            self.close(watermark);
            self.forget();
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
