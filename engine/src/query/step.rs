//! What an epoch reads: on the way to a cut, as much of each input as the size bound allows.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use hashbrown::HashMap;
use millpond_catalog::ObjectId;
use millpond_storage::{Cut, Relation};

use super::record::{InputPosition, InputRange, LogPosition};
use crate::cut::Timeline;
use crate::error::{Error, Result};
use crate::runtime::InputQueue;
use crate::source::{Limit, Position, Source, SourceError};

/// An input of a query with what it reads from.
#[derive(Clone)]
pub(crate) struct QueryInput {
    pub(crate) object: ObjectId,
    pub(crate) name: String,
    pub(crate) projection: Vec<usize>,
    pub(crate) from: ReadFrom,
}

#[derive(Clone)]
pub(crate) enum ReadFrom {
    Relation(Arc<Relation>),
    Source(Arc<dyn Source>),
}

impl QueryInput {
    /// Where a query that has never run begins.
    pub(crate) fn start(&self) -> InputPosition {
        match &self.from {
            ReadFrom::Relation(_) => InputPosition::Log(LogPosition::at(Cut::ZERO)),
            ReadFrom::Source(source) => InputPosition::Source(source.start()),
        }
    }

    /// All columns, not only those that are read.
    pub(crate) fn schema(&self) -> SchemaRef {
        match &self.from {
            ReadFrom::Relation(relation) => relation.schema(),
            ReadFrom::Source(source) => source.schema(),
        }
    }

    pub(crate) fn description(&self) -> String {
        match &self.from {
            ReadFrom::Relation(_) => self.name.clone(),
            ReadFrom::Source(source) => source.description(),
        }
    }
}

/// The ranges of an epoch.
pub(crate) struct Step {
    pub(crate) ranges: Vec<InputRange>,
    /// Together they end at the target.
    pub(crate) reached: bool,
}

/// How much an epoch may take in, whatever its inputs.
#[derive(Clone, Copy)]
pub(crate) struct EpochLimit {
    pub(crate) bytes: u64,
    /// Microseconds since 1970-01-01 UTC.
    pub(crate) now_us: i64,
}

impl EpochLimit {
    /// For a source of which `columns` are read.
    pub(crate) fn of(self, columns: &[usize]) -> Limit<'_> {
        Limit {
            bytes: self.bytes,
            columns,
            now_us: self.now_us,
        }
    }
}

/// How large an epoch may be, and how much of that is left.
struct Budget {
    limit: EpochLimit,
    used: u64,
    /// By several inputs, so that it matters to the next one how much the last took.
    shared: bool,
    /// Neither this limit nor the caps of the sources hold.
    whole: bool,
}

impl Budget {
    fn left(&self) -> u64 {
        self.limit.bytes.saturating_sub(self.used)
    }

    /// The first piece goes in whatever its size, so that every epoch gets somewhere.
    fn admits(&self, bytes: u64) -> bool {
        self.whole || self.used == 0 || bytes <= self.left()
    }
}

/// The ranges that lead from `positions` towards `target`; all the way with `whole`, whatever the caps.
pub(crate) fn plan(
    inputs: &[QueryInput],
    positions: &[InputPosition],
    target: Cut,
    timeline: &Timeline,
    limit: EpochLimit,
    whole: bool,
) -> Result<Step> {
    let mut budget = Budget {
        limit,
        used: 0,
        shared: inputs.len() > 1,
        whole,
    };
    let mut step = Step {
        ranges: Vec::with_capacity(inputs.len()),
        reached: true,
    };
    for (input, position) in inputs.iter().zip(positions) {
        let (to, reached) = match (&input.from, position) {
            (ReadFrom::Relation(relation), InputPosition::Log(from)) => {
                let (to, reached) = advance_log(relation, *from, target, &mut budget)?;
                (InputPosition::Log(to), reached)
            }
            (ReadFrom::Source(source), InputPosition::Source(from)) => {
                let end = timeline
                    .position(input.object, target)
                    .unwrap_or_else(|| source.start());
                let (to, reached) =
                    advance_source((source.as_ref(), &input.projection), from, &end, &mut budget)?;
                (InputPosition::Source(to), reached)
            }
            (ReadFrom::Relation(_), InputPosition::Source(_))
            | (ReadFrom::Source(_), InputPosition::Log(_)) => {
                return Err(mismatch(input));
            }
        };
        step.reached &= reached;
        step.ranges.push(InputRange {
            from: position.clone(),
            to,
        });
    }
    Ok(step)
}

fn mismatch(input: &QueryInput) -> Error {
    Error::Bug(format!(
        "the recorded position of {} is of another kind of object",
        input.name
    ))
}

/// Where `changes` begins for a reader at `from`. What was summed beyond a reader's cut held no change for it, since logs
/// are not summed past a reader; a reader that has not begun takes the sum.
fn log_start(relation: &Relation, from: LogPosition) -> Cut {
    if from.cut == Cut::ZERO {
        Cut::ZERO
    } else {
        from.cut.max(relation.summed_to())
    }
}

fn advance_log(
    relation: &Relation,
    from: LogPosition,
    target: Cut,
    budget: &mut Budget,
) -> Result<(LogPosition, bool)> {
    if from.cut >= target {
        return Ok((from, true));
    }
    let start = log_start(relation, from);
    if start >= target {
        return Ok((LogPosition::at(target), true));
    }
    let entries = relation.changes(start, target)?;
    for (taken, entry) in entries.iter().enumerate().skip(from.entries) {
        if !budget.admits(entry.bytes) {
            let to = LogPosition {
                cut: from.cut,
                entries: taken,
            };
            return Ok((to, false));
        }
        // An empty entry counts too, or a log of empty ones would be taken in whole.
        budget.used += entry.bytes.max(1);
    }
    Ok((LogPosition::at(target), true))
}

fn advance_source(
    (source, columns): (&dyn Source, &[usize]),
    from: &Position,
    end: &Position,
    budget: &mut Budget,
) -> Result<(Position, bool)> {
    if source.reached(from, end) {
        return Ok((from.clone(), true));
    }
    if budget.whole {
        return Ok((source.present(from, end.clone())?, true));
    }
    if budget.used > 0 && budget.left() == 0 {
        return Ok((from.clone(), false));
    }
    let limit = EpochLimit {
        bytes: budget.left().max(1),
        ..budget.limit
    };
    let Some(to) = source.advance(from, Some(end), limit.of(columns))? else {
        let message = format!(
            "{} does not show the input up to {end} that it has shown before",
            source.description()
        );
        return Err(Error::Source(SourceError::Unavailable(message)));
    };
    let slices = if budget.shared {
        source.slices(from, &to, 1)?
    } else {
        Vec::new()
    };
    budget.used += slices.iter().map(|slice| slice.bytes).sum::<u64>().max(1);
    let reached = source.reached(&to, end);
    Ok((to, reached))
}

/// Opens the ranges for reading by about `workers` readers.
pub(crate) fn open(inputs: &[QueryInput], ranges: &[InputRange], workers: usize) -> Result<Vec<InputQueue>> {
    inputs
        .iter()
        .zip(ranges)
        .map(|(input, range)| match (&input.from, &range.from, &range.to) {
            (ReadFrom::Relation(relation), InputPosition::Log(from), InputPosition::Log(to)) => {
                open_log(relation, input, *from, *to)
            }
            (ReadFrom::Source(source), InputPosition::Source(from), InputPosition::Source(to)) => {
                let slices = if from == to {
                    Vec::new()
                } else {
                    source.slices(from, to, workers)?
                };
                Ok(InputQueue::of_source(
                    source.clone(),
                    input.projection.clone(),
                    slices,
                ))
            }
            _ => Err(mismatch(input)),
        })
        .collect()
}

fn open_log(
    relation: &Relation,
    input: &QueryInput,
    from: LogPosition,
    to: LogPosition,
) -> Result<InputQueue> {
    let mut entries = Vec::new();
    if from != to {
        let start = log_start(relation, from);
        // A range within one cut ends before some later entry, wherever the log ends now.
        let end = if to.entries > 0 {
            relation.last_cut()
        } else {
            to.cut
        };
        if start < end {
            entries = relation.changes(start, end)?;
        }
        if to.entries > 0 {
            entries.truncate(to.entries);
        }
        entries.drain(..from.entries.min(entries.len()));
    }
    Ok(InputQueue::of_relation(input.projection.clone(), entries))
}

/// How far sources have moved since the cut `latest`, asking each that the query reads once.
pub(crate) fn moves(
    inputs: &[QueryInput],
    latest: Cut,
    timeline: &Timeline,
    limit: EpochLimit,
) -> Result<Vec<(ObjectId, Position)>> {
    let mut moves: HashMap<ObjectId, Position> = HashMap::new();
    for input in inputs {
        let ReadFrom::Source(source) = &input.from else {
            continue;
        };
        if moves.contains_key(&input.object) {
            continue;
        }
        let from = timeline
            .position(input.object, latest)
            .unwrap_or_else(|| source.start());
        if let Some(to) = source.advance(&from, None, limit.of(&input.projection))? {
            moves.insert(input.object, to);
        }
    }
    Ok(moves.into_iter().collect())
}
