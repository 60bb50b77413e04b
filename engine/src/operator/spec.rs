//! Operators as plain data: what `lower` decides, `EXPLAIN (DATAFLOW)` prints and the runtime builds instances from.

mod join;

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::UnnestOptions;
use datafusion::physical_expr::PhysicalExpr;
use itertools::Itertools;

pub use join::{JoinFilter, JoinSpec, JoinTimes, Role};

use crate::error::Result;
use crate::operator::Operator;
use crate::operator::aggregate::{FinalAggregate, PartialAggregate, SlidingAggregate};
use crate::operator::constant::Constant;
use crate::operator::dedup::Dedup;
use crate::operator::join::Join;
use crate::operator::map::Map;
use crate::operator::recompute::Recompute;
use crate::operator::recompute::spec::RecomputeSpec;
use crate::operator::session::SessionAssign;
use crate::operator::temporal::TemporalFilter;
use crate::operator::union::Union;
use crate::operator::unnest::Unnest;
use crate::operator::window_assign::WindowAssign;
use crate::window::{Micros, WindowRule};

/// An operator of a dataflow.
#[derive(Debug, Clone)]
pub enum OperatorSpec {
    Map(MapSpec),
    WindowAssign(WindowAssignSpec),
    SessionAssign(SessionSpec),
    Unnest(UnnestSpec),
    /// All changes of all inputs, under this schema.
    Union(SchemaRef),
    PartialAggregate(Arc<AggregateSpec>),
    FinalAggregate(Arc<AggregateSpec>),
    Join(Arc<JoinSpec>),
    Dedup(DedupSpec),
    Temporal(TemporalSpec),
    /// These rows, from the first epoch on.
    Constant(RecordBatch),
    Recompute(Arc<RecomputeSpec>),
}

impl OperatorSpec {
    /// A fresh instance. `name` is the node's, which bad rows are reported under.
    pub fn build(&self, name: &str) -> Result<Box<dyn Operator>> {
        Ok(match self {
            OperatorSpec::Map(spec) => Box::new(Map::new(spec, name)?),
            OperatorSpec::WindowAssign(spec) => Box::new(WindowAssign::new(spec.clone())),
            OperatorSpec::SessionAssign(spec) => Box::new(SessionAssign::new(spec.clone())?),
            OperatorSpec::Unnest(spec) => Box::new(Unnest::new(spec.clone())),
            OperatorSpec::Union(schema) => Box::new(Union::new(Arc::clone(schema))),
            OperatorSpec::PartialAggregate(spec) => Box::new(PartialAggregate::new(Arc::clone(spec))?),
            OperatorSpec::FinalAggregate(spec) if spec.slides => {
                Box::new(SlidingAggregate::new(Arc::clone(spec), name)?)
            }
            OperatorSpec::FinalAggregate(spec) => Box::new(FinalAggregate::new(Arc::clone(spec), name)?),
            OperatorSpec::Constant(rows) => Box::new(Constant::new(rows.clone())),
            OperatorSpec::Join(spec) => Box::new(Join::new(Arc::clone(spec), name)?),
            OperatorSpec::Dedup(spec) => Box::new(Dedup::new(spec.clone())?),
            OperatorSpec::Temporal(spec) => Box::new(TemporalFilter::new(spec.clone())?),
            OperatorSpec::Recompute(spec) => Box::new(Recompute::new(Arc::clone(spec), name)?),
        })
    }
}

/// Filters and projections in one pass, row by row.
#[derive(Debug, Clone)]
pub struct MapSpec {
    pub input: SchemaRef,
    pub steps: Vec<MapStep>,
    pub output: SchemaRef,
    /// A failing expression stops the query instead of setting its row aside.
    pub fail_on_error: bool,
}

#[derive(Debug, Clone)]
pub enum MapStep {
    Filter(Arc<dyn PhysicalExpr>),
    /// One expression per column of the schema.
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
}

/// One row per window that the row's time is in, with the window's bounds as two more columns.
#[derive(Debug, Clone)]
pub struct WindowAssignSpec {
    /// Position of the time column.
    pub time: usize,
    pub rule: WindowRule,
    pub output: SchemaRef,
    /// Rows whose windows are all final are dropped and counted, for an aggregation above that frees its state.
    pub drop_late: bool,
}

/// The bounds of the session that a row is in, as two more columns.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    pub input: SchemaRef,
    /// Position of the time column.
    pub time: usize,
    pub gap: SessionGap,
    /// Columns whose values share a line of sessions.
    pub keys: Vec<usize>,
    /// The time is bounded by the input's watermark, and rows are only added: sessions become final and are forgotten.
    pub watermark: bool,
    /// Rows come out once, when their session is final, and not before.
    pub final_only: bool,
    pub output: SchemaRef,
}

/// How long after a row its session lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionGap {
    /// Microseconds.
    Constant(i64),
    /// Position of an interval column.
    Column(usize),
}

/// The first row of each key of rows that are only added.
#[derive(Debug, Clone)]
pub struct DedupSpec {
    pub input: SchemaRef,
    /// Columns whose values together tell rows apart.
    pub keys: Vec<usize>,
    /// The event time, by which keys are forgotten.
    pub time: Option<usize>,
    /// A key is remembered until the watermark is so far past its first row.
    pub within_us: i64,
}

/// Rows are shown from the latest moment at which they appear to the earliest at which they go.
#[derive(Debug, Clone)]
pub struct TemporalSpec {
    pub input: SchemaRef,
    pub bounds: Vec<TemporalBound>,
}

/// When a row appears or goes: the time or day in a column, rounded, and so many microseconds later. Never, where the
/// column is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalBound {
    pub column: usize,
    pub rounding: Rounding,
    pub offset_us: i64,
    pub turn: Turn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Appears,
    Goes,
}

/// To the begin of a day, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    None,
    Down,
    Up,
}

/// Lists become rows, structs become columns.
#[derive(Debug, Clone)]
pub struct UnnestSpec {
    pub input: SchemaRef,
    pub output: SchemaRef,
    /// For each output column, the input column it comes from.
    pub sources: Vec<usize>,
    /// Input columns that are lists to unnest.
    pub lists: Vec<usize>,
    pub structs: Vec<usize>,
    pub options: UnnestOptions,
}

/// Grouping and aggregation, in two phases around an exchange.
///
/// The partial phase turns the epoch's rows into *partial rows*: the latest window start and the number of windows (where
/// there is a window), the keys, the state columns of each accumulator, and the sum of the weights of the rows that went
/// in. Partial rows of equal groups can be merged in any order. They are also the form in which state is kept on disk.
#[derive(Debug, Clone)]
pub struct AggregateSpec {
    pub input: SchemaRef,
    pub window: Option<WindowKey>,
    /// Input columns to group by, besides the window.
    pub keys: Vec<usize>,
    pub accumulators: Vec<AccumulatorSpec>,
    /// Columns of the result, in order.
    pub outputs: Vec<AggregateOutput>,
    /// No retractions come in.
    pub append_only: bool,
    /// Groups come out once, when their window is final, and not before.
    pub final_only: bool,
    /// A group that came out is kept and can change for a while, by the first bound; by the second its window is closed.
    pub revisable: bool,
    /// A window that is handed over is the one before it with what entered and without what left.
    pub slides: bool,
    pub partial: SchemaRef,
    pub output: SchemaRef,
    /// A result that cannot be represented stops the query instead of being set aside.
    pub fail_on_error: bool,
}

impl AggregateSpec {
    /// Position of the accumulator that counts revisions.
    pub fn revisions(&self) -> Option<usize> {
        let mut accumulators = self.accumulators.iter();
        accumulators.position(|accumulator| accumulator.kind == AccumulatorKind::Revisions)
    }

    /// The result says whether its window is final.
    pub fn tells_final(&self) -> bool {
        self.outputs.contains(&AggregateOutput::IsFinal)
    }

    /// Groups of windows that are closed, but not final, matter.
    pub fn knows_closed(&self) -> bool {
        self.revisable || self.revisions().is_some()
    }
}

/// The window that is part of the group key.
#[derive(Debug, Clone)]
pub struct WindowKey {
    /// Input column: the event time, or the start of a window assigned before.
    pub time: usize,
    pub assign: WindowSource,
    /// The time is bounded by the input's watermark: late rows are dropped, final windows are freed.
    pub watermark: bool,
    /// It is bounded by the clock: windows are final when their time has come, without a row.
    pub by_clock: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSource {
    /// The rule gives the windows of each row.
    Rule(WindowRule),
    /// The rows carry the start of a window of this size.
    Start { size: i64 },
}

impl WindowSource {
    pub fn size(&self) -> i64 {
        match self {
            WindowSource::Rule(rule) => rule.size(),
            WindowSource::Start { size } => *size,
        }
    }

    /// The size of the longest windows.
    pub fn longest(&self) -> i64 {
        match self {
            WindowSource::Rule(rule) => rule.longest(),
            WindowSource::Start { size } => *size,
        }
    }

    /// A row may be in several windows.
    pub fn overlaps(&self) -> bool {
        matches!(self, WindowSource::Rule(rule) if !rule.is_tumbling())
    }
}

/// What is accumulated per group. Aggregates of equal argument and filter share one accumulator: `sum(x)` and `avg(x)`
/// read the same sum and count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccumulatorSpec {
    pub kind: AccumulatorKind,
    /// Input column of the argument; none for `count(*)` with a filter.
    pub argument: Option<usize>,
    /// Type of the argument.
    pub data_type: DataType,
    /// Input column of the FILTER clause.
    pub filter: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccumulatorKind {
    /// How many values are not NULL.
    Count,
    /// Exact sum, and how many values are not NULL.
    Sum,
    Min,
    Max,
    /// Like `Count` and `Sum`, over the distinct values, each kept with how often it stands there.
    DistinctCount,
    DistinctSum,
    /// Exact sum and sum of squares, and how many values are not NULL.
    Variance,
    DistinctVariance,
    /// How many are true and how many false.
    Booleans,
    /// How often the result has changed since its window was closed.
    Revisions,
}

impl AccumulatorSpec {
    /// One that counts revisions.
    pub fn revisions() -> Self {
        Self {
            kind: AccumulatorKind::Revisions,
            argument: None,
            data_type: DataType::Null,
            filter: None,
        }
    }

    /// Everything that `wanted` would tell can be read from this accumulator.
    pub fn serves(&self, wanted: &AccumulatorSpec) -> bool {
        let counts_too = self.kind == AccumulatorKind::Sum && wanted.kind == AccumulatorKind::Count;
        let same_values = self.argument == wanted.argument && self.filter == wanted.filter;
        self == wanted || (counts_too && same_values)
    }
}

/// A column of an aggregation's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AggregateOutput {
    WindowStart,
    WindowEnd,
    /// Position in [`AggregateSpec::keys`].
    Key(usize),
    /// `count(*)`.
    Rows,
    /// Whether the window is final.
    IsFinal,
    Aggregate {
        accumulator: usize,
        reading: Reading,
    },
}

/// What is read from an accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    Count,
    Revisions,
    Sum,
    Average,
    /// The least or greatest value.
    Extreme,
    And,
    Or,
    SampleVariance,
    PopulationVariance,
    SampleDeviation,
    PopulationDeviation,
}

impl fmt::Display for OperatorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorSpec::Map(spec) => write!(f, "Map {spec}"),
            OperatorSpec::WindowAssign(spec) => {
                write!(
                    f,
                    "WindowAssign {} over {}",
                    spec.rule,
                    spec.output.field(spec.time).name()
                )?;
                if spec.drop_late {
                    f.write_str(", late rows dropped")
                } else {
                    Ok(())
                }
            }
            OperatorSpec::SessionAssign(spec) => {
                let name = |column: usize| spec.input.field(column).name();
                write!(f, "SessionAssign over {} with gap ", name(spec.time))?;
                match spec.gap {
                    SessionGap::Constant(us) => write!(f, "{}", Micros(us))?,
                    SessionGap::Column(column) => f.write_str(name(column))?,
                }
                write!(f, " by [{}]", spec.keys.iter().map(|key| name(*key)).join(", "))?;
                if spec.final_only {
                    f.write_str(", emits when the session is final")
                } else {
                    Ok(())
                }
            }
            OperatorSpec::Unnest(spec) => {
                let lists = spec.lists.iter().chain(&spec.structs);
                write!(
                    f,
                    "Unnest {}",
                    lists.map(|column| spec.input.field(*column).name()).join(", ")
                )
            }
            OperatorSpec::Union(_) => f.write_str("Union"),
            OperatorSpec::PartialAggregate(spec) => write!(f, "PartialAggregate {spec}"),
            OperatorSpec::Join(spec) => write!(f, "Join {spec}"),
            OperatorSpec::Dedup(spec) => {
                let names = spec.keys.iter().map(|key| spec.input.field(*key).name());
                write!(f, "Dedup by [{}]", { names }.join(", "))?;
                match spec.time {
                    Some(_) if spec.within_us > 0 => write!(f, " within {}", Micros(spec.within_us)),
                    Some(_) | None => Ok(()),
                }
            }
            OperatorSpec::Temporal(spec) => {
                f.write_str("Temporal")?;
                for (i, bound) in spec.bounds.iter().enumerate() {
                    let turn = match bound.turn {
                        Turn::Appears => "appears",
                        Turn::Goes => "goes",
                    };
                    let day = match bound.rounding {
                        Rounding::None => "",
                        Rounding::Down => "day of ",
                        Rounding::Up => "day from ",
                    };
                    let separator = if i == 0 { "," } else { " and" };
                    let name = spec.input.field(bound.column).name();
                    write!(
                        f,
                        "{separator} {turn} at {day}{name} + {}",
                        Micros(bound.offset_us)
                    )?;
                }
                Ok(())
            }
            OperatorSpec::Constant(rows) => write!(f, "Constant, {} rows", rows.num_rows()),
            OperatorSpec::FinalAggregate(spec) => {
                let emit = if spec.revisable {
                    "when the window is final, and revisions"
                } else if spec.slides {
                    "when the window is final, from the one before"
                } else if spec.final_only {
                    "when the window is final"
                } else {
                    "changes"
                };
                write!(f, "FinalAggregate {spec}, emits {emit}")
            }
            OperatorSpec::Recompute(spec) => write!(f, "{spec}"),
        }
    }
}

impl fmt::Display for MapSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", then " };
            match step {
                MapStep::Filter(predicate) => write!(f, "{separator}where {predicate}")?,
                MapStep::Project(exprs, schema) => {
                    let columns = exprs.iter().zip(schema.fields()).map(|(expr, field)| {
                        let expr = expr.to_string();
                        let column = expr.rsplit_once('@').map(|(name, _)| name);
                        if column == Some(field.name()) {
                            expr
                        } else {
                            format!("{expr} as {}", field.name())
                        }
                    });
                    write!(f, "{separator}[{}]", columns.format(", "))?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for AggregateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: usize| self.input.field(column).name();
        let mut keys = Vec::new();
        if let Some(window) = &self.window {
            let time = name(window.time);
            keys.push(match window.assign {
                WindowSource::Rule(rule) => format!("{rule} over {time}"),
                WindowSource::Start { size } => format!("{time} + {}", Micros(size)),
            });
        }
        keys.extend(self.keys.iter().map(|column| name(*column).clone()));
        write!(f, "by [{}]", keys.join(", "))?;
        let accumulated = self.accumulators.iter().map(|accumulator| {
            let kind = format!("{:?}", accumulator.kind).to_lowercase();
            let argument = accumulator.argument.map_or("*", |column| name(column));
            match accumulator.filter {
                Some(filter) => format!("{kind}({argument}) where {}", name(filter)),
                None => format!("{kind}({argument})"),
            }
        });
        write!(
            f,
            " accumulates [{}]",
            std::iter::once("rows".to_owned()).chain(accumulated).join(", ")
        )
    }
}
