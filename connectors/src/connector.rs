//! The one list of connectors.

use std::sync::Arc;

use millpond_catalog::{Column, Options};
use millpond_engine::source::{Source, SourceContext};

use crate::error::{Error, Result};
use crate::options::{OptionSpec, reference_table};
use crate::{file, format, nexmark, rate, rate_micro_batch, socket};

/// What the rest of the product knows about a connector.
pub struct Connector {
    pub name: &'static str,
    /// One line for the reference.
    pub doc: &'static str,
    pub options: &'static [OptionSpec],
    /// Options that may change while views read the source.
    pub changeable: &'static [&'static str],
    /// Everything that the other side has sent can be asked for again.
    pub fault_tolerant: bool,
    /// The columns of a source that was declared without any, where the options tell them.
    pub columns: fn(&Options) -> Option<Vec<Column>>,
    pub validate: fn(&Options, &[Column]) -> Result<()>,
    pub open: Open,
}

type Open = fn(&Options, &[Column], SourceContext) -> Result<Arc<dyn Source>>;

pub const CONNECTORS: &[Connector] = &[
    file::CONNECTOR,
    rate::CONNECTOR,
    rate_micro_batch::CONNECTOR,
    nexmark::CONNECTOR,
    socket::CONNECTOR,
];

pub fn find(name: &str) -> Result<&'static Connector> {
    let found = CONNECTORS
        .iter()
        .find(|connector| connector.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<_> = CONNECTORS.iter().map(|connector| connector.name).collect();
        Error::UnknownConnector {
            name: name.to_owned(),
            hint: format!("Known connectors: {}.", names.join(", ")),
        }
    })
}

/// The generated part of `docs/connectors.md`: one section per connector and format.
pub fn reference() -> String {
    let mut text = String::new();
    for connector in CONNECTORS {
        text += &format!("### Connector `{}`\n\n{}\n\n", connector.name, connector.doc);
        text += &reference_table(connector.options);
        text += "\n";
    }
    for sink in crate::sink::SINKS {
        text += &format!("### Sink `{}`\n\n{}\n\n", sink.name, sink.doc);
        if !sink.options.is_empty() {
            text += &reference_table(sink.options);
            text += "\n";
        }
    }
    text += "### Every format\n\n";
    text += &reference_table(format::bad_row::OPTIONS);
    text += "\n";
    for format in format::FORMATS {
        let Some(options) = format.options else { continue };
        text += &format!("### Format `{}`\n\n{}\n\n", format.name, format.doc);
        if !options.is_empty() {
            text += &reference_table(options);
            text += "\n";
        }
    }
    text
}
