//! The end of an epoch: one transaction with everything it made, then everyone may see it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use millpond_storage::{ChangeBatch, Cut, Transaction};

use super::late_rows::retention::Kept;
use super::late_rows::target::LateTarget;
use super::record::{BatchRecord, CommitRecord, InputTotals};
use super::recovery::Committed;
use super::report::{self, Facts};
use super::status::QueryState;
use super::{Query, bad_rows, consumed, due, handed_on, late_rows, standing};
use crate::cut::Published;
use crate::error::Result;
use crate::runtime::EpochOutput;
use crate::sink::Delivery;

impl Query {
    /// After this the epoch has happened.
    pub(super) fn commit(&mut self, record: &BatchRecord, output: &EpochOutput) -> Result<()> {
        let begin_us = self.shared.clock.elapsed_us();
        let (query, epoch) = (self.parts.object.0, record.epoch().0);
        let mut transaction = self.shared.storage.transaction();
        if let Some(target) = &mut self.parts.target {
            target.write(&Delivery {
                query_id: &self.ids.0,
                epoch,
                changes: &conform(&output.changes, &self.parts.relation.schema())?,
            })?;
        } else if !output.changes.is_empty() {
            let changes = conform(&output.changes, &self.parts.relation.schema())?;
            transaction.append(&self.parts.relation, record.cut, changes)?;
        }
        let bad_rows = bad_rows::changes(&record.context, &output.bad_rows)?;
        if !bad_rows.is_empty() {
            transaction.append(&self.parts.bad_rows, record.cut, bad_rows)?;
        }
        let (late_rows, sent, kept) = self.late_rows_after(record, output)?;
        if !late_rows.is_empty() {
            transaction.append(&self.parts.late_rows, record.cut, late_rows)?;
        }
        let rewritten = self.nodes_to_rewrite();
        for (node, full) in self.parts.plan.nodes.iter().zip(rewritten) {
            let state = output.state.iter().find(|(name, _)| *name == node.name);
            let state = state.map(|(_, batches)| {
                batches
                    .iter()
                    .map(|batch| {
                        (
                            u8::try_from(batch.port).expect("few ports"),
                            batch.changes.clone(),
                        )
                    })
                    .collect::<Vec<_>>()
            });
            if full {
                transaction.replace_state(query, &node.name, epoch, state.unwrap_or_default())?;
            } else if let Some(state) = state {
                transaction.add_state(query, &node.name, epoch, state)?;
            }
        }
        let committed = self.committed_after(record, output);
        transaction.put_commit(query, epoch, committed.encode());
        self.commit_with(transaction, sent)?;
        self.committed = Committed::of(committed);
        self.late_kept = kept;
        self.open = None;
        self.stopwatch.commit_offsets_us = self.since(begin_us);
        Ok(())
    }

    /// Commits, together with rows for the table that gets those that are late.
    fn commit_with(&self, mut transaction: Transaction, sent: Vec<ChangeBatch>) -> Result<()> {
        let target = self.parts.late_target.as_ref().filter(|_| !sent.is_empty());
        let Some(LateTarget { table, .. }) = target else {
            return Ok(transaction.commit()?);
        };
        let rows = if table.is_indexed() {
            sent.clone()
        } else {
            Vec::new()
        };
        self.shared.timeline.commit(&[table.id], |cut| {
            transaction.append(&table.relation, cut, sent)?;
            Ok(transaction.commit()?)
        })?;
        self.shared.late_sent.fetch_add(1, Ordering::SeqCst);
        table.follow(&rows)
    }

    /// What changes among the late rows: those of the epoch come, those that were kept for long go. Then those that go to
    /// a table.
    fn late_rows_after(
        &self,
        record: &BatchRecord,
        output: &EpochOutput,
    ) -> Result<(Vec<ChangeBatch>, Vec<ChangeBatch>, Option<Kept>)> {
        let parts = &self.parts;
        if output.told.is_empty() && parts.late_rows.last_cut() == Cut::ZERO {
            return Ok((Vec::new(), Vec::new(), self.late_kept));
        }
        let snapshot = parts.late_rows.snapshot();
        let mut kept = match self.late_kept {
            Some(kept) => kept,
            None => Kept::of(&snapshot)?,
        };
        let now_us = record.context.processing_time_us;
        let mut changes = kept.expire(&snapshot, parts.options.late_rows, now_us)?;
        let target = parts.late_target.as_ref();
        let added = late_rows::changes(&record.context, &parts.late_sources, &output.told, target)?;
        for added in &added.kept {
            kept.add(added)?;
        }
        changes.extend(added.kept);
        Ok((changes, added.sent, Some(kept)))
    }

    fn committed_after(&self, record: &BatchRecord, output: &EpochOutput) -> CommitRecord {
        let event_times = self
            .committed
            .event_times
            .iter()
            .zip(&output.inputs)
            .map(|(seen, metrics)| (*seen).max(metrics.guarded_max))
            .collect();
        let mut totals = self.committed.totals;
        totals.input_rows += output.inputs.iter().map(|input| input.rows).sum::<u64>();
        totals.output_rows += output_rows(output);
        totals.bad_rows += output.bad_rows.len() as u64;
        for (_, operator) in &output.operators {
            totals.late_rows += operator.metrics.rows_dropped_by_watermark;
            totals.null_event_time += operator.metrics.null_event_time;
        }
        let inputs = self
            .committed
            .inputs
            .iter()
            .zip(&output.inputs)
            .map(|(sum, epoch)| {
                let mut lateness = sum.lateness.clone();
                lateness.merge(&epoch.lateness);
                InputTotals {
                    rows: sum.rows + epoch.rows,
                    bad_rows: sum.bad_rows + epoch.bad_rows,
                    future_rows: sum.future_rows + epoch.future_rows,
                    null_event_time: sum.null_event_time + epoch.null_event_time,
                    late_rows: sum.late_rows + epoch.late_rows,
                    lateness,
                }
            })
            .collect();
        let due_us = { output.operators.iter() }
            .filter_map(|(_, operator)| operator.metrics.due_us)
            .min();
        let heard_us = { self.committed.heard_us.iter() }
            .zip(&output.inputs)
            .map(|(heard_us, epoch)| match epoch.rows {
                0 => *heard_us,
                _ => record.context.processing_time_us,
            })
            .collect();
        record.committed(event_times, totals, inputs, due_us, heard_us)
    }

    /// Lets everyone see the epoch that was committed. `times`: when its trigger fired, and when it was to.
    pub(super) fn publish(&mut self, record: &BatchRecord, output: &EpochOutput, times: (i64, i64)) {
        let (now_us, scheduled_us) = times;
        let parts = &self.parts;
        if record.reached && self.state == QueryState::Starting {
            self.state = QueryState::Running;
            self.board.set_state(QueryState::Running, "Running");
        }
        let (latest, behind): (Vec<_>, Vec<_>) = parts
            .inputs
            .iter()
            .zip(&record.ranges)
            .map(|(input, range)| report::latest(input, &range.to, now_us))
            .unzip();
        let since_last = self
            .last_fired_us
            .map(|last| u64::try_from(now_us.saturating_sub(last)).unwrap_or(0));
        let progress = report::progress(&Facts {
            name: &parts.name,
            sink: &parts.sink,
            inputs: &parts.inputs,
            dataflow: &parts.dataflow,
            record,
            output,
            output_rows: output_rows(output),
            stopwatch: self.stopwatch,
            fired_us: now_us,
            scheduled_us,
            since_last_us: since_last,
            latest: &latest,
            behind: &behind,
        });
        self.last_fired_us = Some(now_us);
        let standing = standing(
            parts,
            &self.committed,
            &self.shared.timeline,
            self.shared.clock.now_us(),
        );
        self.board
            .epoch_ends(standing, record.cut, progress, self.shared.options.progress_kept);
        // Last, so that whoever waited for the epoch also finds its counters and its report.
        let due = due(
            parts,
            &self.committed,
            &self.shared.timeline,
            self.shared.clock.now_us(),
        );
        self.shared.timeline.publish(
            parts.object,
            Published {
                cut: record.cut,
                reached: record.reached,
                changed: parts.target.is_none() && !output.changes.is_empty(),
                watermark: handed_on(parts, &self.committed),
                due: due.is_due,
                followed: due.followed,
                consumed: consumed(&parts.inputs, &self.committed.positions),
            },
        );
        self.shared.maintenance.nudge();
    }
}

fn output_rows(output: &EpochOutput) -> u64 {
    output
        .changes
        .iter()
        .map(|changes| changes.num_rows() as u64)
        .sum()
}

/// The same rows under the relation's own schema, which may differ in metadata from what operators made.
fn conform(changes: &[ChangeBatch], schema: &SchemaRef) -> Result<Vec<ChangeBatch>> {
    changes
        .iter()
        .map(|batch| {
            let rows = RecordBatch::try_new(Arc::clone(schema), batch.rows().columns().to_vec())?;
            Ok(batch.with_rows(rows))
        })
        .collect()
}
