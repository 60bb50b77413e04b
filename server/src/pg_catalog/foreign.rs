//! Sources in the form of foreign tables: each connector is a server, and its options are those of the source.

use std::collections::BTreeSet;

use millpond_catalog::{Object, ObjectKind, Source};

use super::rows::Rows;
use super::{SystemContext, oid};

fn sources(context: &SystemContext) -> impl Iterator<Item = (&Object, &Source)> {
    context
        .catalog
        .relations()
        .filter_map(|object| match &object.kind {
            ObjectKind::Source(source) => Some((&**object, source)),
            ObjectKind::Table(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => {
                None
            }
        })
}

/// Connectors in use, in the order of their names, which numbers them.
fn connectors(context: &SystemContext) -> Vec<&str> {
    let names: BTreeSet<_> = sources(context)
        .map(|(_, source)| source.connector.as_str())
        .collect();
    names.into_iter().collect()
}

fn server_oid(connectors: &[&str], name: &str) -> u32 {
    let position = connectors.iter().position(|c| *c == name).unwrap_or(0);
    oid::WRAPPER + 1 + u32::try_from(position).unwrap_or(0)
}

pub fn pg_foreign_data_wrapper(context: &SystemContext, rows: &mut Rows) {
    if sources(context).next().is_some() {
        let (oid, owner) = (oid::WRAPPER.into(), oid::OWNER.into());
        rows.add([("oid", oid), ("fdwname", "connector".into()), ("fdwowner", owner)]);
    }
}

pub fn pg_foreign_server(context: &SystemContext, rows: &mut Rows) {
    let connectors = connectors(context);
    for name in &connectors {
        rows.add([
            ("oid", server_oid(&connectors, name).into()),
            ("srvname", (*name).into()),
            ("srvowner", oid::OWNER.into()),
            ("srvfdw", oid::WRAPPER.into()),
        ]);
    }
}

pub fn pg_foreign_table(context: &SystemContext, rows: &mut Rows) {
    let connectors = connectors(context);
    for (object, source) in sources(context) {
        let options: Vec<_> = source
            .options
            .iter()
            .map(|o| format!("{}={}", o.key, o.value))
            .collect();
        rows.add([
            ("ftrelid", oid::relation(object.id).into()),
            ("ftserver", server_oid(&connectors, &source.connector).into()),
            ("ftoptions", options.into()),
        ]);
    }
}
