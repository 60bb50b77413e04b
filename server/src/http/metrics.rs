//! Metrics in the text format of Prometheus.
//!
//! The registry is filled from the engine's own counters at each scrape, so there is nothing to keep in step.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use millpond_engine::progress::Progress;
use millpond_engine::query::status::QueryStatus;

use crate::server::Server;

pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueryLabels {
    query: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InputLabels {
    query: String,
    input: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    query: String,
    /// As `sys.queries` spells it.
    state: &'static str,
}

type Counters = Family<QueryLabels, Counter>;
type Gauges = Family<QueryLabels, Gauge<f64, AtomicU64>>;

/// Everything told per query.
#[derive(Default)]
struct QueryMetrics {
    state: Family<StateLabels, Gauge>,
    input_rows: Counters,
    output_rows: Counters,
    late_rows: Counters,
    bad_rows: Counters,
    null_event_time: Counters,
    epoch: Gauges,
    input_rate: Gauges,
    processed_rate: Gauges,
    epoch_seconds: Gauges,
    state_rows: Gauges,
    state_bytes: Gauges,
    watermark_lag: Family<InputLabels, Gauge<f64, AtomicU64>>,
    offsets_behind: Family<InputLabels, Gauge>,
}

/// The answer to a scrape.
pub fn text(server: &Server) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("millpond");
    let connections: Gauge = Gauge::default();
    connections.set(i64::try_from(server.sessions.len()).unwrap_or(i64::MAX));
    registry.register("connections", "Clients that are connected", connections);
    let metrics = QueryMetrics::default();
    metrics.register(&mut registry);
    let engine = server.coordinator.engine();
    for status in engine.queries() {
        let last = engine
            .progress(status.object)
            .ok()
            .and_then(|all| all.last().cloned());
        metrics.fill(&status, last.as_deref(), server.clock.now_us());
    }
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

impl QueryMetrics {
    fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("query");
        registry.register(
            "state",
            "1 for the state that the query is in",
            self.state.clone(),
        );
        registry.register(
            "input_rows",
            "Rows taken in since the query was created",
            self.input_rows.clone(),
        );
        registry.register(
            "output_rows",
            "Changes handed over since the query was created",
            self.output_rows.clone(),
        );
        registry.register(
            "late_rows",
            "Rows dropped because their windows were final",
            self.late_rows.clone(),
        );
        registry.register(
            "bad_rows",
            "Rows set aside because they could not be read",
            self.bad_rows.clone(),
        );
        registry.register(
            "null_event_time_rows",
            "Rows without an event time",
            self.null_event_time.clone(),
        );
        registry.register("epoch", "Number of the last committed epoch", self.epoch.clone());
        registry.register(
            "input_rows_per_second",
            "Arrival rate of the last epoch",
            self.input_rate.clone(),
        );
        registry.register(
            "processed_rows_per_second",
            "Speed of the last epoch",
            self.processed_rate.clone(),
        );
        registry.register(
            "epoch_duration_seconds",
            "Duration of the last epoch",
            self.epoch_seconds.clone(),
        );
        registry.register("state_rows", "Rows that operators keep", self.state_rows.clone());
        registry.register(
            "state_memory_bytes",
            "Memory that operators keep",
            self.state_bytes.clone(),
        );
        registry.register(
            "watermark_lag_seconds",
            "Time from the watermark to now",
            self.watermark_lag.clone(),
        );
        registry.register(
            "offsets_behind_latest",
            "Input not yet taken in",
            self.offsets_behind.clone(),
        );
    }

    fn fill(&self, status: &QueryStatus, last: Option<&Progress>, now_us: i64) {
        let labels = QueryLabels {
            query: status.name.clone(),
        };
        let state = StateLabels {
            query: status.name.clone(),
            state: status.state.name(),
        };
        self.state.get_or_create(&state).set(1);
        for (counters, value) in [
            (&self.input_rows, status.totals.input_rows),
            (&self.output_rows, status.totals.output_rows),
            (&self.late_rows, status.totals.late_rows),
            (&self.bad_rows, status.totals.bad_rows),
            (&self.null_event_time, status.totals.null_event_time),
        ] {
            counters.get_or_create(&labels).inc_by(value);
        }
        let input = |name: &str| InputLabels {
            query: status.name.clone(),
            input: name.to_owned(),
        };
        for source in &status.inputs {
            if let Some(watermark) = source.watermark_us {
                let lag = now_us.saturating_sub(watermark) as f64 / 1e6;
                self.watermark_lag.get_or_create(&input(&source.name)).set(lag);
            }
        }
        let Some(last) = last else { return };
        let operators = || last.state_operators.iter();
        for (gauges, value) in [
            (&self.epoch, last.batch_id as f64),
            (&self.input_rate, last.input_rows_per_second),
            (&self.processed_rate, last.processed_rows_per_second),
            (
                &self.epoch_seconds,
                last.duration_ms.trigger_execution as f64 / 1e3,
            ),
            (
                &self.state_rows,
                operators().map(|o| o.num_rows_total).sum::<u64>() as f64,
            ),
            (
                &self.state_bytes,
                operators().map(|o| o.memory_used_bytes).sum::<u64>() as f64,
            ),
        ] {
            gauges.get_or_create(&labels).set(value);
        }
        for details in &last.details.inputs {
            let behind = i64::try_from(details.offsets_behind_latest).unwrap_or(i64::MAX);
            self.offsets_behind
                .get_or_create(&input(&details.name))
                .set(behind);
        }
    }
}
