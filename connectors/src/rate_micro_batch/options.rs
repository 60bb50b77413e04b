//! Options of connector `rate-micro-batch`.

use std::num::NonZeroU64;

use crate::options::{OptionValue, options};

options! {
    /// What is in a batch.
    pub struct BatchOptions {
        /// Rows in every epoch.
        rows_per_batch: NonZeroU64 = required,
        /// The timestamp of the first batch, in milliseconds since 1970-01-01 UTC.
        start_timestamp: Millis = "0",
        /// How much later the timestamp of the next batch is, in milliseconds.
        advance_millis_per_batch: NonZeroU64 = "1000",
        /// How many pieces a batch is read in; without it, one per worker.
        num_partitions: NonZeroU64 = none,
    }
}

/// Milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millis(pub i64);

impl OptionValue for Millis {
    const KIND: &'static str = "a whole number";

    fn parse(text: &str) -> Result<Self, String> {
        let millis = text.trim().parse();
        millis
            .map(Millis)
            .map_err(|_| format!("\"{text}\" is not a whole number"))
    }
}
