//! Constraints in the standard's words.

use crate::pg_catalog::{Rows, SystemContext, constraints};

pub fn table_constraints(context: &SystemContext, rows: &mut Rows) {
    for constraint in constraints(context) {
        let table = constraint.table;
        let kind = match constraint.kind {
            'p' => "PRIMARY KEY",
            'u' => "UNIQUE",
            _ => "CHECK",
        };
        rows.add([
            ("constraint_catalog", (&context.session.database).into()),
            ("constraint_schema", (&table.name.schema).into()),
            ("constraint_name", constraint.name.into()),
            ("table_catalog", (&context.session.database).into()),
            ("table_schema", (&table.name.schema).into()),
            ("table_name", (&table.name.name).into()),
            ("constraint_type", kind.into()),
            ("is_deferrable", "NO".into()),
            ("initially_deferred", "NO".into()),
            ("enforced", "YES".into()),
        ]);
    }
}

/// `key_column_usage` and `constraint_column_usage`.
pub fn key_column_usage(context: &SystemContext, rows: &mut Rows) {
    for constraint in constraints(context) {
        let table = constraint.table;
        for (position, &column) in constraint.columns.iter().enumerate() {
            rows.add([
                ("constraint_catalog", (&context.session.database).into()),
                ("constraint_schema", (&table.name.schema).into()),
                ("constraint_name", constraint.name.into()),
                ("table_catalog", (&context.session.database).into()),
                ("table_schema", (&table.name.schema).into()),
                ("table_name", (&table.name.name).into()),
                ("column_name", (&table.columns[column].name).into()),
                ("ordinal_position", (position + 1).into()),
            ]);
        }
    }
}
