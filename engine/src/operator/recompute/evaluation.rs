//! The plan of an operator, run over the rows of several groups at once.
//!
//! One run for all groups, so that its cost follows the rows. Only when it fails is each group run alone, so that the
//! failure costs that group and no other. A group's result is a function of its rows alone: they stand in one order and
//! in one batch, whatever other groups are run with it.

use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::LogicalPlan;
use hashbrown::HashMap;

use crate::error::Result;
use crate::expression::{is_about_a_row, message, user_error};
use crate::oneoff::Repeated;
use crate::operator::map::record_batch;
use crate::operator::recompute::spec::RecomputeSpec;

pub(super) struct Evaluation {
    plan: Repeated,
}

/// Rows of several groups, one group after the other.
pub(super) struct GroupRows {
    pub rows: RecordBatch,
    pub lengths: Vec<usize>,
}

/// The result of several groups.
pub(super) struct Evaluated {
    pub rows: Vec<RecordBatch>,
    /// Why a group has no result, by its place among the groups.
    pub failures: HashMap<usize, String>,
}

impl Evaluation {
    pub fn new(plan: &LogicalPlan) -> Result<Self> {
        Ok(Self {
            plan: Repeated::new(plan.clone())?,
        })
    }

    pub fn run(&self, spec: &RecomputeSpec, groups: &GroupRows) -> Result<Evaluated> {
        let mut failures = HashMap::new();
        let rows = match self.run_once(spec, &groups.rows) {
            Ok(rows) => rows,
            Err(error) if spec.fail_on_error || !is_about_a_row(&error) => return Err(user_error(&error)),
            Err(_) => {
                let (mut rows, mut offset) = (Vec::new(), 0);
                for (group, length) in groups.lengths.iter().enumerate() {
                    match self.run_once(spec, &groups.rows.slice(offset, *length)) {
                        Ok(result) => rows.extend(result),
                        Err(error) if is_about_a_row(&error) => {
                            failures.insert(group, message(&error));
                        }
                        Err(error) => return Err(user_error(&error)),
                    }
                    offset += length;
                }
                rows
            }
        };
        Ok(Evaluated { rows, failures })
    }

    fn run_once(&self, spec: &RecomputeSpec, rows: &RecordBatch) -> DataFusionResult<Vec<RecordBatch>> {
        let batches = self.plan.run(rows.clone())?;
        let in_schema = |batch: RecordBatch| {
            let rows = batch.num_rows();
            record_batch(&spec.output, batch.columns().to_vec(), rows)
                .map_err(|error| DataFusionError::Internal(error.to_string()))
        };
        batches.into_iter().map(in_schema).collect()
    }
}

impl Evaluated {
    pub fn nothing() -> Self {
        Self {
            rows: Vec::new(),
            failures: HashMap::new(),
        }
    }
}
