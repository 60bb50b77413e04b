//! The sink port: where a query hands its changes to the outside world.
//!
//! An epoch is handed over before its commit record is written. After a crash in between it runs again as it was and is
//! handed over again; a sink that keeps the number of the last epoch beside its data leaves that one out, which makes the
//! delivery exactly once.

pub use millpond_storage::ChangeBatch;

/// The changes of one epoch. There may be none.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// Of the query that delivers, for ever.
    pub query_id: &'a str,
    pub epoch: u64,
    pub changes: &'a [ChangeBatch],
}

/// A target of changes.
pub trait Sink: Send + Sync {
    /// Connector and target in one line, for progress reports: `file[/data/out]`.
    fn description(&self) -> String;

    /// Hands an epoch over. When this returns, it is there for good.
    fn write(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError>;
}

/// Why a sink did not take an epoch.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SinkError {
    /// The outside world is not there now; trying again later may work.
    #[error("{0}")]
    Unavailable(String),
    /// It will never take this.
    #[error("{message}")]
    Failed { message: String, hint: Option<String> },
}
