//! Progress reports: what an epoch did, in the words and units of Spark's `StreamingQueryProgress`.
//!
//! Serialising a [`Progress`] gives exactly Spark's fields; what Millpond knows beyond them is in [`Details`], typed, for
//! the system tables.

use chrono::{DateTime, SecondsFormat, Utc};
use millpond_catalog::ObjectId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One finished epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Of the query, stable across restarts.
    pub id: String,
    /// Of this start of the query.
    pub run_id: String,
    pub name: String,
    /// When the trigger fired, `2026-11-29T12:00:00.000Z`.
    pub timestamp: String,
    pub batch_id: u64,
    pub num_input_rows: u64,
    pub input_rows_per_second: f64,
    pub processed_rows_per_second: f64,
    pub duration_ms: DurationMs,
    pub event_time: EventTimeProgress,
    pub state_operators: Vec<StateOperatorProgress>,
    pub sources: Vec<SourceProgress>,
    pub sink: SinkProgress,
    #[serde(skip)]
    pub details: Details,
}

/// Where the time of an epoch went, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DurationMs {
    /// All of it.
    pub trigger_execution: u64,
    /// Asking the inputs how far they go.
    pub latest_offset: u64,
    /// Cutting the ranges into pieces for the workers.
    pub get_batch: u64,
    /// Deciding what the epoch reads.
    pub query_planning: u64,
    /// Making the batch record durable.
    pub wal_commit: u64,
    /// Reading, computing, collecting changes.
    pub add_batch: u64,
    /// Making changes, state and commit record durable.
    pub commit_offsets: u64,
}

/// Event times of the epoch's input rows, and the watermark it ran with. Absent where nothing was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTimeProgress {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermark: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateOperatorProgress {
    pub operator_name: String,
    pub num_rows_total: u64,
    pub num_rows_updated: u64,
    pub num_rows_removed: u64,
    pub num_rows_dropped_by_watermark: u64,
    pub memory_used_bytes: u64,
    pub all_updates_time_ms: u64,
    pub all_removals_time_ms: u64,
    pub commit_time_ms: u64,
    pub custom_metrics: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceProgress {
    pub description: String,
    pub start_offset: Value,
    pub end_offset: Value,
    pub latest_offset: Value,
    pub num_input_rows: u64,
    pub input_rows_per_second: f64,
    pub processed_rows_per_second: f64,
    /// Texts, as in Spark: `minOffsetsBehindLatest`, `avgOffsetsBehindLatest`, `maxOffsetsBehindLatest`,
    /// `numRowsDroppedByWatermark`, `numBadRows`, `numFutureRows`, `numNullEventTime`.
    pub metrics: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SinkProgress {
    pub description: String,
    pub num_output_rows: u64,
}

/// What the system tables show of an epoch beyond Spark's fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// When the trigger fired, microseconds since 1970-01-01 UTC.
    pub timestamp_us: i64,
    pub cut: u64,
    /// Milliseconds between the moment the trigger was due and the moment it fired.
    pub scheduling_delay_ms: u64,
    pub watermark_us: Option<i64>,
    pub max_event_time_us: Option<i64>,
    pub min_event_time_us: Option<i64>,
    pub avg_event_time_us: Option<i64>,
    /// Rows dropped by operators because all their windows were final.
    pub late_rows: u64,
    pub null_event_time: u64,
    pub bad_rows: u64,
    pub inputs: Vec<InputDetails>,
}

/// One input of the query during an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct InputDetails {
    pub object: ObjectId,
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    pub bad_rows: u64,
    /// Rows whose event time is too far ahead to move the watermark.
    pub future_rows: u64,
    pub null_event_time: u64,
    /// Rows that operators dropped as late, as far as they can be told to this input.
    pub late_rows: u64,
    /// The watermark the epoch ran with.
    pub watermark_us: Option<i64>,
    pub max_event_time_us: Option<i64>,
    /// Offsets that existed when the epoch began and lie behind its end. Counted in the units of the input: rows for
    /// relations, what the connector counts for sources.
    pub offsets_behind_latest: u64,
}

/// `2026-11-29T12:00:00.000Z`; times beyond the calendar as microseconds.
pub fn format_time(time_us: i64) -> String {
    match DateTime::<Utc>::from_timestamp_micros(time_us) {
        Some(time) => time.to_rfc3339_opts(SecondsFormat::Millis, true),
        None => format!("{time_us}us"),
    }
}

/// The distance between two offsets: the sum of the differences of all numbers in them. Sound for any offset whose
/// numbers count upwards; texts and shapes do not count.
pub fn offsets_between(from: &Value, to: &Value) -> u64 {
    match (from, to) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => u64::try_from(i128::from(b) - i128::from(a)).unwrap_or(0),
            _ => 0,
        },
        (Value::Object(a), Value::Object(b)) => b
            .iter()
            .map(|(key, to)| offsets_between(a.get(key).unwrap_or(&Value::from(0)), to))
            .sum(),
        (Value::Array(a), Value::Array(b)) => b
            .iter()
            .enumerate()
            .map(|(i, to)| offsets_between(a.get(i).unwrap_or(&Value::from(0)), to))
            .sum(),
        _ => 0,
    }
}
