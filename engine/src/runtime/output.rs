//! The result of an epoch, put together from what the workers sent.

use arrow::array::{AsArray, Int64Array};
use arrow::compute::{concat, concat_batches};
use arrow::datatypes::Int64Type;
use millpond_storage::ChangeBatch;

use super::collect::{OperatorReport, Part};
use super::input::InputMetrics;
use super::old_rows::OldRows;
use super::plan::Plan;
use crate::error::Result;
use crate::operator::{LateRow, StateBatch};
use crate::query::late_rows::Told;
use crate::source::BadRow;

/// Rows per batch that small batches are joined up to: logs and state are read back batch by batch.
const JOINED_ROWS: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct EpochOutput {
    pub(crate) changes: Vec<ChangeBatch>,
    /// By node name.
    pub(crate) state: Vec<(String, Vec<StateBatch>)>,
    /// With the name of the input or operator.
    pub(crate) bad_rows: Vec<(String, BadRow)>,
    /// With the name of the operator.
    pub(crate) late_rows: Vec<(String, LateRow)>,
    /// By input, what those can have come from.
    pub(crate) old_rows: Vec<OldRows>,
    /// The late rows with their sources, once those were looked for.
    pub(crate) told: Vec<Told>,
    /// One per dataflow input.
    pub(crate) inputs: Vec<InputMetrics>,
    /// By node name, in the order of the nodes.
    pub(crate) operators: Vec<(String, OperatorReport)>,
}

impl EpochOutput {
    pub(super) fn assemble(plan: &Plan, parts: Vec<Part>) -> Result<EpochOutput> {
        let mut changes = Vec::new();
        let mut bad_rows = Vec::new();
        let mut late_rows = Vec::new();
        let mut old_rows = vec![OldRows::default(); plan.inputs.len()];
        let mut inputs = vec![InputMetrics::default(); plan.inputs.len()];
        let mut state: Vec<Vec<StateBatch>> = vec![Vec::new(); plan.nodes.len()];
        let mut operators: Vec<Option<OperatorReport>> = vec![None; plan.nodes.len()];
        for mut part in parts {
            changes.append(&mut part.changes);
            bad_rows.append(&mut part.bad_rows);
            late_rows.append(&mut part.late_rows);
            for (sum, old_rows) in old_rows.iter_mut().zip(part.old_rows) {
                sum.add(old_rows);
            }
            for (sum, metrics) in inputs.iter_mut().zip(&part.inputs) {
                sum.add(metrics);
            }
            for (node, mut batches) in part.state {
                state[node].append(&mut batches);
            }
            for (node, report) in part.operators {
                operators[node].get_or_insert_default().add(&report);
            }
        }
        let mut named_state = Vec::new();
        for (node, batches) in plan.nodes.iter().zip(state) {
            if !batches.is_empty() {
                named_state.push((node.name.clone(), join_state(batches)?));
            }
        }
        let operators = plan
            .nodes
            .iter()
            .zip(operators)
            .filter_map(|(node, report)| report.map(|report| (node.name.clone(), report)))
            .collect();
        Ok(EpochOutput {
            changes: join(changes)?,
            state: named_state,
            bad_rows,
            late_rows,
            old_rows,
            told: Vec::new(),
            inputs,
            operators,
        })
    }
}

fn join_state(batches: Vec<StateBatch>) -> Result<Vec<StateBatch>> {
    let ports = batches
        .iter()
        .map(|batch| batch.port)
        .max()
        .map_or(0, |port| port + 1);
    let mut by_port: Vec<Vec<ChangeBatch>> = vec![Vec::new(); ports];
    for batch in batches {
        by_port[batch.port].push(batch.changes);
    }
    let mut joined = Vec::new();
    for (port, changes) in by_port.into_iter().enumerate() {
        joined.extend(
            join(changes)?
                .into_iter()
                .map(|changes| StateBatch { port, changes }),
        );
    }
    Ok(joined)
}

/// Joins neighbours so that many small batches become few of bounded size.
pub(crate) fn join(batches: Vec<ChangeBatch>) -> Result<Vec<ChangeBatch>> {
    let mut joined = Vec::new();
    let mut group: Vec<ChangeBatch> = Vec::new();
    let mut rows = 0;
    for batch in batches.into_iter().filter(|batch| !batch.is_empty()) {
        if rows + batch.num_rows() > JOINED_ROWS && !group.is_empty() {
            joined.push(join_group(std::mem::take(&mut group))?);
            rows = 0;
        }
        rows += batch.num_rows();
        group.push(batch);
    }
    if !group.is_empty() {
        joined.push(join_group(group)?);
    }
    Ok(joined)
}

fn join_group(mut group: Vec<ChangeBatch>) -> Result<ChangeBatch> {
    if group.len() == 1 {
        return Ok(group.pop().expect("length one"));
    }
    let rows = concat_batches(&group[0].schema(), group.iter().map(ChangeBatch::rows))?;
    if group.iter().all(|batch| batch.weights().is_none()) {
        return Ok(ChangeBatch::insertions(rows));
    }
    let weights: Vec<Int64Array> = group
        .iter()
        .map(|batch| {
            batch
                .weights()
                .cloned()
                .unwrap_or_else(|| Int64Array::from(vec![1; batch.num_rows()]))
        })
        .collect();
    let arrays: Vec<&dyn arrow::array::Array> = weights.iter().map(|weights| weights as _).collect();
    Ok(ChangeBatch::new(
        rows,
        concat(&arrays)?.as_primitive::<Int64Type>().clone(),
    ))
}
