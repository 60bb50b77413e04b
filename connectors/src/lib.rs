//! Sources and formats: how rows of the outside world become Arrow batches.
//!
//! A connector turns `WITH` options into its own typed struct and opens a [`Source`], which the engine asks for ranges and
//! slices. A format turns bytes into columns and knows no files. [`CONNECTORS`](connector::CONNECTORS) and
//! [`FORMATS`](format::FORMATS) are the only lists: a new one is one file and one line.
//!
//! Deliberately absent: threads, queries, clocks. The engine says what time it is.

mod connector;
mod error;
mod file;
mod format;
mod literal;
#[cfg(test)]
mod memory_notes;
mod nexmark;
mod numbered;
pub mod options;
mod rate;
mod rate_micro_batch;
pub mod sink;
mod socket;

use std::sync::Arc;

use millpond_catalog::{Column, Options};
use millpond_engine::source::{Source, SourceContext};

pub use connector::reference;
pub use error::{Error, Result};

/// Opens the source that `CREATE SOURCE` described. The outside world may be missing: that shows when the source is
/// asked.
pub fn open_source(
    connector: &str,
    options: &Options,
    columns: &[Column],
    context: SourceContext,
) -> Result<Arc<dyn Source>> {
    (connector::find(connector)?.open)(options, columns, context)
}

/// Checks options, columns and that what they name is there, when `CREATE SOURCE` is planned.
pub fn validate(connector: &str, options: &Options, columns: &[Column]) -> Result<()> {
    (connector::find(connector)?.validate)(options, columns)
}

/// Checks other options of a source that exists, of which those in `changed` were given.
pub fn validate_change(
    connector: &str,
    changed: &[String],
    options: &Options,
    columns: &[Column],
) -> Result<()> {
    let found = connector::find(connector)?;
    // A key that nobody knows is told first, with the nearest one.
    (found.validate)(options, columns)?;
    match changed
        .iter()
        .find(|key| !found.changeable.contains(&key.as_str()))
    {
        None => Ok(()),
        Some(key) => Err(Error::NotSupported {
            what: format!("changing the option \"{key}\" of a source that exists"),
            hint: Some(match found.changeable {
                [] => format!(
                    "All options of connector \"{}\" are for life: create another source.",
                    found.name
                ),
                changeable => format!("Options that can be changed: {}.", changeable.join(", ")),
            }),
        }),
    }
}

/// Everything that the other side of this connector has sent can be asked for again.
pub fn is_fault_tolerant(connector: &str) -> bool {
    connector::find(connector).is_ok_and(|connector| connector.fault_tolerant)
}

/// The columns of a source that was declared without any; `None` where the user has to declare them.
pub fn default_columns(connector: &str, options: &Options) -> Result<Option<Vec<Column>>> {
    Ok((connector::find(connector)?.columns)(options))
}
