//! `sys.query_progress` and `sys.query_state`: what finished epochs did.

use std::sync::Arc;

use millpond_catalog::Object;
use millpond_engine::progress::{Progress, StateOperatorProgress};
use serde::Serialize;

use super::running;
use crate::pg_catalog::{Rows, SystemContext};

/// The remembered progress of all queries, oldest first within each.
fn all_progress(context: &SystemContext) -> Vec<(Arc<Object>, Arc<Progress>)> {
    let Some(engine) = &context.server.engine else {
        return Vec::new();
    };
    let of_query = |object: Arc<Object>| {
        // A query that was dropped meanwhile has none.
        let progress = engine.progress(object.id).unwrap_or_default();
        progress.into_iter().map(move |p| (object.clone(), p))
    };
    running(context)
        .into_iter()
        .flat_map(|(_, object)| of_query(object))
        .collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("progress has only text keys")
}

fn sum(operators: &[StateOperatorProgress], field: fn(&StateOperatorProgress) -> u64) -> u64 {
    operators.iter().map(field).sum()
}

pub fn query_progress(context: &SystemContext, rows: &mut Rows) {
    for (object, progress) in all_progress(context) {
        let (time, details, operators) = (
            progress.duration_ms,
            &progress.details,
            &progress.state_operators[..],
        );
        rows.add([
            ("id", (&progress.id).into()),
            ("run_id", (&progress.run_id).into()),
            ("name", (&progress.name).into()),
            ("view_name", (&object.name.name).into()),
            ("timestamp", details.timestamp_us.into()),
            ("batch_id", progress.batch_id.into()),
            ("cut", details.cut.into()),
            ("num_input_rows", progress.num_input_rows.into()),
            ("input_rows_per_second", progress.input_rows_per_second.into()),
            (
                "processed_rows_per_second",
                progress.processed_rows_per_second.into(),
            ),
            ("trigger_execution_ms", time.trigger_execution.into()),
            ("latest_offset_ms", time.latest_offset.into()),
            ("get_batch_ms", time.get_batch.into()),
            ("query_planning_ms", time.query_planning.into()),
            ("wal_commit_ms", time.wal_commit.into()),
            ("add_batch_ms", time.add_batch.into()),
            ("commit_offsets_ms", time.commit_offsets.into()),
            ("scheduling_delay_ms", details.scheduling_delay_ms.into()),
            ("min_event_time", details.min_event_time_us.into()),
            ("max_event_time", details.max_event_time_us.into()),
            ("avg_event_time", details.avg_event_time_us.into()),
            ("watermark", details.watermark_us.into()),
            ("num_output_rows", progress.sink.num_output_rows.into()),
            ("num_rows_total", sum(operators, |o| o.num_rows_total).into()),
            ("num_rows_updated", sum(operators, |o| o.num_rows_updated).into()),
            ("num_rows_removed", sum(operators, |o| o.num_rows_removed).into()),
            (
                "num_rows_dropped_by_watermark",
                sum(operators, |o| o.num_rows_dropped_by_watermark).into(),
            ),
            (
                "memory_used_bytes",
                sum(operators, |o| o.memory_used_bytes).into(),
            ),
            ("bad_rows", details.bad_rows.into()),
            ("late_rows", details.late_rows.into()),
            ("null_event_time", details.null_event_time.into()),
            (
                "offsets_behind_latest",
                details
                    .inputs
                    .iter()
                    .map(|i| i.offsets_behind_latest)
                    .sum::<u64>()
                    .into(),
            ),
            ("state_operators", json(&progress.state_operators).into()),
            ("sources", json(&progress.sources).into()),
            ("sink", json(&progress.sink).into()),
            ("progress", json(&*progress).into()),
        ]);
    }
}

/// The state of each operator after the last epoch.
pub fn query_state(context: &SystemContext, rows: &mut Rows) {
    let Some(engine) = &context.server.engine else {
        return;
    };
    for (status, object) in running(context) {
        let Some(progress) = engine.progress(object.id).ok().and_then(|mut all| all.pop()) else {
            continue;
        };
        for operator in &progress.state_operators {
            rows.add([
                ("query", (&status.name).into()),
                ("epoch", progress.batch_id.into()),
                ("operator_name", (&operator.operator_name).into()),
                ("num_rows_total", operator.num_rows_total.into()),
                ("num_rows_updated", operator.num_rows_updated.into()),
                ("num_rows_removed", operator.num_rows_removed.into()),
                (
                    "num_rows_dropped_by_watermark",
                    operator.num_rows_dropped_by_watermark.into(),
                ),
                ("memory_used_bytes", operator.memory_used_bytes.into()),
                ("all_updates_time_ms", operator.all_updates_time_ms.into()),
                ("all_removals_time_ms", operator.all_removals_time_ms.into()),
                ("commit_time_ms", operator.commit_time_ms.into()),
                ("custom_metrics", json(&operator.custom_metrics).into()),
            ]);
        }
    }
}
