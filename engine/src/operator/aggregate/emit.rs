//! Results of groups as rows, and the changes between two results.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::kernels::cmp::not_distinct;
use arrow::compute::{and, concat_batches, take, take_record_batch};
use arrow::row::{RowConverter, SortField};
use hashbrown::HashMap;
use millpond_storage::ChangeBatch;

use crate::error::{Error, Result};
use crate::expression::{FailurePolicy, row_as_json};
use crate::operator::Output;
use crate::operator::accumulator::{Failure, OUT_OF_RANGE};
use crate::operator::aggregate::{Groups, timestamps};
use crate::operator::map::record_batch;
use crate::operator::spec::{AggregateOutput, AggregateSpec, WindowSource};
use crate::source::BadRow;

/// The result rows of some groups.
pub(super) struct Results {
    groups: Vec<usize>,
    rows: RecordBatch,
    /// By position; rows that are not part of the result.
    failures: HashMap<usize, &'static str>,
}

/// Groups as they are shown.
pub(super) struct Shown<'a> {
    pub(super) spec: &'a AggregateSpec,
    pub(super) policy: &'a FailurePolicy,
    pub(super) groups: &'a Groups,
    /// Columns of the groups' keys that stand before those of the query.
    pub(super) first_key: usize,
    /// Start of the window of a group.
    pub(super) start: &'a dyn Fn(usize) -> i64,
    /// Windows that end here or before are final.
    pub(super) final_below: Option<i64>,
}

impl Shown<'_> {
    pub(super) fn results(&self, groups: &[usize]) -> Result<Results> {
        let mut failures = Vec::new();
        let mut columns = Vec::with_capacity(self.spec.outputs.len());
        let keys = self.groups.table.keys(groups)?;
        let own_keys = &keys[self.first_key..];
        let size = self.spec.window.as_ref().map_or(0, |window| window.assign.size());
        let ends = || { groups.iter() }.map(|group| (self.start)(*group).saturating_add(size));
        for (output, field) in self.spec.outputs.iter().zip(self.spec.output.fields()) {
            columns.push(match output {
                AggregateOutput::WindowStart => {
                    let starts = groups.iter().map(|group| self.start_of((self.start)(*group)));
                    timestamps(starts.collect(), field.data_type())
                }
                AggregateOutput::WindowEnd => timestamps(ends().collect(), field.data_type()),
                AggregateOutput::Key(key) => Arc::clone(&own_keys[*key]),
                AggregateOutput::Rows => Arc::new(Int64Array::from_iter_values(
                    groups.iter().map(|group| self.groups.rows[*group]),
                )),
                AggregateOutput::IsFinal => {
                    let is_final = |end: i64| self.final_below.is_some_and(|until| end <= until);
                    Arc::new(ends().map(|end| Some(is_final(end))).collect::<BooleanArray>())
                }
                AggregateOutput::Aggregate { accumulator, reading } => {
                    self.groups.accumulators[*accumulator].evaluate(*reading, groups, &mut failures)?
                }
            });
        }
        let rows = record_batch(&self.spec.output, columns, groups.len())?;
        let failures = failures
            .into_iter()
            .map(|Failure { position, message }| (position, message))
            .collect();
        Ok(Results {
            groups: groups.to_vec(),
            rows,
            failures,
        })
    }

    /// The start of the window that a group is in by `name`.
    fn start_of(&self, name: i64) -> i64 {
        match self.spec.window.as_ref().map(|window| window.assign) {
            Some(WindowSource::Rule(rule)) => rule.start_of(name),
            Some(WindowSource::Start { .. }) | None => name,
        }
    }

    /// Sends all results as new rows.
    pub(super) fn send_results(&self, results: &Results, output: &mut Output) -> Result<()> {
        for position in results.failures.keys() {
            self.report(results, *position, output)?;
        }
        let rows = match results.failures.len() {
            0 => results.rows.clone(),
            _ => select(&results.rows, |position| {
                !results.failures.contains_key(&position)
            })?,
        };
        output.send(ChangeBatch::insertions(rows));
        Ok(())
    }

    /// Sends what turns `old` into `new`.
    pub(super) fn send_changes(&self, old: &Results, new: &Results, output: &mut Output) -> Result<()> {
        if old.groups.is_empty() {
            return self.send_results(new, output);
        }
        let (mut keep_old, mut keep_new) = (vec![true; old.groups.len()], vec![true; new.groups.len()]);
        for (old_position, new_position) in unchanged(old, new)? {
            keep_old[old_position] = false;
            keep_new[new_position] = false;
        }
        for (position, keep) in keep_old.iter_mut().enumerate() {
            *keep &= !old.failures.contains_key(&position);
        }
        for (position, keep) in keep_new.iter_mut().enumerate() {
            // A group that failed before and still does is no news, and `unchanged` has it.
            if *keep && new.failures.contains_key(&position) {
                self.report(new, position, output)?;
                *keep = false;
            }
        }
        let retracted = select(&old.rows, |position| keep_old[position])?;
        let inserted = select(&new.rows, |position| keep_new[position])?;
        let weights =
            std::iter::repeat_n(-1, retracted.num_rows()).chain(std::iter::repeat_n(1, inserted.num_rows()));
        let weights = Int64Array::from_iter_values(weights);
        let rows = concat_batches(&self.spec.output, [&retracted, &inserted])?;
        output.send(if retracted.num_rows() == 0 {
            ChangeBatch::insertions(rows)
        } else {
            ChangeBatch::new(rows, weights)
        });
        Ok(())
    }

    fn report(&self, results: &Results, position: usize, output: &mut Output) -> Result<()> {
        let message = results.failures[&position].to_owned();
        if self.policy.fail {
            return Err(Error::User {
                message,
                sqlstate: OUT_OF_RANGE,
                hint: None,
            });
        }
        let bytes = row_as_json(&results.rows, position);
        output.bad_rows.push(BadRow {
            position: self.policy.position.clone(),
            bytes,
            error: message,
        });
        Ok(())
    }
}

fn select(rows: &RecordBatch, chosen: impl Fn(usize) -> bool) -> Result<RecordBatch> {
    let positions = (0..rows.num_rows()).filter(|position| chosen(*position));
    let positions = UInt32Array::from_iter_values(positions.map(|position| position as u32));
    if positions.len() == rows.num_rows() {
        return Ok(rows.clone());
    }
    Ok(take_record_batch(rows, &positions)?)
}

/// Positions in `old` and `new` of groups whose result is the same. Both list groups in one order, with gaps.
fn unchanged(old: &Results, new: &Results) -> Result<Vec<(usize, usize)>> {
    let by_group: HashMap<usize, usize> = old
        .groups
        .iter()
        .enumerate()
        .map(|(i, group)| (*group, i))
        .collect();
    let pairs: Vec<(usize, usize)> = new
        .groups
        .iter()
        .enumerate()
        .filter_map(|(position, group)| Some((*by_group.get(group)?, position)))
        .collect();
    let old_positions = UInt32Array::from_iter_values(pairs.iter().map(|pair| pair.0 as u32));
    let new_positions = UInt32Array::from_iter_values(pairs.iter().map(|pair| pair.1 as u32));
    let mut same = BooleanArray::from(vec![true; pairs.len()]);
    for (old, new) in old.rows.columns().iter().zip(new.rows.columns()) {
        let (old, new) = (take(old, &old_positions, None)?, take(new, &new_positions, None)?);
        same = and(&same, &equal(&old, &new)?)?;
    }
    let failed_alike = |(i, (old_position, new_position)): (usize, &(usize, usize))| {
        let (old, new) = (
            old.failures.contains_key(old_position),
            new.failures.contains_key(new_position),
        );
        if old || new { old && new } else { same.value(i) }
    };
    Ok(pairs
        .iter()
        .enumerate()
        .filter(|pair| failed_alike(*pair))
        .map(|(_, pair)| *pair)
        .collect())
}

/// Row by row, NULLs being equal.
fn equal(a: &ArrayRef, b: &ArrayRef) -> Result<BooleanArray> {
    if !a.data_type().is_nested() {
        return Ok(not_distinct(a, b)?);
    }
    let converter = RowConverter::new(vec![SortField::new(a.data_type().clone())])?;
    let (a, b) = (
        converter.convert_columns(&[Arc::clone(a)])?,
        converter.convert_columns(&[Arc::clone(b)])?,
    );
    Ok(a.iter().zip(&b).map(|(a, b)| Some(a == b)).collect())
}
