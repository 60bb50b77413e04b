//! The blackhole sink: takes everything and keeps nothing, for measuring what comes before it.

use millpond_catalog::{Column, Options};
use millpond_engine::sink::{Delivery, Sink, SinkError};

use super::SinkConnector;
use crate::error::Result;
use crate::options::OptionReader;

pub const CONNECTOR: SinkConnector = SinkConnector {
    name: "blackhole",
    doc: "Takes everything and keeps nothing, for measuring what comes before it.",
    options: &[],
    takes_changes: true,
    exactly_once: true,
    validate,
    open: |_, _| Ok(Box::new(Blackhole)),
};

fn validate(options: &Options, _: &[Column]) -> Result<()> {
    OptionReader::new("connector \"blackhole\"", options).finish()
}

struct Blackhole;

impl Sink for Blackhole {
    fn description(&self) -> String {
        "blackhole".to_owned()
    }

    fn write(&mut self, _: &Delivery<'_>) -> Result<(), SinkError> {
        Ok(())
    }
}
