//! Options of format `json`.

use crate::format::column::EpochUnit;
use crate::options::options;

options! {
    /// How lines are read.
    pub struct JsonOptions {
        /// What a number in a `timestamp` or `timestamptz` column counts since 1970-01-01 UTC. Without it, a number there
        /// is a bad value.
        epoch_unit: EpochUnit = none,
    }
}
