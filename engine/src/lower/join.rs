//! Joins: two inputs with their keys as columns, and what else a pair of rows must meet.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, JoinType, NullEquality};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::utils::collect_columns;
use millpond_catalog::{JoinMode, OutputMode};

use crate::bound::Bound;
use crate::dataflow::{Distribution, Edge, NodeKind, Notice, Properties};
use crate::error::{Error, Result};
use crate::lower::Lowering;
use crate::lower::join_times::{self, TimePair};
use crate::lower::stream::{Stream, Time, check_functions, event_time, physical};
use crate::operator::spec::{JoinFilter, JoinSpec, JoinTimes, OperatorSpec, Role};

/// One side of a join as a node: its own columns, then those that only carry keys.
pub(super) struct Side {
    pub stream: Stream,
    pub keys: Vec<usize>,
    pub width: usize,
}

impl Lowering<'_> {
    pub(super) fn join(&mut self, join: &Join) -> Result<Stream> {
        if join.null_aware {
            return Err(Error::Bug("NOT IN was to be taken apart before".to_owned()));
        }
        let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
        let left = self.lower(&join.left)?;
        let left = self.with_keys(left, &left_keys)?;
        let right = self.lower(&join.right)?;
        let right = self.with_keys(right, &right_keys)?;
        for (l, r) in left.keys.iter().zip(&right.keys) {
            let (l, r) = (left.stream.real.field(*l), right.stream.real.field(*r));
            if l.data_type() != r.data_type() {
                return Err(Error::Bug(format!(
                    "join keys of types {} and {}",
                    l.data_type(),
                    r.data_type()
                )));
            }
        }
        let filter = join.filter.as_ref().map(|filter| join_filter(filter, join));
        let output = Arc::clone(join.schema.inner());
        let streams = [&left.stream, &right.stream];
        let pairs = match self.options.output_mode {
            OutputMode::Complete => Vec::new(),
            OutputMode::Append | OutputMode::Update => join_times::pairs(join, streams[0], streams[1])?,
        };
        let append_only = streams.map(|stream| stream.append_only);
        let passing = match streams[1].lookup {
            true => Some(looking_up(join.join_type, append_only[0])?),
            false => self.passing(join.join_type, append_only),
        };
        let mut spec = JoinSpec {
            kind: join.join_type,
            inputs: streams.map(|stream| Arc::clone(&stream.real)),
            widths: [left.width, right.width],
            nulls_match: join.null_equality == NullEquality::NullEqualsNull,
            filter: filter.transpose()?,
            times: None,
            passing,
            output: Arc::clone(&output),
            keys: [left.keys.clone(), right.keys.clone()],
            fail_on_error: self.options.fail_on_error,
        };
        let mut properties = Properties::default();
        if let (Some(pair), None) = (join_times::best(&pairs), passing) {
            self.add_times(&mut spec, &mut properties, streams, pair);
        }
        properties.append_only = match passing {
            Some(_) => true,
            None => spec.keeps_append_only() && append_only == [true, true],
        };
        properties.state_bound = Some(self.kept(&spec, &properties));
        if passing.is_none() && append_only == [true, true] && !(spec.frees(0) && spec.frees(1)) {
            properties.notice = Some(unbounded(&spec));
        }
        let edges = streams.into_iter().zip(&spec.keys);
        let edges = edges.map(|(stream, keys)| Edge {
            from: stream.node,
            distribution: if keys.is_empty() {
                Distribution::Single
            } else {
                Distribution::Hash(keys.clone())
            },
        });
        let edges = edges.collect();
        let times = self.join_output_times(&spec, join, streams, &pairs);
        properties.event_time = event_time(&times);
        let is_append_only = properties.append_only;
        let kind = NodeKind::Operator(OperatorSpec::Join(Arc::new(spec)));
        let node = self.add(kind, edges, output, properties);
        Ok(Stream::of_node(node, &join.schema, times, is_append_only))
    }

    /// The side whose rows meet what the other one, a table, holds when they come, and are not corrected later.
    fn passing(&self, kind: JoinType, append_only: [bool; 2]) -> Option<usize> {
        let side = match append_only {
            [true, false] => 0,
            [false, true] => 1,
            [true, true] | [false, false] => return None,
        };
        // The rows of the table must not come out by themselves.
        let suits = match kind {
            JoinType::Inner => true,
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => side == 0,
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => side == 1,
            JoinType::Full => false,
        };
        let looks_up = match self.options.join_mode {
            JoinMode::Default => self.options.output_mode == OutputMode::Append,
            JoinMode::Lookup => true,
            JoinMode::Retract => false,
        };
        (suits && looks_up).then_some(side)
    }

    fn add_times(
        &mut self,
        spec: &mut JoinSpec,
        properties: &mut Properties,
        streams: [&Stream; 2],
        pair: TimePair,
    ) {
        spec.times = Some(JoinTimes {
            columns: pair.columns,
            least: pair.distance.least,
            most: pair.distance.most,
            final_only: false,
        });
        let bounds = [0, 1].map(|side| {
            let time = streams[side].times[pair.columns[side]];
            time.map(|time| {
                let event = self.bounds.as_event(time);
                self.bounds.get(event).clone()
            })
        });
        properties.bounds = bounds.into_iter().flatten().collect();
        let becomes_final = [0, 1].iter().all(|side| {
            let alone = !matches!(spec.role(*side), None | Some(Role::Semi));
            !alone || spec.final_below(*side, [Some(0); 2]).is_some()
        });
        let append_only = streams.iter().all(|stream| stream.append_only);
        let alone = [0, 1]
            .iter()
            .any(|side| !matches!(spec.role(*side), None | Some(Role::Semi)));
        if let Some(times) = &mut spec.times {
            times.final_only = alone && becomes_final && append_only && self.is_final_here();
        }
    }

    fn join_output_times(
        &mut self,
        spec: &JoinSpec,
        join: &Join,
        streams: [&Stream; 2],
        pairs: &[TimePair],
    ) -> Vec<Option<Time>> {
        let [left, right] = [0, 1].map(|side| {
            if spec.passing.is_some() {
                let passes = spec.passing == Some(side);
                return streams[side]
                    .times
                    .iter()
                    .map(|time| time.filter(|_| passes))
                    .collect();
            }
            let times = spec.times.as_ref().filter(|_| spec.defers(side));
            let released = times.map(|times| times.columns[side]);
            self.times_after_join(side, streams, pairs, released)
        });
        let mut times: Vec<Option<Time>> = match spec.kind {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => [left, right].concat(),
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => left,
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right,
        };
        times.resize(join.schema.fields().len(), None);
        times
    }

    /// What the state holds, in words.
    fn kept(&self, spec: &JoinSpec, properties: &Properties) -> String {
        if let Some(side) = spec.passing {
            return format!("the rows of the {} side", ["left", "right"][1 - side]);
        }
        let (Some(times), [left, right]) = (&spec.times, properties.bounds.as_slice()) else {
            return "the rows of both sides".to_owned();
        };
        let input = |input: usize| self.inputs[input].name.clone();
        let reach = times.most.zip(times.least).map(|(most, least)| most - least);
        let side = |side: usize, own: &Bound, other: &Bound, lag: Option<i64>| {
            let name = ["left", "right"][side];
            let column = spec.inputs[side].field(times.columns[side]).name();
            let (Some(lag), true) = (lag, spec.frees(side)) else {
                return format!("all {name} rows");
            };
            let mut bound = other.lagging(lag);
            if let (Some(_), Some(reach)) = (spec.role(1 - side), reach) {
                bound = bound.and(&own.lagging(reach));
            }
            format!("{name} rows with {column} >= {}", bound.describe(&input))
        };
        [
            side(0, left, right, times.most),
            side(1, right, left, times.least.map(|least| -least)),
        ]
        .join(", ")
    }

    /// Makes `stream` a node that has every key as a column.
    pub(super) fn with_keys(&mut self, stream: Stream, keys: &[Expr]) -> Result<Side> {
        let logical = Arc::clone(&stream.schema);
        let width = logical.fields().len();
        let mut exprs: Vec<Expr> = logical.columns().into_iter().map(Expr::Column).collect();
        let mut fields: Vec<_> = logical.iter().map(|(q, f)| (q.cloned(), Arc::clone(f))).collect();
        let mut positions = Vec::with_capacity(keys.len());
        for key in keys {
            if let Expr::Column(column) = key {
                positions.push(logical.index_of_column(column)?);
                continue;
            }
            let known = exprs.iter().position(|expr| expr == key);
            positions.push(known.unwrap_or(exprs.len()));
            if known.is_none() {
                let (data_type, nullable) = (key.get_type(&logical)?, key.nullable(&logical)?);
                let field = Field::new(key.to_string(), data_type, nullable);
                fields.push((None, Arc::new(field)));
                exprs.push(key.clone());
            }
        }
        let stream = if exprs.len() == width {
            stream
        } else {
            let metadata = logical.metadata().clone();
            let schema = Arc::new(DFSchema::new_with_metadata(fields, metadata)?);
            self.project(stream, &exprs, &schema)?
        };
        Ok(Side {
            stream: self.as_node(stream)?,
            keys: positions,
            width,
        })
    }
}

/// Why the state of a join of streams grows, and what would bound it.
fn unbounded(spec: &JoinSpec) -> Notice {
    let kept = match [spec.frees(0), spec.frees(1)] {
        [false, false] => "all rows of both sides",
        [true, _] => "all rows of the right side",
        [false, true] => "all rows of the left side",
    };
    Notice {
        message: format!(
            "the join keeps {kept} for ever: its condition and the watermarks do not say when a row can find no partner any \
             more"
        ),
        hint: "Have a watermark on both sides and bound the time between partners, as in r.ts BETWEEN l.ts AND l.ts + \
               INTERVAL '1 hour'."
            .to_owned(),
    }
}

/// The filter over just the columns that it reads.
fn join_filter(filter: &Expr, join: &Join) -> Result<JoinFilter> {
    // Its value must be the same whenever a pair is looked at.
    check_functions(filter, false)?;
    let (left, right) = (join.left.schema(), join.right.schema());
    let both = DFSchema::new_with_metadata(
        left.iter()
            .chain(right.iter())
            .map(|(q, f)| (q.cloned(), Arc::clone(f)))
            .collect(),
        left.metadata().clone(),
    )?;
    let predicate = physical(filter, &both)?;
    let mut read: Vec<usize> = collect_columns(&predicate)
        .iter()
        .map(|column| column.index())
        .collect();
    read.sort_unstable();
    let positions: BTreeMap<usize, usize> = read.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    // The two sides may have columns of one name.
    let qualified = |column: usize| {
        let (qualifier, field) = both.qualified_field(column);
        match qualifier {
            Some(qualifier) => format!("{}.{}", qualifier.table(), field.name()),
            None => field.name().clone(),
        }
    };
    let predicate = predicate.transform_up(|expr| match expr.downcast_ref::<PhysicalColumn>() {
        Some(column) => {
            let name = qualified(column.index());
            let moved = PhysicalColumn::new(&name, positions[&column.index()]);
            Ok(Transformed::yes(Arc::new(moved) as _))
        }
        None => Ok(Transformed::no(expr)),
    })?;
    let width = left.fields().len();
    let columns = read.iter().map(|column| {
        if *column < width {
            (0, *column)
        } else {
            (1, *column - width)
        }
    });
    let field = |column: &usize| both.field(*column).as_ref().clone().with_name(qualified(*column));
    let fields: Vec<Field> = read.iter().map(field).collect();
    Ok(JoinFilter {
        columns: columns.collect(),
        schema: Arc::new(Schema::new(fields)),
        predicate: predicate.data,
    })
}

/// Whether a join has no row because a side, `left` or `right`, has none.
pub(super) fn has_no_rows(kind: JoinType, left: bool, right: bool) -> bool {
    match kind {
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => left || right,
        JoinType::Left | JoinType::LeftAnti | JoinType::LeftMark => left,
        JoinType::Right | JoinType::RightAnti | JoinType::RightMark => right,
        JoinType::Full => left && right,
    }
}

/// The left side, whose rows look up the right one.
fn looking_up(kind: JoinType, left_append_only: bool) -> Result<usize> {
    let refused = |message: &str, hint: &str| {
        Err(Error::Unsupported {
            message: message.to_owned(),
            hint: Some(hint.to_owned()),
        })
    };
    match kind {
        JoinType::Inner | JoinType::Left if left_append_only => Ok(0),
        JoinType::Inner | JoinType::Left => refused(
            "FOR SYSTEM_TIME AS OF needs a stream on its left side, but rows of this one can change, and would not meet the same \
             row when they are taken back",
            "Read from a stream or a source, or join the table without FOR SYSTEM_TIME, which follows both sides.",
        ),
        _ => refused(
            "FOR SYSTEM_TIME AS OF is for inner and left joins",
            "Put the stream on the left side of an inner or left join.",
        ),
    }
}
