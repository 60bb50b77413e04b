//! Primary keys and NOT NULL columns in the standard's words.

use std::sync::Arc;

use millpond_catalog::Object;

use crate::pg_catalog::{Rows, SystemContext, primary_key, primary_key_name};

fn keyed(context: &SystemContext) -> impl Iterator<Item = &Arc<Object>> {
    context
        .catalog
        .relations()
        .filter(|object| !primary_key(object).is_empty())
}

pub fn table_constraints(context: &SystemContext, rows: &mut Rows) {
    for table in keyed(context) {
        rows.add([
            ("constraint_catalog", (&context.session.database).into()),
            ("constraint_schema", (&table.name.schema).into()),
            ("constraint_name", primary_key_name(table).into()),
            ("table_catalog", (&context.session.database).into()),
            ("table_schema", (&table.name.schema).into()),
            ("table_name", (&table.name.name).into()),
            ("constraint_type", "PRIMARY KEY".into()),
            ("is_deferrable", "NO".into()),
            ("initially_deferred", "NO".into()),
            ("enforced", "YES".into()),
        ]);
    }
}

/// `key_column_usage` and `constraint_column_usage`.
pub fn key_column_usage(context: &SystemContext, rows: &mut Rows) {
    for table in keyed(context) {
        for (position, &column) in primary_key(table).iter().enumerate() {
            rows.add([
                ("constraint_catalog", (&context.session.database).into()),
                ("constraint_schema", (&table.name.schema).into()),
                ("constraint_name", primary_key_name(table).into()),
                ("table_catalog", (&context.session.database).into()),
                ("table_schema", (&table.name.schema).into()),
                ("table_name", (&table.name.name).into()),
                ("column_name", (&table.columns[column].name).into()),
                ("ordinal_position", (position + 1).into()),
            ]);
        }
    }
}
