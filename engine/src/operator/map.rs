//! Filters and projections, fused: a batch goes through all steps at once.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::FilterBuilder;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::expression::{EpochTimes, FailurePolicy};
use crate::operator::spec::{MapSpec, MapStep};
use crate::operator::{Operator, Output};

pub(crate) struct Map {
    steps: Vec<Step>,
    times: EpochTimes,
    policy: FailurePolicy,
}

enum Step {
    /// Only the columns in `keep` are needed afterwards; the schema is theirs.
    Filter {
        predicate: Arc<dyn PhysicalExpr>,
        keep: Vec<usize>,
        schema: SchemaRef,
    },
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
}

impl Map {
    pub fn new(spec: &MapSpec, name: &str) -> Result<Self> {
        let times = EpochTimes::default();
        let policy = FailurePolicy {
            position: name.to_owned(),
            fail: spec.fail_on_error,
        };
        Ok(Self {
            steps: compile(spec, &times)?,
            times,
            policy,
        })
    }
}

impl Operator for Map {
    fn begin(&mut self, context: &OperatorContext) -> Result<()> {
        self.times.set(context);
        Ok(())
    }

    fn push(&mut self, _port: usize, changes: ChangeBatch, output: &mut Output) -> Result<()> {
        let steps = &self.steps;
        self.policy.apply(changes, output, &mut |changes| {
            steps.iter().try_fold(changes.clone(), run)
        })
    }
}

/// Binds the steps to this instance; a filter keeps no column that only the predicate needs.
fn compile(spec: &MapSpec, times: &EpochTimes) -> DataFusionResult<Vec<Step>> {
    let mut steps = Vec::with_capacity(spec.steps.len());
    // Which column of the specified input stands at each position of the batch, after the filters so far.
    let mut present: Vec<usize> = (0..spec.input.fields().len()).collect();
    let mut schema = Arc::clone(&spec.input);
    for (i, step) in spec.steps.iter().enumerate() {
        match step {
            MapStep::Filter(predicate) => {
                let predicate = renumber(times.bind(predicate)?, &present)?;
                let needed = needed_after(&spec.steps[i + 1..]);
                let is_needed = |column: &usize| needed.as_ref().is_none_or(|needed| needed.contains(column));
                let keep: Vec<usize> = (0..present.len())
                    .filter(|position| is_needed(&present[*position]))
                    .collect();
                present.retain(is_needed);
                schema = Arc::new(schema.project(&keep)?);
                steps.push(Step::Filter {
                    predicate,
                    keep,
                    schema: Arc::clone(&schema),
                });
            }
            MapStep::Project(exprs, projected) => {
                let exprs = exprs.iter().map(|expr| renumber(times.bind(expr)?, &present));
                steps.push(Step::Project(
                    exprs.collect::<DataFusionResult<_>>()?,
                    Arc::clone(projected),
                ));
                schema = Arc::clone(projected);
                present = (0..schema.fields().len()).collect();
            }
        }
    }
    Ok(steps)
}

/// The expression over a batch that holds only the columns `present`.
fn renumber(expr: Arc<dyn PhysicalExpr>, present: &[usize]) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let renumbered = expr.transform_up(|expr| match expr.downcast_ref::<Column>() {
        Some(column) => {
            let position = present.iter().position(|other| *other == column.index());
            let position = position.expect("a filter keeps every column that is read later");
            Ok(Transformed::yes(
                Arc::new(Column::new(column.name(), position)) as _
            ))
        }
        None => Ok(Transformed::no(expr)),
    })?;
    Ok(renumbered.data)
}

/// The columns that `steps` read before a projection replaces them; `None` when all of them come out.
fn needed_after(steps: &[MapStep]) -> Option<Vec<usize>> {
    let mut needed = Vec::new();
    for step in steps {
        let exprs = match step {
            MapStep::Filter(predicate) => std::slice::from_ref(predicate),
            MapStep::Project(exprs, _) => exprs,
        };
        needed.extend(
            exprs
                .iter()
                .flat_map(collect_columns)
                .map(|column| column.index()),
        );
        if matches!(step, MapStep::Project(..)) {
            return Some(needed);
        }
    }
    None
}

fn run(changes: ChangeBatch, step: &Step) -> DataFusionResult<ChangeBatch> {
    match step {
        Step::Filter {
            predicate,
            keep,
            schema,
        } => {
            let rows = changes.rows();
            let mask = predicate.evaluate(rows)?.into_array(rows.num_rows())?;
            let kept: Vec<ArrayRef> = keep
                .iter()
                .map(|column| Arc::clone(rows.column(*column)))
                .collect();
            filter(&kept, changes.weights(), mask.as_boolean(), schema)
        }
        Step::Project(exprs, schema) => {
            let rows = changes.rows();
            let columns = exprs
                .iter()
                .map(|expr| expr.evaluate(rows)?.into_array(rows.num_rows()));
            let columns = columns.collect::<DataFusionResult<Vec<_>>>()?;
            Ok(changes.with_rows(record_batch(schema, columns, rows.num_rows())?))
        }
    }
}

fn filter(
    columns: &[ArrayRef],
    weights: Option<&Int64Array>,
    mask: &BooleanArray,
    schema: &SchemaRef,
) -> DataFusionResult<ChangeBatch> {
    let filter = FilterBuilder::new(mask).optimize().build();
    let columns = columns
        .iter()
        .map(|column| filter.filter(column))
        .collect::<Result<Vec<_>, _>>()?;
    let rows = record_batch(schema, columns, filter.count())?;
    Ok(match weights {
        None => ChangeBatch::insertions(rows),
        Some(weights) => {
            let weights = filter.filter(weights)?;
            ChangeBatch::new(rows, weights.as_primitive().clone())
        }
    })
}

/// A batch that may have no columns.
pub(crate) fn record_batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> DataFusionResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}
