//! `sys.sinks`: where changes leave the server, and how far.

use millpond_catalog::ObjectKind;

use super::running;
use crate::pg_catalog::{Rows, SystemContext};

pub fn sinks(context: &SystemContext, rows: &mut Rows) {
    for (status, object) in running(context) {
        let ObjectKind::Sink(sink) = &object.kind else {
            continue;
        };
        rows.add([
            ("sink_schema", (&object.name.schema).into()),
            ("sink_name", (&object.name.name).into()),
            ("connector", (&sink.connector).into()),
            (
                "delivery",
                millpond_connectors::sink::delivery(&sink.connector).into(),
            ),
            ("query", (&sink.view.query).into()),
            ("state", status.state.name().into()),
            ("paused", sink.view.paused.into()),
            ("epoch", status.epoch.into()),
            ("rows", status.totals.output_rows.into()),
        ]);
    }
}
