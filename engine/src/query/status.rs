//! What a query tells about itself at any moment.

use millpond_catalog::ObjectId;
use millpond_storage::Cut;
use serde_json::Value;

/// The life of a streaming query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryState {
    /// State is being restored, or the first epochs that lead to a readable result are running.
    Starting,
    Running,
    /// By the user; keeps its state and last result.
    Paused,
    /// Keeps its state and last result until it is resumed.
    Failed(Failure),
    /// It has taken in what its trigger asks for; resuming it takes in what came since.
    Terminated,
    /// Removed, or the server is stopping.
    Stopped,
}

impl QueryState {
    /// As `sys` relations and metrics show it.
    pub fn name(&self) -> &'static str {
        match self {
            QueryState::Starting => "starting",
            QueryState::Running => "running",
            QueryState::Paused => "paused",
            QueryState::Failed(_) => "failed",
            QueryState::Terminated => "terminated",
            QueryState::Stopped => "stopped",
        }
    }
}

/// Why and where a query failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub reason: String,
    pub hint: Option<String>,
    /// The epoch that failed; `None` when the query could not be started.
    pub epoch: Option<u64>,
    /// What the failed epoch was reading: per input its name, start and end offset.
    pub offsets: Value,
}

/// A row of `sys.queries`.
#[derive(Debug, Clone)]
pub struct QueryStatus {
    pub object: ObjectId,
    pub name: String,
    /// Stable across restarts.
    pub id: String,
    /// New with every start and resume.
    pub run_id: String,
    pub state: QueryState,
    /// What it does now, in words.
    pub message: String,
    pub is_data_available: bool,
    pub is_trigger_active: bool,
    /// The last committed epoch.
    pub epoch: Option<u64>,
    /// The greatest cut at which its result can be read.
    pub cut: Option<Cut>,
    /// Since the query was created.
    pub totals: Totals,
    pub inputs: Vec<InputStatus>,
}

impl QueryStatus {
    /// S162: false after a stop, a failure or the end of its run.
    pub fn is_active(&self) -> bool {
        matches!(self.state, QueryState::Starting | QueryState::Running)
    }
}

/// Counters over all committed epochs of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Totals {
    pub input_rows: u64,
    pub output_rows: u64,
    pub bad_rows: u64,
    pub late_rows: u64,
    pub null_event_time: u64,
}

/// One input of a query: a row of `sys.query_sources` and, when it has an event time, of `sys.watermarks`.
#[derive(Debug, Clone)]
pub struct InputStatus {
    pub object: ObjectId,
    pub name: String,
    /// Whether the dataflow declares an event time for it.
    pub has_event_time: bool,
    /// The watermark of the next epoch.
    pub watermark_us: Option<i64>,
    pub max_event_time_us: Option<i64>,
    pub rows: u64,
    pub bad_rows: u64,
    pub future_rows: u64,
    pub null_event_time: u64,
    /// Rows that operators dropped as late, as far as they can be told to this input.
    pub late_rows: u64,
    /// What half, and 99 of 100, of its rows are not behind the newest one of the epochs before by more than.
    pub lateness_us: [Option<i64>; 2],
    /// How far it has been read.
    pub offset: Value,
}
