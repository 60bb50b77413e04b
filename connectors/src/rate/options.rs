//! Options of connector `rate`.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::options::options;

options! {
    /// How fast rows come.
    pub struct RateOptions {
        /// Rows per second.
        rows_per_second: NonZeroU64 = "1",
        /// Time in which the rate grows evenly from nothing to `rows_per_second`.
        ramp_up_time: Duration = "0 s",
        /// How many pieces an epoch's rows are read in; without it, one per worker.
        num_partitions: NonZeroU64 = none,
    }
}
