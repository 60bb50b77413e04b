//! The ways of rows from the inputs to an operator.
//!
//! Through filters, projections, lists and unions a row can be followed. Through an operator with a state it cannot, but
//! some columns come out of it as they went in.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::physical_expr::expressions::Column;
use millpond_storage::ChangeBatch;

use super::Search;
use crate::dataflow::{Dataflow, NodeKind};
use crate::error::Result;
use crate::operator::map::Map;
use crate::operator::spec::{JoinSpec, MapSpec, MapStep, OperatorSpec, UnnestSpec};
use crate::operator::unnest::Unnest;
use crate::operator::{Operator, Output};

/// A way from an input with a watermark to the operator, or to the first node on it that rows cannot be followed through.
pub(super) struct Path<'a> {
    pub(super) input: usize,
    /// From the input on, with their nodes.
    steps: Vec<(usize, Step<'a>)>,
    /// The way goes on behind such nodes.
    pub(super) behind: Option<Behind>,
}

/// A node that leaves a row a row, or some.
#[derive(Clone, Copy)]
enum Step<'a> {
    Map(&'a MapSpec),
    Unnest(&'a UnnestSpec),
}

/// What is known of the rest of a way.
#[derive(Debug, Clone)]
pub(super) struct Behind {
    /// Columns that come through: in the operator's rows, and where the steps end.
    pub(super) columns: Vec<(usize, usize)>,
    /// Rows come through in the epoch in which they come in, or never.
    pub(super) passes: bool,
    /// At most one row comes of each.
    pub(super) once: bool,
}

/// The ways to a port of an operator. Where the time by which it drops rows is that of one side of a join, only those
/// from there.
///
/// `rows`: how many came in by each input in this epoch.
pub(super) fn to_operator<'a>(
    dataflow: &'a Dataflow,
    (node, port): (usize, usize),
    rows: &[u64],
) -> Vec<Path<'a>> {
    let this = &dataflow.nodes[node];
    let mut ways = Ways {
        dataflow,
        rows,
        paths: Vec::new(),
    };
    if let Some(edge) = this.edges.get(port) {
        ways.add(edge.from.0, Vec::new(), None);
    }
    let mut paths = ways.paths;
    paths.retain(|path| dataflow.inputs[path.input].is_timed());
    let time = match &this.kind {
        NodeKind::Operator(spec) => time_of(spec, port),
        NodeKind::Input(_) | NodeKind::Empty => None,
    };
    let gives_time = |path: &Path<'_>| {
        let columns = path.behind.as_ref().map(|behind| &behind.columns);
        columns.is_none_or(|columns| columns.iter().any(|(seen, _)| Some(*seen) == time))
    };
    if paths.iter().any(gives_time) {
        paths.retain(gives_time);
    }
    paths
}

/// The column by which an operator drops rows.
fn time_of(spec: &OperatorSpec, port: usize) -> Option<usize> {
    match spec {
        OperatorSpec::PartialAggregate(spec) => spec.window.as_ref().map(|window| window.time),
        OperatorSpec::WindowAssign(spec) => Some(spec.time),
        OperatorSpec::SessionAssign(spec) => Some(spec.time),
        OperatorSpec::Dedup(spec) => spec.time,
        OperatorSpec::Join(spec) => spec.times.as_ref().map(|times| times.columns[port]),
        _ => None,
    }
}

struct Ways<'a, 'r> {
    dataflow: &'a Dataflow,
    rows: &'r [u64],
    paths: Vec<Path<'a>>,
}

impl<'a> Ways<'a, '_> {
    /// `above`: from the operator, or the node with a state nearest to the input, down to here.
    fn add(&mut self, node: usize, mut above: Vec<(usize, Step<'a>)>, behind: Option<Behind>) {
        let dataflow = self.dataflow;
        let this = &dataflow.nodes[node];
        let spec = match &this.kind {
            NodeKind::Input(input) => {
                above.reverse();
                self.paths.push(Path {
                    input: *input,
                    steps: above,
                    behind,
                });
                return;
            }
            NodeKind::Empty => return,
            NodeKind::Operator(spec) => spec,
        };
        let from = |port: usize| this.edges[port].from.0;
        match spec {
            OperatorSpec::Map(spec) => {
                above.push((node, Step::Map(spec)));
                self.add(from(0), above, behind);
            }
            OperatorSpec::Unnest(spec) => {
                above.push((node, Step::Unnest(spec)));
                self.add(from(0), above, behind);
            }
            OperatorSpec::Union(_) => {
                for port in 0..this.edges.len() {
                    self.add(from(port), above.clone(), behind.clone());
                }
            }
            OperatorSpec::Join(spec) => {
                let here = Behind::here(&above, behind, this.schema.fields().len());
                for side in 0..2 {
                    let other = &dataflow.nodes[from(1 - side)].properties.key;
                    let finds_one = other.as_ref().is_some_and(|key| {
                        let is_compared = |column: &usize| spec.keys[1 - side].contains(column);
                        !key.is_empty() && key.iter().all(is_compared)
                    });
                    let below = Behind {
                        columns: here.through(|column| side_of(spec, column).filter(|(of, _)| *of == side)),
                        passes: here.passes
                            && (spec.passing == Some(side) || self.is_still(spec, from(1 - side))),
                        once: here.once && (finds_one || !spec.has_pairs()),
                    };
                    self.add(from(side), Vec::new(), Some(below));
                }
            }
            OperatorSpec::WindowAssign(_)
            | OperatorSpec::SessionAssign(_)
            | OperatorSpec::Dedup(_)
            | OperatorSpec::Temporal(_) => {
                let here = Behind::here(&above, behind, this.schema.fields().len());
                let width = dataflow.nodes[from(0)].schema.fields().len();
                let is_dedup = matches!(spec, OperatorSpec::Dedup(_));
                let is_window = matches!(spec, OperatorSpec::WindowAssign(_));
                let below = Behind {
                    columns: here.through(|column| (column < width).then_some((0, column))),
                    passes: here.passes && (is_dedup || is_window),
                    once: here.once && is_dedup,
                };
                self.add(from(0), Vec::new(), Some(below));
            }
            OperatorSpec::PartialAggregate(_)
            | OperatorSpec::FinalAggregate(_)
            | OperatorSpec::Constant(_)
            | OperatorSpec::Recompute(_) => {}
        }
    }

    /// Nothing came in below the other side of a join, and no row waits in it: what comes out came in now.
    fn is_still(&self, spec: &JoinSpec, other: usize) -> bool {
        let waits = spec.times.as_ref().is_some_and(|times| times.final_only);
        !waits && self.is_quiet(other)
    }

    fn is_quiet(&self, node: usize) -> bool {
        let this = &self.dataflow.nodes[node];
        match this.kind {
            NodeKind::Input(input) => self.rows.get(input) == Some(&0),
            NodeKind::Empty | NodeKind::Operator(_) => {
                this.edges.iter().all(|edge| self.is_quiet(edge.from.0))
            }
        }
    }
}

/// The side of a join that a column of its result comes from, and its place there.
fn side_of(spec: &JoinSpec, column: usize) -> Option<(usize, usize)> {
    let left = spec.widths[0];
    if spec.has_pairs() {
        return Some(match column < left {
            true => (0, column),
            false => (1, column - left),
        });
    }
    let side = (0..2).find(|side| spec.role(*side).is_some())?;
    (column < spec.widths[side]).then_some((side, column))
}

impl Behind {
    /// Down to where `above` begins, a node with `width` columns.
    fn here(above: &[(usize, Step<'_>)], behind: Option<Behind>, width: usize) -> Behind {
        let unnests = above.iter().any(|(_, step)| matches!(step, Step::Unnest(_)));
        let begin = above.first().map_or(width, |(_, step)| step.width());
        let behind = behind.unwrap_or_else(|| Behind {
            columns: (0..begin).map(|column| (column, column)).collect(),
            passes: true,
            once: true,
        });
        let columns = behind.columns.into_iter().filter_map(|(seen, column)| {
            let mut steps = above.iter().map(|(_, step)| step);
            let below = steps.try_fold(column, |column, step| step.source(column));
            Some((seen, below?))
        });
        Behind {
            columns: columns.collect(),
            passes: behind.passes,
            once: behind.once && !unnests,
        }
    }

    fn through(&self, source: impl Fn(usize) -> Option<(usize, usize)>) -> Vec<(usize, usize)> {
        let columns = self.columns.iter();
        columns
            .filter_map(|(seen, column)| Some((*seen, source(*column)?.1)))
            .collect()
    }
}

impl Step<'_> {
    /// Number of columns that come out.
    fn width(&self) -> usize {
        match self {
            Step::Map(spec) => spec.output.fields().len(),
            Step::Unnest(spec) => spec.output.fields().len(),
        }
    }

    /// The column that goes in for one that comes out, if it goes through as it is.
    fn source(&self, column: usize) -> Option<usize> {
        match self {
            Step::Map(spec) => { spec.steps.iter().rev() }.try_fold(column, |column, step| match step {
                MapStep::Filter(_) => Some(column),
                MapStep::Project(exprs, _) => exprs[column].downcast_ref::<Column>().map(Column::index),
            }),
            Step::Unnest(spec) => {
                let source = spec.sources[column];
                let changed = spec.lists.contains(&source) || spec.structs.contains(&source);
                (!changed).then_some(source)
            }
        }
    }
}

impl Path<'_> {
    /// Of rows with all columns, how they look at the end of the steps, and in a last column the number of each.
    pub(super) fn follow(&self, search: &Search<'_>, rows: &RecordBatch) -> Result<Option<RecordBatch>> {
        let length = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
        let rows = rows.project(&search.inputs[self.input].projection)?;
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(UInt32Array::from_iter_values(0..length)));
        let mut seen = RecordBatch::try_new(with_number(&rows.schema()), columns)?;
        for (node, step) in &self.steps {
            let mut operator: Box<dyn Operator> = match step {
                Step::Map(spec) => Box::new(Map::new(&numbered(spec), "late rows")?),
                Step::Unnest(spec) => Box::new(Unnest::new(numbered_lists(spec))),
            };
            let context = &search.record.context;
            operator.begin(&context.of_operator(search.watermarks[*node], 0, 1))?;
            let mut output = Output::default();
            operator.push(0, ChangeBatch::insertions(seen), &mut output)?;
            let batches: Vec<RecordBatch> = { output.changes.into_iter() }
                .map(|changes| changes.into_parts().0)
                .collect();
            let Some(first) = batches.first() else {
                return Ok(None);
            };
            seen = concat_batches(&first.schema(), &batches)?;
        }
        Ok(Some(seen))
    }

    /// The column of the relation or source that a column at the end of the steps is.
    pub(super) fn origin(&self, search: &Search<'_>, column: usize) -> Option<usize> {
        let mut steps = self.steps.iter().rev().map(|(_, step)| step);
        let below = steps.try_fold(column, |column, step| step.source(column))?;
        search.inputs[self.input].projection.get(below).copied()
    }
}

fn number() -> Field {
    Field::new("#", DataType::UInt32, false)
}

fn with_number(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone());
    Arc::new(Schema::new(fields.chain([number()]).collect::<Vec<Field>>()))
}

/// The same steps over rows with a number in a last column, which goes through.
fn numbered(spec: &MapSpec) -> MapSpec {
    let mut width = spec.input.fields().len();
    let steps = spec.steps.iter().map(|step| match step {
        MapStep::Filter(predicate) => MapStep::Filter(Arc::clone(predicate)),
        MapStep::Project(exprs, schema) => {
            let mut exprs = exprs.clone();
            exprs.push(Arc::new(Column::new("#", width)));
            width = schema.fields().len();
            MapStep::Project(exprs, with_number(schema))
        }
    });
    MapSpec {
        steps: steps.collect(),
        input: with_number(&spec.input),
        output: with_number(&spec.output),
        fail_on_error: false,
    }
}

fn numbered_lists(spec: &UnnestSpec) -> UnnestSpec {
    let mut sources = spec.sources.clone();
    sources.push(spec.input.fields().len());
    UnnestSpec {
        sources,
        input: with_number(&spec.input),
        output: with_number(&spec.output),
        ..spec.clone()
    }
}
