//! Rows that a condition on `now()` shows for a while: `ts > now() - INTERVAL '1 hour'` until they are too old,
//! `ts <= now()` from their time on.
//!
//! A row is shown while the epoch's processing time is in its span [from, until). It is kept until its span is over, and
//! [`OperatorMetrics::due_us`] says when the next row appears or goes, so that an epoch is run then. A change that comes
//! after the span is over is one of a row that is not shown any more and says nothing.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, TimestampMicrosecondType};
use arrow::row::{RowConverter, RowParser, SortField};
use hashbrown::HashMap;
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::{Error, Result};
use crate::operator::map::record_batch;
use crate::operator::spec::{Rounding, TemporalSpec, Turn};
use crate::operator::{Operator, OperatorMetrics, Output, StateBatch};

type RowBytes = Box<[u8]>;

const DAY_US: i64 = 86_400_000_000;

pub(crate) struct TemporalFilter {
    spec: TemporalSpec,
    rows: RowConverter,
    parser: RowParser,
    kept: HashMap<RowBytes, Kept>,
    /// Rows by the moments at which they appear or go. One that is gone already may still stand here.
    turns: BTreeMap<i64, Vec<RowBytes>>,
    /// The running epoch's changes of rows whose span is not over: weight and span.
    incoming: HashMap<RowBytes, (i64, Span)>,
    now_us: i64,
    delta: Vec<ChangeBatch>,
    row_bytes: usize,
    metrics: OperatorMetrics,
}

/// From the first moment, which is in it, to the second, which is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    from: i64,
    until: i64,
}

impl Span {
    fn holds(self, now_us: i64) -> bool {
        self.from <= now_us && now_us < self.until
    }
}

struct Kept {
    span: Span,
    weight: i64,
    shown: bool,
}

impl TemporalFilter {
    pub fn new(spec: TemporalSpec) -> Result<Self> {
        let fields = spec.input.fields().iter();
        let rows = RowConverter::new(
            fields
                .map(|field| SortField::new(field.data_type().clone()))
                .collect(),
        )?;
        Ok(Self {
            parser: rows.parser(),
            rows,
            spec,
            kept: HashMap::new(),
            turns: BTreeMap::new(),
            incoming: HashMap::new(),
            now_us: i64::MIN,
            delta: Vec::new(),
            row_bytes: 0,
            metrics: OperatorMetrics::default(),
        })
    }

    /// The span of each row; `None` where the condition is NULL or never holds.
    fn spans(&self, rows: &RecordBatch) -> Result<Vec<Option<Span>>> {
        let always = Span {
            from: i64::MIN,
            until: i64::MAX,
        };
        let mut spans = vec![Some(always); rows.num_rows()];
        for bound in &self.spec.bounds {
            let moments = moments(rows.column(bound.column), bound.rounding)?;
            for (span, moment) in spans.iter_mut().zip(&moments) {
                let Some(moment) = moment else {
                    *span = None;
                    continue;
                };
                let moment = match moment {
                    i64::MIN | i64::MAX => moment,
                    finite => finite.saturating_add(bound.offset_us),
                };
                if let Some(span) = span {
                    match bound.turn {
                        Turn::Appears => span.from = span.from.max(moment),
                        Turn::Goes => span.until = span.until.min(moment),
                    }
                }
            }
        }
        let real = |span: Option<Span>| span.filter(|span| span.from < span.until);
        Ok(spans.into_iter().map(real).collect())
    }

    /// Adds up changes of rows whose span is not over.
    fn take_in(&mut self, changes: &ChangeBatch) -> Result<()> {
        let rows = changes.rows();
        let spans = self.spans(rows)?;
        let encoded = self.rows.convert_columns(rows.columns())?;
        self.row_bytes = encoded.size() / rows.num_rows().max(1);
        for (row, span) in spans.into_iter().enumerate() {
            if let Some(span) = span.filter(|span| span.until > self.now_us) {
                let bytes = encoded.row(row).data();
                let weight = changes.weight(row);
                match self.incoming.get_mut(bytes) {
                    Some((sum, _)) => *sum += weight,
                    None => {
                        self.incoming.insert(bytes.into(), (weight, span));
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows whose moment has come appear or go.
    fn turn(&mut self, output: &mut Vec<(RowBytes, i64)>) {
        while let Some(entry) = self
            .turns
            .first_entry()
            .filter(|entry| *entry.key() <= self.now_us)
        {
            for row in entry.remove() {
                let Some(kept) = self.kept.get_mut(&row) else {
                    continue;
                };
                let shows = kept.span.holds(self.now_us);
                if shows != kept.shown {
                    output.push((row.clone(), if shows { kept.weight } else { -kept.weight }));
                }
                kept.shown = shows;
                if kept.span.until <= self.now_us {
                    self.kept.remove(&row);
                    self.metrics.rows_removed += 1;
                }
            }
        }
    }

    /// Keeps the changes of the epoch; those of rows that are shown now go out.
    fn keep(&mut self, output: &mut Vec<(RowBytes, i64)>) -> Vec<(RowBytes, i64)> {
        let mut delta = Vec::new();
        for (row, (weight, span)) in std::mem::take(&mut self.incoming) {
            if weight == 0 {
                continue;
            }
            self.metrics.rows_updated += 1;
            if span.holds(self.now_us) {
                output.push((row.clone(), weight));
            }
            delta.push((row.clone(), weight));
            self.add(row, weight, span);
        }
        delta
    }

    fn add(&mut self, row: RowBytes, weight: i64, span: Span) {
        if let Some(kept) = self.kept.get_mut(&row) {
            kept.weight += weight;
            if kept.weight == 0 {
                self.kept.remove(&row);
            }
            return;
        }
        let moments = [span.from, span.until].into_iter();
        for moment in moments.filter(|moment| *moment > self.now_us && *moment < i64::MAX) {
            self.turns.entry(moment).or_default().push(row.clone());
        }
        let shown = span.holds(self.now_us);
        self.kept.insert(row, Kept { span, weight, shown });
    }

    fn decode<'a>(&self, rows: impl Iterator<Item = (&'a RowBytes, i64)>) -> Result<ChangeBatch> {
        let (rows, weights): (Vec<_>, Vec<i64>) =
            rows.map(|(row, weight)| (self.parser.parse(row), weight)).unzip();
        let length = rows.len();
        let batch = record_batch(&self.spec.input, self.rows.convert_rows(rows)?, length)?;
        Ok(ChangeBatch::new(batch, weights.into()))
    }
}

/// Microseconds since 1970: of a time, or of the begin of a day.
fn moments(column: &ArrayRef, rounding: Rounding) -> Result<Int64Array> {
    let round = |us: i64| match rounding {
        // The infinite times.
        _ if us == i64::MIN || us == i64::MAX => us,
        Rounding::None => us,
        Rounding::Down => us.div_euclid(DAY_US).saturating_mul(DAY_US),
        Rounding::Up => (-(-us).div_euclid(DAY_US)).saturating_mul(DAY_US),
    };
    Ok(match column.data_type() {
        DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().unary(round),
        DataType::Date32 => column
            .as_primitive::<Date32Type>()
            .unary(|day| i64::from(day).saturating_mul(DAY_US)),
        other => return Err(Error::Bug(format!("a bound of type {other}"))),
    })
}

impl Operator for TemporalFilter {
    fn begin(&mut self, context: &OperatorContext) -> Result<()> {
        self.metrics = OperatorMetrics::default();
        self.now_us = context.processing_time_us;
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        self.take_in(&changes)
    }

    fn seal(&mut self, _context: &OperatorContext, output: &mut Output) -> Result<()> {
        let mut changes = Vec::new();
        // First what was there before, at its old weight; then the changes, as of now.
        self.turn(&mut changes);
        let delta = self.keep(&mut changes);
        let pairs = |pairs: &[(RowBytes, i64)]| self.decode(pairs.iter().map(|(row, weight)| (row, *weight)));
        if !changes.is_empty() {
            output.send(pairs(&changes)?);
        }
        if !delta.is_empty() {
            let delta = pairs(&delta)?;
            self.delta.push(delta);
        }
        Ok(())
    }

    fn checkpoint(&mut self, full: bool) -> Result<Vec<StateBatch>> {
        let delta = std::mem::take(&mut self.delta);
        let batches = match full {
            true => vec![self.decode(self.kept.iter().map(|(row, kept)| (row, kept.weight)))?],
            false => delta,
        };
        let state = |changes| StateBatch { port: 0, changes };
        Ok(batches.into_iter().map(state).collect())
    }

    fn restore(&mut self, context: &OperatorContext, state: StateBatch) -> Result<()> {
        self.now_us = context.processing_time_us;
        self.take_in(&state.changes)
    }

    fn restored(&mut self, context: &OperatorContext) -> Result<()> {
        self.now_us = context.processing_time_us;
        self.keep(&mut Vec::new());
        self.metrics = OperatorMetrics::default();
        Ok(())
    }

    fn metrics(&self) -> OperatorMetrics {
        let entry = self.row_bytes + size_of::<Kept>() + 3 * size_of::<RowBytes>();
        OperatorMetrics {
            rows_total: self.kept.len() as u64,
            memory_bytes: (self.kept.len() * entry) as u64,
            due_us: self.turns.keys().next().copied(),
            ..self.metrics.clone()
        }
    }
}

#[cfg(test)]
mod tests;
