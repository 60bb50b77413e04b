//! Indexes: those that Postgres would keep for keys, and those that users declared.

use std::sync::Arc;

use millpond_catalog::{Object, ObjectName};

use super::attribute::collation;
use super::constraint::{column_list, keys};
use super::rows::{Rows, Value};
use super::{SystemContext, oid};

/// An index as `pg_index` has it.
pub struct ListedIndex {
    pub oid: u32,
    pub name: String,
    pub table: Arc<Object>,
    /// What is indexed as text, and its position where it is a column.
    pub columns: Vec<(String, Option<usize>)>,
    pub unique: bool,
    pub primary: bool,
    /// The `CREATE INDEX` that makes it.
    pub definition: String,
}

/// All indexes: of keys, then those that were declared.
pub fn indexes(context: &SystemContext) -> Vec<ListedIndex> {
    let of_keys = context.catalog.relations().flat_map(|table| {
        keys(table).map(move |(number, key)| {
            let columns = key.columns.iter();
            let columns = columns.map(|&i| (ObjectName::quote(&table.columns[i].name), Some(i)));
            ListedIndex {
                oid: oid::key_index(table.id, number),
                name: key.name.clone(),
                table: table.clone(),
                columns: columns.collect(),
                unique: true,
                primary: key.primary,
                definition: format!(
                    "CREATE UNIQUE INDEX {} ON {}.{} USING btree ({})",
                    ObjectName::quote(&key.name),
                    ObjectName::quote(&table.name.schema),
                    ObjectName::quote(&table.name.name),
                    column_list(table, &key.columns)
                ),
            }
        })
    });
    let declared = context.catalog.indexes().filter_map(|index| {
        Some(ListedIndex {
            oid: oid::relation(index.id),
            name: index.name.name.clone(),
            table: context.catalog.get(index.table)?.clone(),
            columns: index.columns.clone(),
            unique: false,
            primary: false,
            definition: index.create_sql.clone(),
        })
    });
    of_keys.chain(declared).collect()
}

/// The index of this oid.
pub fn index_of_oid(context: &SystemContext, oid: u32) -> Option<ListedIndex> {
    indexes(context).into_iter().find(|index| index.oid == oid)
}

/// The index of this name.
pub fn index_named(context: &SystemContext, schema: &str, name: &str) -> Option<ListedIndex> {
    let mut indexes = indexes(context).into_iter();
    indexes.find(|index| index.name == name && index.table.name.schema == schema)
}

pub fn pg_index(context: &SystemContext, rows: &mut Rows) {
    for index in indexes(context) {
        let count = index.columns.len();
        let positions = index.columns.iter().map(|(_, position)| *position);
        let collations = positions.clone().map(|position| {
            position.map_or(0, |position| collation(&index.table.columns[position].sql_type))
        });
        // 0 stands for an expression.
        let numbers = positions.map(|position| Value::from(position.map_or(0, |position| position + 1)));
        rows.add([
            ("indexrelid", index.oid.into()),
            ("indrelid", oid::relation(index.table.id).into()),
            ("indnatts", count.into()),
            ("indnkeyatts", count.into()),
            ("indisunique", index.unique.into()),
            ("indisprimary", index.primary.into()),
            ("indimmediate", true.into()),
            ("indisvalid", true.into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indcollation", collations.collect::<Vec<_>>().into()),
            ("indkey", Value::List(numbers.collect())),
            ("indclass", vec![0_u32; count].into()),
            ("indoption", vec![0_i16; count].into()),
        ]);
    }
}

pub fn pg_indexes(context: &SystemContext, rows: &mut Rows) {
    for index in indexes(context) {
        rows.add([
            ("schemaname", (&index.table.name.schema).into()),
            ("tablename", (&index.table.name.name).into()),
            ("indexname", index.name.into()),
            ("indexdef", index.definition.into()),
        ]);
    }
}
