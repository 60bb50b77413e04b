//! What comes out for the rows of one side by themselves, and which pairs match.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, new_null_array};
use millpond_storage::ChangeBatch;

use crate::error::Result;
use crate::operator::Output;
use crate::operator::join::{CHUNK_ROWS, Join, Pairs};
use crate::operator::map::record_batch;
use crate::operator::spec::Role;

impl Join {
    /// Leaves those of `pairs` that meet the filter.
    pub(super) fn filter_pairs(&self, pairs: &mut Pairs, output: &mut Option<&mut Output>) -> Result<()> {
        let Some(filter) = self.spec.filter.as_ref().filter(|_| !pairs.rows[0].is_empty()) else {
            return Ok(());
        };
        let columns = filter
            .columns
            .iter()
            .map(|(side, column)| self.sides[*side].column(*column, &pairs.rows[*side]));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let rows = record_batch(&filter.schema, columns, pairs.rows[0].len())?;
        let (side, other) = (pairs.changing, 1 - pairs.changing);
        let is_news = |pair: usize| self.weight(side, (pairs.rows[side][pair], pairs.rows[other][pair])) > 0;
        // State that is taken back is no news.
        let mut nowhere = Output::default();
        let output = output.as_deref_mut().unwrap_or(&mut nowhere);
        let met = self.policy.met(&filter.predicate, &rows, &is_news, output)?;
        for rows in &mut pairs.rows {
            let mut pair = 0..;
            rows.retain(|_| pair.next().is_some_and(|pair| met[pair]));
        }
        Ok(())
    }

    /// Rows of a side that may give something else than before.
    pub(super) fn affected(&self, side: usize, changed: &[Vec<usize>; 2], recounted: &[usize]) -> Vec<usize> {
        let mut affected = changed[side].clone();
        if self.spec.filter.is_some() {
            affected.extend_from_slice(recounted);
        } else {
            let (rows, other) = (&self.sides[side], &self.sides[1 - side]);
            let mut keys: Vec<usize> = changed[1 - side].iter().map(|row| other.key[*row]).collect();
            keys.retain(|key| (other.total_before[*key] > 0) != (other.total[*key] > 0));
            keys.sort_unstable();
            keys.dedup();
            affected.extend(keys.into_iter().flat_map(|key| rows.of_key(key)));
        }
        affected.sort_unstable();
        affected.dedup();
        affected
    }

    /// Sends the difference between what the rows gave before and give now.
    pub(super) fn send_kept(
        &self,
        side: usize,
        role: Role,
        affected: &[usize],
        output: &mut Output,
    ) -> Result<()> {
        let (rows, other) = (&self.sides[side], &self.sides[1 - side]);
        let mut out: Vec<(usize, i64, bool)> = Vec::new();
        for row in affected.iter().copied() {
            let (before, after) = if self.spec.filter.is_some() {
                (rows.matches_before[row] > 0, rows.matches[row] > 0)
            } else {
                let key = rows.key[row];
                (other.total_before[key] > 0, other.total[key] > 0)
            };
            let weight = rows.weights[row];
            let weight_before = weight - rows.pending[row];
            if before == after {
                out.push((row, rows.pending[row], after));
            } else {
                out.extend([(row, -weight_before, before), (row, weight, after)]);
            }
        }
        self.send_alone(side, role, out, output)
    }

    /// Sends rows of one side with weights, each with a match or without one.
    pub(super) fn send_alone(
        &self,
        side: usize,
        role: Role,
        mut out: Vec<(usize, i64, bool)>,
        output: &mut Output,
    ) -> Result<()> {
        let rows = &self.sides[side];
        out.retain(|(_, weight, matched)| *weight != 0 && comes_out(role, *matched));
        for out in out.chunks(CHUNK_ROWS) {
            let numbers: Vec<usize> = out.iter().map(|out| out.0).collect();
            let columns = rows.columns(self.spec.widths[side], &numbers)?;
            let marks = out.iter().map(|out| out.2);
            let columns = self.kept_columns(side, role, columns, marks.collect());
            self.send(columns, out.iter().map(|out| out.1).collect(), output)?;
        }
        Ok(())
    }

    /// Sends rows that can match nothing.
    pub(super) fn send_unmatchable(
        &self,
        side: usize,
        role: Role,
        changes: &ChangeBatch,
        output: &mut Output,
    ) -> Result<()> {
        if !comes_out(role, false) {
            return Ok(());
        }
        let columns = changes.rows().columns()[..self.spec.widths[side]].to_vec();
        let columns = self.kept_columns(side, role, columns, vec![false; changes.num_rows()]);
        let rows = record_batch(&self.spec.output, columns, changes.num_rows())?;
        output.send(changes.with_rows(rows));
        Ok(())
    }

    /// The columns of the output for rows of one side.
    fn kept_columns(
        &self,
        side: usize,
        role: Role,
        mut columns: Vec<ArrayRef>,
        marks: Vec<bool>,
    ) -> Vec<ArrayRef> {
        match role {
            Role::Semi | Role::Anti => {}
            Role::Mark => columns.push(Arc::new(BooleanArray::from(marks))),
            Role::Extended => {
                let other = &self.spec.inputs[1 - side].fields()[..self.spec.widths[1 - side]];
                let nulls = other
                    .iter()
                    .map(|field| new_null_array(field.data_type(), marks.len()));
                let position = if side == 0 { columns.len() } else { 0 };
                columns.splice(position..position, nulls);
            }
        }
        columns
    }
}

/// Whether a row comes out by itself, given whether it has a match.
fn comes_out(role: Role, matched: bool) -> bool {
    match role {
        Role::Extended | Role::Anti => !matched,
        Role::Semi => matched,
        Role::Mark => true,
    }
}
