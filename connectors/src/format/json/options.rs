//! Options of format `json`.

use crate::format::OnBadRow;
use crate::options::{OptionValue, options};

options! {
    /// How lines are read.
    pub struct JsonOptions {
        /// What becomes of a line that is not a JSON object or whose values do not fit the columns. `quarantine` puts it
        /// into `sys.bad_rows` with its bytes, position and error; `null` keeps the row, with NULL for what could not be
        /// read; `drop` leaves it out; `fail` stops the query.
        on_bad_row ["mode", "bad_data"]: OnBadRow = "quarantine",
        /// `true` is `on_bad_row = 'drop'`.
        ignore_parse_errors ["json_ignore_parse_errors"]: bool = none,
        /// A declared column of type text that holds the line where something in it was bad, and NULL elsewhere. Of use
        /// with `on_bad_row = 'null'`.
        column_name_of_corrupt_record: String = none,
        /// What a number in a `timestamp` or `timestamptz` column counts since 1970-01-01 UTC. Without it, a number there
        /// is a bad value.
        epoch_unit: EpochUnit = none,
    }
}

/// The unit of times given as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl OptionValue for EpochUnit {
    const KIND: &'static str = "`s`, `ms` or `us`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "s" | "sec" | "seconds" => Ok(EpochUnit::Seconds),
            "ms" | "millis" | "milliseconds" => Ok(EpochUnit::Milliseconds),
            "us" | "micros" | "microseconds" => Ok(EpochUnit::Microseconds),
            _ => Err(format!("\"{text}\" is not s, ms or us")),
        }
    }
}
