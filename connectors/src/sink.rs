//! Sinks: how the changes of a query leave the server.
//!
//! [`SINKS`] is the one list. A sink is handed whole epochs; which of them are there already is its own to know.

mod blackhole;
mod console;
mod file;
mod value;

use millpond_catalog::{Column, Options};
use millpond_engine::sink::Sink;

use crate::error::{Error, Result};
use crate::options::OptionSpec;

/// What the rest of the product knows about a sink.
pub struct SinkConnector {
    pub name: &'static str,
    /// One line for the reference.
    pub doc: &'static str,
    pub options: &'static [OptionSpec],
    /// It takes rows that are taken back later.
    pub takes_changes: bool,
    /// Each change arrives once, whatever happens; else at least once.
    pub exactly_once: bool,
    /// Checks options and columns, and what they name.
    pub validate: fn(&Options, &[Column]) -> Result<()>,
    pub open: Open,
}

type Open = fn(&Options, &[Column]) -> Result<Box<dyn Sink>>;

pub const SINKS: &[SinkConnector] = &[file::CONNECTOR, console::CONNECTOR, blackhole::CONNECTOR];

fn find(name: &str) -> Result<&'static SinkConnector> {
    let found = SINKS.iter().find(|sink| sink.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<_> = SINKS.iter().map(|sink| sink.name).collect();
        Error::UnknownConnector {
            name: name.to_owned(),
            hint: format!("Known connectors for sinks: {}.", names.join(", ")),
        }
    })
}

/// Checks everything about a sink when it is created. `append_only`: its query never takes a row back.
pub fn validate(connector: &str, options: &Options, columns: &[Column], append_only: bool) -> Result<()> {
    let sink = find(connector)?;
    if !append_only && !sink.takes_changes {
        return Err(Error::Changing {
            message: format!(
                "a sink of connector \"{}\" takes only rows that stay, but the query changes rows that it gave before",
                sink.name
            ),
            hint: "Give the rows when they are final: EMIT ON WINDOW CLOSE, in the sink or in the view that it reads.",
        });
    }
    (sink.validate)(options, columns)
}

/// Opens a sink that was validated. The outside world may be missing: that shows when it is written to.
pub fn open(connector: &str, options: &Options, columns: &[Column]) -> Result<Box<dyn Sink>> {
    (find(connector)?.open)(options, columns)
}

/// `exactly once` or `at least once`.
pub fn delivery(connector: &str) -> &'static str {
    match find(connector) {
        Ok(sink) if sink.exactly_once => "exactly once",
        Ok(_) | Err(_) => "at least once",
    }
}

#[cfg(test)]
mod tests;
