//! `sys.queries`, `sys.query_sources` and `sys.watermarks`: the state of each query at this moment.

use millpond_catalog::{Object, OutputMode, Trigger};
use millpond_engine::progress::Progress;
use millpond_engine::query::status::{InputStatus, QueryState, QueryStatus};

use super::running;
use crate::pg_catalog::{Rows, SystemContext, Value};

pub fn queries(context: &SystemContext, rows: &mut Rows) {
    for (status, object) in running(context) {
        let Some(view) = object.query() else {
            continue;
        };
        let failure = match &status.state {
            QueryState::Failed(failure) => Some(failure),
            _ => None,
        };
        rows.add([
            ("id", (&status.id).into()),
            ("run_id", (&status.run_id).into()),
            ("name", (&status.name).into()),
            ("view_schema", (&object.name.schema).into()),
            ("view_name", (&object.name.name).into()),
            ("state", status.state.name().into()),
            ("status_message", (&status.message).into()),
            ("is_active", status.is_active().into()),
            ("is_data_available", status.is_data_available.into()),
            ("is_trigger_active", status.is_trigger_active.into()),
            ("paused", view.paused.into()),
            ("epoch", status.epoch.into()),
            ("cut", status.cut.map(|cut| cut.0).into()),
            ("watermark", watermark(&status).into()),
            ("output_mode", output_mode(view.options.output_mode).into()),
            ("trigger", trigger(view.options.trigger).into()),
            ("input_rows", status.totals.input_rows.into()),
            ("output_rows", status.totals.output_rows.into()),
            ("bad_rows", status.totals.bad_rows.into()),
            ("late_rows", status.totals.late_rows.into()),
            ("null_event_time", status.totals.null_event_time.into()),
            ("error", failure.map(|f| &f.reason).into()),
            ("error_hint", failure.and_then(|f| f.hint.as_ref()).into()),
            ("error_epoch", failure.and_then(|f| f.epoch).into()),
            ("error_offsets", failure.map(|f| f.offsets.to_string()).into()),
        ]);
    }
}

/// The slowest input decides; none as long as one of them has not said anything.
fn watermark(status: &QueryStatus) -> Option<i64> {
    let mut inputs = status
        .inputs
        .iter()
        .filter(|input| input.has_event_time)
        .map(|input| input.watermark_us);
    let first = inputs.next()?;
    inputs.fold(first, |least, next| least.zip(next).map(|(a, b)| a.min(b)))
}

fn output_mode(mode: OutputMode) -> &'static str {
    match mode {
        OutputMode::Update => "update",
        OutputMode::Append => "append",
        OutputMode::Complete => "complete",
    }
}

fn trigger(trigger: Trigger) -> String {
    match trigger {
        Trigger::Default => "default".to_owned(),
        Trigger::Every(interval) => format!("every {interval:?}"),
        Trigger::Once => "once".to_owned(),
        Trigger::AvailableNow => "availableNow".to_owned(),
    }
}

pub fn query_sources(context: &SystemContext, rows: &mut Rows) {
    for (status, _) in running(context) {
        let last = last_progress(context, &status);
        for input in &status.inputs {
            let details = last
                .as_ref()
                .and_then(|p| p.details.inputs.iter().find(|d| d.object == input.object));
            rows.add([
                ("query", (&status.name).into()),
                ("source", (&input.name).into()),
                ("watermark", input.watermark_us.into()),
                ("max_event_time", input.max_event_time_us.into()),
                ("rows", input.rows.into()),
                ("bad_rows", input.bad_rows.into()),
                ("future_rows", input.future_rows.into()),
                ("null_event_time", input.null_event_time.into()),
                ("read_offset", input.offset.to_string().into()),
                (
                    "offsets_behind_latest",
                    details.map(|d| d.offsets_behind_latest).into(),
                ),
            ]);
        }
    }
}

fn last_progress(context: &SystemContext, status: &QueryStatus) -> Option<std::sync::Arc<Progress>> {
    context
        .server
        .engine
        .as_ref()?
        .progress(status.object)
        .ok()?
        .pop()
}

/// Inputs with an event time, and the column that holds it.
pub fn watermarks(context: &SystemContext, rows: &mut Rows) {
    for (status, _) in running(context) {
        for input in status.inputs.iter().filter(|input| input.has_event_time) {
            let object = context.catalog.get(input.object);
            let (column, delay_us) = object.and_then(|o| event_time(o)).unzip();
            let idle_timeout_us = { object.and_then(|o| o.watermark()) }.and_then(|w| w.idle_timeout_us);
            let [half, most] = input.lateness_us;
            let interval = |us: Option<i64>| us.map_or(Value::Null, Value::Interval);
            let slowest = stalled_by(&status).filter(|slowest| slowest.watermark_us < input.watermark_us);
            rows.add([
                ("query", (&status.name).into()),
                ("source", (&input.name).into()),
                ("event_time_column", column.into()),
                ("delay", interval(delay_us)),
                ("max_event_time", input.max_event_time_us.into()),
                ("watermark", input.watermark_us.into()),
                ("future_rows", input.future_rows.into()),
                ("null_event_time", input.null_event_time.into()),
                ("late_rows", input.late_rows.into()),
                ("lateness_p50", interval(half)),
                ("lateness_p99", interval(most)),
                ("idle_timeout", interval(idle_timeout_us)),
                ("stalled_by", slowest.map(|slowest| &slowest.name).into()),
            ]);
        }
    }
}

/// The input that holds the query's watermark back: the slowest; none has come before every watermark.
fn stalled_by(status: &QueryStatus) -> Option<&InputStatus> {
    let timed = status.inputs.iter().filter(|input| input.has_event_time);
    timed.min_by_key(|input| input.watermark_us)
}

/// The column with the event time of a relation, and the delay of its watermark in microseconds.
fn event_time(object: &Object) -> Option<(&String, i64)> {
    let watermark = object.watermark()?;
    Some((&object.columns.get(watermark.column)?.name, watermark.delay_us))
}
