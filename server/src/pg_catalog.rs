//! The catalog tables that Postgres clients read, computed from the catalog value when a statement asks for them.
//!
//! Which relations exist and which columns they have is data ([`definition`], `relations.txt`); what stands in them is
//! code, one file per group, and a relation without code is empty. Rows are made from a [`SystemContext`], the state of
//! catalog and session at the start of a statement, so one statement sees one state however often it scans a table.
//!
//! Oids below 16384 are the ones that Postgres itself has; user objects follow in the order of their ids.

mod attribute;
mod constraint;
mod context;
mod database;
mod definition;
mod function;
mod oid;
mod provider;
mod relation;
mod role;
mod rows;
mod types;

pub use context::{Session, SystemContext};
pub use provider::{system_table, system_table_names};

use definition::SystemTable;
use rows::Rows;

/// Fills the rows of one system table.
type Fill = fn(&SystemContext, &mut Rows);

/// What stands in each relation; one that is not listed is empty.
fn fill(table: &SystemTable) -> Option<Fill> {
    Some(match (table.schema, table.name) {
        ("pg_catalog", "pg_class") => relation::pg_class,
        ("pg_catalog", "pg_attribute") => attribute::pg_attribute,
        ("pg_catalog", "pg_attrdef") => attribute::pg_attrdef,
        ("pg_catalog", "pg_type") => types::pg_type,
        ("pg_catalog", "pg_namespace") => database::pg_namespace,
        ("pg_catalog", "pg_database") => database::pg_database,
        ("pg_catalog", "pg_tablespace") => database::pg_tablespace,
        ("pg_catalog", "pg_authid" | "pg_roles") => role::pg_roles,
        ("pg_catalog", "pg_user" | "pg_shadow") => role::pg_user,
        ("pg_catalog", "pg_index") => constraint::pg_index,
        ("pg_catalog", "pg_constraint") => constraint::pg_constraint,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
