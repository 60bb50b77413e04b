//! The progress report of an epoch.

use serde_json::{Map, Value, json};

use super::record::{BatchRecord, InputPosition};
use super::step::{QueryInput, ReadFrom};
use crate::dataflow::Dataflow;
use crate::progress::{
    Details, DurationMs, EventTimeProgress, InputDetails, Progress, SinkProgress, SourceProgress,
    StateOperatorProgress, format_time, offsets_between,
};
use crate::runtime::{EpochOutput, InputMetrics, OperatorReport};

/// Microseconds by the clock at the steps of an epoch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stopwatch {
    pub(crate) latest_offset_us: u64,
    pub(crate) get_batch_us: u64,
    pub(crate) query_planning_us: u64,
    pub(crate) wal_commit_us: u64,
    pub(crate) add_batch_us: u64,
    pub(crate) commit_offsets_us: u64,
    /// All of it.
    pub(crate) total_us: u64,
}

/// What a report is made from.
pub(crate) struct Facts<'a> {
    pub(crate) name: &'a str,
    pub(crate) sink: &'a str,
    pub(crate) inputs: &'a [QueryInput],
    pub(crate) dataflow: &'a Dataflow,
    pub(crate) record: &'a BatchRecord,
    pub(crate) output: &'a EpochOutput,
    pub(crate) output_rows: u64,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) fired_us: i64,
    pub(crate) scheduled_us: i64,
    /// Microseconds since the trigger before fired.
    pub(crate) since_last_us: Option<u64>,
    /// Where each input ends now.
    pub(crate) latest: &'a [Value],
    /// Offsets beyond the epoch's end, where they are not to be read from the offsets themselves.
    pub(crate) behind: &'a [Option<u64>],
}

pub(crate) fn progress(facts: &Facts<'_>) -> Progress {
    let rows: u64 = facts.output.inputs.iter().map(|input| input.rows).sum();
    let details = details(facts);
    let state_operators = state_operators(facts.dataflow, &facts.output.operators);
    Progress {
        id: facts.record.query_id.clone(),
        run_id: facts.record.run_id.clone(),
        name: facts.name.to_owned(),
        timestamp: format_time(facts.fired_us),
        batch_id: facts.record.epoch().0,
        num_input_rows: rows,
        input_rows_per_second: rate(rows, facts.since_last_us),
        processed_rows_per_second: rate(rows, Some(facts.stopwatch.total_us)),
        duration_ms: durations(&facts.stopwatch),
        event_time: EventTimeProgress {
            max: details.max_event_time_us.map(format_time),
            min: details.min_event_time_us.map(format_time),
            avg: details.avg_event_time_us.map(format_time),
            watermark: details.watermark_us.map(format_time),
        },
        state_operators,
        sources: (0..facts.inputs.len())
            .map(|input| source(facts, input, &details))
            .collect(),
        sink: SinkProgress {
            description: facts.sink.to_owned(),
            num_output_rows: facts.output_rows,
        },
        details,
    }
}

/// Each operator with state. Rows that are dropped on the way to it, by a phase before the exchange or where windows are
/// assigned, are dropped for the sake of its state and count as its own.
fn state_operators(dataflow: &Dataflow, reports: &[(String, OperatorReport)]) -> Vec<StateOperatorProgress> {
    let report_of = |node: usize| {
        let name = &dataflow.nodes[node].name;
        reports
            .iter()
            .find(|(of, _)| of == name)
            .map(|(_, report)| report)
    };
    let is_stateful = |node: usize| dataflow.nodes[node].properties.state_bound.is_some();
    let mut operators = Vec::new();
    for node in (0..dataflow.nodes.len()).filter(|node| is_stateful(*node)) {
        let Some(mut report) = report_of(node).cloned() else {
            continue;
        };
        let below = |node: usize| dataflow.nodes[node].edges.iter().map(|edge| edge.from.0);
        let mut waiting: Vec<usize> = below(node).collect();
        while let Some(stateless) = waiting.pop() {
            if is_stateful(stateless) {
                continue;
            }
            if let Some(OperatorReport { metrics, .. }) = report_of(stateless) {
                report.metrics.rows_dropped_by_watermark += metrics.rows_dropped_by_watermark;
                report.metrics.null_event_time += metrics.null_event_time;
            }
            waiting.extend(below(stateless));
        }
        operators.push(state_operator(&dataflow.nodes[node].name, &report));
    }
    operators
}

fn rate(rows: u64, micros: Option<u64>) -> f64 {
    match micros {
        Some(micros) if micros > 0 => rows as f64 * 1e6 / micros as f64,
        Some(_) | None => 0.0,
    }
}

/// Rounded up, so that what took time never shows as nothing.
fn millis(micros: u64) -> u64 {
    micros.div_ceil(1000)
}

fn durations(stopwatch: &Stopwatch) -> DurationMs {
    DurationMs {
        trigger_execution: millis(stopwatch.total_us),
        latest_offset: millis(stopwatch.latest_offset_us),
        get_batch: millis(stopwatch.get_batch_us),
        query_planning: millis(stopwatch.query_planning_us),
        wal_commit: millis(stopwatch.wal_commit_us),
        add_batch: millis(stopwatch.add_batch_us),
        commit_offsets: millis(stopwatch.commit_offsets_us),
    }
}

fn details(facts: &Facts<'_>) -> Details {
    let mut all = InputMetrics::default();
    for metrics in &facts.output.inputs {
        all.add(metrics);
    }
    let operators = facts.output.operators.iter().map(|(_, report)| &report.metrics);
    let average =
        (all.count > 0).then(|| i64::try_from(all.sum.div_euclid(i128::from(all.count))).unwrap_or(i64::MAX));
    let inputs = facts
        .inputs
        .iter()
        .enumerate()
        .map(|(index, input)| input_details(facts, index, input))
        .collect();
    let scheduled = facts.fired_us.saturating_sub(facts.scheduled_us);
    Details {
        timestamp_us: facts.fired_us,
        cut: facts.record.cut.0,
        scheduling_delay_ms: millis(u64::try_from(scheduled).unwrap_or(0)),
        watermark_us: facts.dataflow.watermark(&facts.record.context.watermarks),
        max_event_time_us: all.max,
        min_event_time_us: all.min,
        avg_event_time_us: average,
        late_rows: operators
            .clone()
            .map(|metrics| metrics.rows_dropped_by_watermark)
            .sum(),
        null_event_time: operators.map(|metrics| metrics.null_event_time).sum(),
        bad_rows: facts.output.bad_rows.len() as u64,
        inputs,
    }
}

fn input_details(facts: &Facts<'_>, index: usize, input: &QueryInput) -> InputDetails {
    let metrics = &facts.output.inputs[index];
    let end = facts.record.ranges[index].to.offset();
    InputDetails {
        object: input.object,
        name: input.name.clone(),
        rows: metrics.rows,
        bytes: metrics.bytes,
        bad_rows: metrics.bad_rows,
        future_rows: metrics.future_rows,
        null_event_time: metrics.null_event_time,
        late_rows: metrics.late_rows,
        watermark_us: facts.record.context.watermarks[index],
        max_event_time_us: metrics.guarded_max,
        offsets_behind_latest: facts.behind[index]
            .unwrap_or_else(|| offsets_between(&end, &facts.latest[index])),
    }
}

fn source(facts: &Facts<'_>, index: usize, details: &Details) -> SourceProgress {
    let (input, range, own) = (
        &facts.inputs[index],
        &facts.record.ranges[index],
        &details.inputs[index],
    );
    let behind = own.offsets_behind_latest.to_string();
    let mut metrics = Map::new();
    for key in [
        "minOffsetsBehindLatest",
        "avgOffsetsBehindLatest",
        "maxOffsetsBehindLatest",
    ] {
        metrics.insert(key.to_owned(), Value::String(behind.clone()));
    }
    let mut count = |key: &str, count: u64| metrics.insert(key.to_owned(), Value::String(count.to_string()));
    count("numRowsDroppedByWatermark", own.late_rows);
    count("numBadRows", own.bad_rows);
    count("numFutureRows", own.future_rows);
    count("numNullEventTime", own.null_event_time);
    SourceProgress {
        description: input.description(),
        start_offset: range.from.offset(),
        end_offset: range.to.offset(),
        latest_offset: facts.latest[index].clone(),
        num_input_rows: own.rows,
        input_rows_per_second: rate(own.rows, facts.since_last_us),
        processed_rows_per_second: rate(own.rows, Some(facts.stopwatch.total_us)),
        metrics,
    }
}

fn state_operator(name: &str, report: &OperatorReport) -> StateOperatorProgress {
    let metrics = &report.metrics;
    let mut custom_metrics = Map::new();
    custom_metrics.insert("nullEventTime".to_owned(), json!(metrics.null_event_time));
    if metrics.duplicates > 0 || name.starts_with("dedup") {
        custom_metrics.insert("numDroppedDuplicateRows".to_owned(), json!(metrics.duplicates));
    }
    StateOperatorProgress {
        operator_name: name.to_owned(),
        num_rows_total: metrics.rows_total,
        num_rows_updated: metrics.rows_updated,
        num_rows_removed: metrics.rows_removed,
        num_rows_dropped_by_watermark: metrics.rows_dropped_by_watermark,
        memory_used_bytes: metrics.memory_bytes,
        all_updates_time_ms: millis(report.push_us),
        all_removals_time_ms: millis(report.seal_us),
        commit_time_ms: millis(report.checkpoint_us),
        custom_metrics,
    }
}

/// Where an input ends now, and how many rows lie beyond `to` where offsets do not tell.
pub(crate) fn latest(input: &QueryInput, to: &InputPosition, now_us: i64) -> (Value, Option<u64>) {
    match (&input.from, to) {
        (ReadFrom::Source(source), InputPosition::Source(to)) => match source.known(now_us) {
            Ok(known) if !source.reached(to, &known) => (known.0, None),
            // What was read a moment ago is known, too; and that the source cannot be asked now is no reason to lose the
            // report.
            Ok(_) | Err(_) => (to.0.clone(), None),
        },
        (ReadFrom::Relation(relation), InputPosition::Log(to)) => {
            let last = relation.last_cut();
            let start = to.cut.max(relation.summed_to());
            let entries = if start < last {
                relation.changes(start, last).unwrap_or_default()
            } else {
                Vec::new()
            };
            let behind = entries.iter().skip(to.entries).map(|entry| entry.rows).sum();
            (json!({ "cut": last.max(to.cut).0 }), Some(behind))
        }
        (ReadFrom::Relation(_), InputPosition::Source(_)) | (ReadFrom::Source(_), InputPosition::Log(_)) => {
            (to.offset(), None)
        }
    }
}
