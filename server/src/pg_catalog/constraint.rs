//! Constraints of tables: primary keys, UNIQUE and CHECK.

use std::sync::Arc;

use millpond_catalog::{Key, Object, ObjectKind, ObjectName};

use super::rows::{Rows, Value};
use super::{SystemContext, oid};

/// A constraint as `pg_constraint` has it.
pub struct Constraint<'a> {
    pub oid: u32,
    pub name: &'a str,
    /// `p`, `u` or `c`.
    pub kind: char,
    pub table: &'a Arc<Object>,
    /// Positions of the columns of a key.
    pub columns: &'a [usize],
    /// Of a key's index, 0 without one.
    pub index: u32,
    /// As `pg_get_constraintdef` shows it.
    pub definition: String,
    /// The condition of a CHECK.
    pub condition: Option<&'a str>,
}

/// Positions of the columns of the primary key; empty without one.
pub fn primary_key(object: &Object) -> &[usize] {
    match &object.kind {
        ObjectKind::Table(table) => table.primary_key(),
        ObjectKind::Source(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => &[],
    }
}

/// The keys of a table and their numbers: 0 is the primary key.
pub fn keys(object: &Object) -> impl Iterator<Item = (usize, &Key)> {
    let keys = match &object.kind {
        ObjectKind::Table(table) => table.keys.as_slice(),
        ObjectKind::Source(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => &[],
    };
    let mut unique = 0;
    keys.iter().map(move |key| {
        if key.primary {
            return (0, key);
        }
        unique += 1;
        (unique, key)
    })
}

/// The names of columns, as in `PRIMARY KEY (a, b)`.
pub fn column_list(object: &Object, columns: &[usize]) -> String {
    let names: Vec<_> = columns
        .iter()
        .map(|&i| ObjectName::quote(&object.columns[i].name))
        .collect();
    names.join(", ")
}

/// All constraints, table by table.
pub fn constraints(context: &SystemContext) -> Vec<Constraint<'_>> {
    context.catalog.relations().flat_map(of_table).collect()
}

fn of_table(table: &Arc<Object>) -> Vec<Constraint<'_>> {
    let keys = keys(table).map(|(number, key)| {
        let words = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        Constraint {
            oid: oid::key(table.id, number),
            name: &key.name,
            kind: if key.primary { 'p' } else { 'u' },
            table,
            columns: &key.columns,
            index: oid::key_index(table.id, number),
            definition: format!("{words} ({})", column_list(table, &key.columns)),
            condition: None,
        }
    });
    let checks = match &table.kind {
        ObjectKind::Table(table) => table.checks.as_slice(),
        ObjectKind::Source(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => &[],
    };
    let checks = checks.iter().enumerate().map(|(number, check)| Constraint {
        oid: oid::check(table.id, number),
        name: &check.name,
        kind: 'c',
        table,
        columns: &[],
        index: 0,
        definition: format!("CHECK (({}))", check.expression),
        condition: Some(&check.expression),
    });
    keys.chain(checks).collect()
}

/// The constraint of this oid, as SQL text.
pub fn constraint_definition(context: &SystemContext, oid: u32) -> Option<String> {
    let found = constraints(context).into_iter().find(|c| c.oid == oid)?;
    Some(found.definition)
}

/// Positions as column numbers from 1.
pub fn numbers(positions: &[usize]) -> Value {
    Value::List(positions.iter().map(|p| (p + 1).into()).collect())
}

pub fn pg_constraint(context: &SystemContext, rows: &mut Rows) {
    for constraint in constraints(context) {
        let schema = &constraint.table.name.schema;
        let key = match constraint.kind {
            'c' => Value::Null,
            _ => numbers(constraint.columns),
        };
        rows.add([
            ("oid", constraint.oid.into()),
            ("conname", constraint.name.into()),
            ("connamespace", oid::namespace(&context.catalog, schema).into()),
            ("contype", constraint.kind.into()),
            ("convalidated", true.into()),
            ("conrelid", oid::relation(constraint.table.id).into()),
            ("conindid", constraint.index.into()),
            ("confupdtype", ' '.into()),
            ("confdeltype", ' '.into()),
            ("confmatchtype", ' '.into()),
            ("conislocal", true.into()),
            ("connoinherit", (constraint.kind != 'c').into()),
            ("conkey", key),
            ("conbin", constraint.condition.into()),
        ]);
    }
}
