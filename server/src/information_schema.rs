//! The standard's catalog, `information_schema`, as PostgreSQL 15 has it.
//!
//! Its relations are defined with those of `pg_catalog`; here is what stands in them.

mod columns;
mod constraints;
mod routines;
mod tables;

use crate::pg_catalog::{Fill, Rows, SystemContext};

/// What stands in a relation of `information_schema`.
pub fn fill(name: &str) -> Option<Fill> {
    Some(match name {
        "character_sets" => tables::character_sets,
        "collations" => tables::collations,
        "columns" => columns::columns,
        "element_types" => columns::element_types,
        "enabled_roles" | "applicable_roles" | "administrable_role_authorizations" => tables::roles,
        "foreign_tables" => tables::foreign_tables,
        "information_schema_catalog_name" => catalog_name,
        "key_column_usage" | "constraint_column_usage" => constraints::key_column_usage,
        "constraint_table_usage" | "table_constraints" => constraints::table_constraints,
        "routines" => routines::routines,
        "parameters" => routines::parameters,
        "schemata" => tables::schemata,
        "table_privileges" | "role_table_grants" => tables::table_privileges,
        "tables" => tables::tables,
        "views" => tables::views,
        _ => return None,
    })
}

fn catalog_name(context: &SystemContext, rows: &mut Rows) {
    rows.add([("catalog_name", (&context.session.database).into())]);
}

/// How the standard's catalog says yes and no.
fn yes_or_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}
