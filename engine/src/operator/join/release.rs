//! What time does to a join: rows become final, and are forgotten.
//!
//! Where matching rows are at most so far apart, a row of one side is **final** once the other side's watermark is so far
//! past it that no partner can come any more. Then it comes out by itself if it never had one and the result holds final
//! rows only. It is **freed** once it is final and, where the fate of its partners depends on it, they are too: a row that
//! is looked at again always finds what it once matched, also after a restart, which counts the matches anew.
//!
//! Rows below their own side's watermark are late. They are dropped where the other side frees rows, or has let them out
//! as having no match.

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::datatypes::TimestampMicrosecondType;
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::Result;
use crate::operator::Output;
use crate::operator::join::{Join, chosen};
use crate::operator::spec::Role;

impl Join {
    /// Drops and counts late rows.
    pub(super) fn without_late(
        &mut self,
        side: usize,
        changes: ChangeBatch,
        output: &mut Output,
    ) -> Result<ChangeBatch> {
        let Some(times) = &self.spec.times else {
            return Ok(changes);
        };
        let times = changes
            .rows()
            .column(times.columns[side])
            .as_primitive::<TimestampMicrosecondType>();
        let count = |rows: &mut dyn Iterator<Item = usize>| -> u64 {
            rows.map(|row| changes.weight(row).unsigned_abs()).sum()
        };
        self.metrics.null_event_time += count(&mut (0..times.len()).filter(|row| times.is_null(*row)));
        let Some(below) = self.late_below[side] else {
            return Ok(changes);
        };
        let on_time: BooleanArray = times
            .iter()
            .map(|time| Some(time.is_none_or(|time| time >= below)))
            .collect();
        if on_time.true_count() == on_time.len() {
            return Ok(changes);
        }
        self.metrics.rows_dropped_by_watermark +=
            count(&mut (0..on_time.len()).filter(|row| !on_time.value(*row)));
        let late = (0..on_time.len()).filter(|row| !on_time.value(*row));
        let column = self.spec.times.as_ref().map_or(0, |times| times.columns[side]);
        let before = output.late_rows.len();
        output.set_late_rows_aside(&changes, late, column, below)?;
        { output.late_rows[before..].iter_mut() }.for_each(|row| row.port = side);
        chosen(&changes, &on_time)
    }

    /// Lets out what has become final at the end of an epoch, and forgets what no longer matters. Without an output the
    /// state is taken back: what was final by the last epoch has come out.
    pub(super) fn release(
        &mut self,
        context: &OperatorContext,
        mut output: Option<&mut Output>,
    ) -> Result<()> {
        if self.spec.times.is_none() {
            return Ok(());
        }
        let watermarks = context.watermarks.map(|watermark| watermark.closes);
        for side in [0, 1] {
            let below = self.spec.final_below(side, watermarks);
            if let (Some(role), Some(below)) = (self.spec.role(side), below)
                && self.spec.defers(side)
            {
                let rows = self.sides[side].due(self.final_below[side], below);
                if let Some(output) = &mut output {
                    self.send_final(side, role, &rows, output)?;
                }
                self.sides[side].note_sent(&rows);
            }
            self.sides[side].forget_news();
            self.final_below[side] = below;
        }
        for side in [0, 1] {
            if let Some(below) = self.spec.freed_below(side, watermarks) {
                let rows = self.sides[side].take_before(below);
                self.sides[side].free(&rows);
                self.metrics.rows_removed += rows.len() as u64;
            }
        }
        Ok(())
    }

    /// Sends what final rows give by themselves, as far as they have not come out.
    fn send_final(&self, side: usize, role: Role, rows: &[usize], output: &mut Output) -> Result<()> {
        let (own, other) = (&self.sides[side], &self.sides[1 - side]);
        let due = rows.iter().copied().map(|row| {
            let matched = match self.spec.filter {
                Some(_) => own.matches[row] > 0,
                None => other.total[own.key[row]] > 0,
            };
            (row, own.weights[row] - own.sent[row], matched)
        });
        self.send_alone(side, role, due.collect(), output)
    }
}
