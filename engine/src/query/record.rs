//! What a query writes about an epoch: the batch record before anything is read, the commit record after.
//!
//! JSON with a version, because people read it when something went wrong and old records outlive the program that wrote
//! them.

use millpond_storage::Cut;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lateness::Lateness;
use super::status::Totals;
use crate::epoch::{Epoch, EpochContext};
use crate::error::{Error, Result};
use crate::source::Position;

const VERSION: u32 = 1;

/// What an epoch will do. Run again after a crash, it does the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchRecord {
    pub(crate) version: u32,
    pub(crate) query_id: String,
    pub(crate) run_id: String,
    pub(crate) cut: Cut,
    /// The epoch ends at the cut exactly; otherwise more epochs lead there.
    pub(crate) reached: bool,
    /// One per dataflow input.
    pub(crate) ranges: Vec<InputRange>,
    pub(crate) context: EpochContext,
}

/// What stands after an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommitRecord {
    pub(crate) version: u32,
    pub(crate) query_id: String,
    pub(crate) run_id: String,
    pub(crate) cut: Cut,
    pub(crate) reached: bool,
    /// How far each input has been read.
    pub(crate) positions: Vec<InputPosition>,
    /// Of the epoch that was committed.
    pub(crate) context: EpochContext,
    /// Greatest event time of each input so far that moves the watermark.
    pub(crate) event_times: Vec<Option<i64>>,
    pub(crate) totals: Totals,
    pub(crate) inputs: Vec<InputTotals>,
    /// When the clock alone will change the result: microseconds since 1970.
    #[serde(default)]
    pub(crate) due_us: Option<i64>,
    /// Processing time at which each input has last given a row; of one that never has, at which the query first ran.
    #[serde(default)]
    pub(crate) heard_us: Vec<i64>,
}

/// Counters of one input over all committed epochs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct InputTotals {
    pub(crate) rows: u64,
    pub(crate) bad_rows: u64,
    pub(crate) future_rows: u64,
    pub(crate) null_event_time: u64,
    pub(crate) late_rows: u64,
    pub(crate) lateness: Lateness,
}

/// How far an input has been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InputPosition {
    Log(LogPosition),
    Source(Position),
}

/// A place in the log of a relation: all entries up to the cut, and some of those after it in the log's order. The log is
/// not summed beyond the cut while a query stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPosition {
    pub(crate) cut: Cut,
    pub(crate) entries: usize,
}

impl LogPosition {
    pub(crate) fn at(cut: Cut) -> Self {
        Self { cut, entries: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputRange {
    pub(crate) from: InputPosition,
    pub(crate) to: InputPosition,
}

impl InputPosition {
    /// As it is shown to users.
    pub(crate) fn offset(&self) -> Value {
        match self {
            InputPosition::Source(position) => position.0.clone(),
            InputPosition::Log(LogPosition { cut, entries: 0 }) => json!({ "cut": cut.0 }),
            InputPosition::Log(LogPosition { cut, entries }) => json!({ "cut": cut.0, "entries": entries }),
        }
    }
}

impl BatchRecord {
    pub(crate) fn new(
        ids: (&str, &str),
        cut: Cut,
        reached: bool,
        ranges: Vec<InputRange>,
        context: EpochContext,
    ) -> Self {
        let (query_id, run_id) = (ids.0.to_owned(), ids.1.to_owned());
        Self {
            version: VERSION,
            query_id,
            run_id,
            cut,
            reached,
            ranges,
            context,
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.context.epoch
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        decode(bytes, "batch record")
    }

    /// The record of this epoch's commit.
    pub(crate) fn committed(
        &self,
        event_times: Vec<Option<i64>>,
        totals: Totals,
        inputs: Vec<InputTotals>,
        due_us: Option<i64>,
        heard_us: Vec<i64>,
    ) -> CommitRecord {
        CommitRecord {
            version: VERSION,
            query_id: self.query_id.clone(),
            run_id: self.run_id.clone(),
            cut: self.cut,
            reached: self.reached,
            positions: self.ranges.iter().map(|range| range.to.clone()).collect(),
            context: self.context.clone(),
            event_times,
            totals,
            inputs,
            due_us,
            heard_us,
        }
    }
}

impl CommitRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        decode(bytes, "commit record")
    }
}

fn encode(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("records have text keys and no floats")
}

fn decode<R: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<R> {
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let unreadable = |reason: String| Error::Bug(format!("a {what} cannot be read: {reason}"));
    let head: Head = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
    if head.version != VERSION {
        return Err(unreadable(format!(
            "it has version {}, this program knows {VERSION}",
            head.version
        )));
    }
    serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> BatchRecord {
        let log = |cut, entries| {
            InputPosition::Log(LogPosition {
                cut: Cut(cut),
                entries,
            })
        };
        let source = |row: u64| InputPosition::Source(Position(json!({ "row": row })));
        BatchRecord::new(
            ("q", "r"),
            Cut(8),
            true,
            vec![
                InputRange {
                    from: log(5, 2),
                    to: log(8, 0),
                },
                InputRange {
                    from: source(3),
                    to: source(9),
                },
            ],
            EpochContext {
                epoch: Epoch(4),
                processing_time_us: -7,
                watermarks: vec![None, Some(11)],
                watermarks_before: vec![None, None],
            },
        )
    }

    #[test]
    fn records_are_read_back_as_written() {
        let batch = record();
        assert_eq!(BatchRecord::decode(&batch.encode()).unwrap(), batch);
        let commit = batch.committed(
            vec![None, Some(21)],
            Totals::default(),
            vec![InputTotals::default(); 2],
            Some(7),
            vec![5, -7],
        );
        assert_eq!(CommitRecord::decode(&commit.encode()).unwrap(), commit);
        assert_eq!(commit.positions[1].offset(), json!({ "row": 9 }));
    }

    #[test]
    fn a_record_of_another_version_is_refused() {
        let mut batch = record();
        batch.version = 2;
        let message = BatchRecord::decode(&batch.encode()).unwrap_err().to_string();
        assert!(message.contains("version 2"), "{message}");
        assert!(BatchRecord::decode(b"{}").is_err());
    }
}
