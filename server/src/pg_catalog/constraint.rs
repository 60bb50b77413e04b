//! Primary keys: the constraint, and the index that Postgres would keep for it.

use std::sync::Arc;

use millpond_catalog::{Object, ObjectKind, ObjectName, SqlType};

use super::attribute::collation;
use super::rows::{Rows, Value};
use super::{SystemContext, oid};

/// Positions of the columns of the primary key; empty without one.
pub fn primary_key(object: &Object) -> &[usize] {
    match &object.kind {
        ObjectKind::Table(table) => table.primary_key(),
        ObjectKind::Source(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => &[],
    }
}

/// The name of the constraint and of its index.
pub fn primary_key_name(object: &Object) -> String {
    let named = match &object.kind {
        ObjectKind::Table(table) => table.keys.iter().find(|key| key.primary),
        ObjectKind::Source(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => None,
    };
    named.map_or_else(|| format!("{}_pkey", object.name.name), |key| key.name.clone())
}

/// The column list of the primary key, as in `PRIMARY KEY (a, b)`.
pub fn primary_key_columns(object: &Object) -> String {
    let names: Vec<_> = primary_key(object)
        .iter()
        .map(|&i| ObjectName::quote(&object.columns[i].name))
        .collect();
    names.join(", ")
}

/// The table whose primary key is the constraint of this oid.
pub fn table_of_constraint(context: &SystemContext, oid: u32) -> Option<&Arc<Object>> {
    let has_key = |object: &&Arc<Object>| !primary_key(object).is_empty();
    context
        .catalog
        .relations()
        .filter(has_key)
        .find(|object| oid::primary_key(object.id) == oid)
}

fn numbers(positions: &[usize]) -> Value {
    Value::List(positions.iter().map(|p| (p + 1).into()).collect())
}

pub fn pg_index(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let key = primary_key(object);
        if key.is_empty() {
            continue;
        }
        let types: Vec<&SqlType> = key.iter().map(|&i| &object.columns[i].sql_type).collect();
        rows.add([
            ("indexrelid", oid::primary_key_index(object.id).into()),
            ("indrelid", oid::relation(object.id).into()),
            ("indnatts", key.len().into()),
            ("indnkeyatts", key.len().into()),
            ("indisunique", true.into()),
            ("indisprimary", true.into()),
            ("indimmediate", true.into()),
            ("indisvalid", true.into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indkey", numbers(key)),
            (
                "indcollation",
                types.iter().map(|t| collation(t)).collect::<Vec<_>>().into(),
            ),
            ("indclass", vec![0_u32; key.len()].into()),
            ("indoption", vec![0_i16; key.len()].into()),
        ]);
    }
}

pub fn pg_constraint(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let key = primary_key(object);
        if key.is_empty() {
            continue;
        }
        rows.add([
            ("oid", oid::primary_key(object.id).into()),
            ("conname", primary_key_name(object).into()),
            ("connamespace", oid::namespace(&object.name.schema).into()),
            ("contype", 'p'.into()),
            ("convalidated", true.into()),
            ("conrelid", oid::relation(object.id).into()),
            ("conindid", oid::primary_key_index(object.id).into()),
            ("confupdtype", ' '.into()),
            ("confdeltype", ' '.into()),
            ("confmatchtype", ' '.into()),
            ("conislocal", true.into()),
            ("connoinherit", true.into()),
            ("conkey", numbers(key)),
        ]);
    }
}
