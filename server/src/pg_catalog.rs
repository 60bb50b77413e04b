//! The catalog tables that Postgres clients read, computed from the catalog value when a statement asks for them.
//!
//! Which relations exist and which columns they have is data ([`definition`], `relations.txt`); what stands in them is
//! code, one file per group, and a relation without code is empty. Rows are made from a [`SystemContext`], the state of
//! catalog and session at the start of a statement, so one statement sees one state however often it scans a table.
//!
//! Oids below 16384 are the ones that Postgres itself has; user objects follow in the order of their ids.

mod activity;
mod attribute;
mod constraint;
mod context;
mod database;
mod definition;
mod dependency;
mod description;
mod expressions;
mod foreign;
mod function;
mod index;
mod listing;
mod named;
mod oid;
mod provider;
mod relation;
mod role;
mod rows;
mod setting;
mod subquery;
mod types;
mod value;

pub use attribute::default_text;
pub use constraint::{column_list, constraint_definition, constraints, primary_key};
pub use context::{ServerState, SettingChange, SystemContext, current_schema};
pub use database::UTF8;
pub use definition::{SystemTable, all as all_system_tables, type_named};
pub use dependency::query as view_query;
pub use description::comment;
pub use function::{FunctionRow, functions};
pub use index::index_of_oid;
pub use named::name_casts;
pub use oid::{
    OWNER, namespaces, object_of_row_type, oid_of_object, oid_of_row_type, relation as relation_oid,
};
pub use provider::{system_table, system_table_names};
pub use relation::{kind as relation_kind, relation_bytes};
pub use rows::Rows;
pub use subquery::{ARRAY_OF_SUBQUERY, replace_subqueries};
pub use types::{TYPES, type_short_name};
pub use value::{Value, array};

/// Fills the rows of one system table.
pub type Fill = fn(&SystemContext, &mut Rows);

/// What stands in each relation; one that is not listed is empty.
fn fill(table: &SystemTable) -> Option<Fill> {
    match table.schema {
        "pg_catalog" => fill_pg_catalog(table.name),
        "information_schema" => crate::information_schema::fill(table.name),
        "sys" => crate::sys::fill(table.name),
        _ => None,
    }
}

fn fill_pg_catalog(name: &str) -> Option<Fill> {
    Some(match name {
        "pg_aggregate" => function::pg_aggregate,
        "pg_am" => database::pg_am,
        "pg_attrdef" => attribute::pg_attrdef,
        "pg_attribute" => attribute::pg_attribute,
        "pg_authid" | "pg_roles" => role::pg_roles,
        "pg_cast" => function::pg_cast,
        "pg_class" => relation::pg_class,
        "pg_collation" => database::pg_collation,
        "pg_constraint" => constraint::pg_constraint,
        "pg_database" => database::pg_database,
        "pg_depend" => dependency::pg_depend,
        "pg_foreign_data_wrapper" => foreign::pg_foreign_data_wrapper,
        "pg_foreign_server" => foreign::pg_foreign_server,
        "pg_foreign_table" => foreign::pg_foreign_table,
        "pg_description" => description::pg_description,
        "pg_index" => index::pg_index,
        "pg_indexes" => index::pg_indexes,
        "pg_language" => database::pg_language,
        "pg_matviews" => listing::pg_matviews,
        "pg_namespace" => database::pg_namespace,
        "pg_operator" => function::pg_operator,
        "pg_prepared_statements" => activity::pg_prepared_statements,
        "pg_proc" => function::pg_proc,
        "pg_rewrite" => dependency::pg_rewrite,
        "pg_settings" => setting::pg_settings,
        "pg_stat_activity" => activity::pg_stat_activity,
        "pg_stat_database" => activity::pg_stat_database,
        "pg_stat_all_tables" | "pg_stat_user_tables" => listing::pg_stat_user_tables,
        "pg_stat_ssl" | "pg_stat_gssapi" => activity::pg_stat_ssl,
        "pg_statio_all_tables" | "pg_statio_user_tables" => listing::pg_stat_user_tables,
        "pg_tables" => listing::pg_tables,
        "pg_tablespace" => database::pg_tablespace,
        "pg_timezone_names" => setting::pg_timezone_names,
        "pg_type" => types::pg_type,
        "pg_user" | "pg_shadow" => role::pg_user,
        "pg_views" => listing::pg_views,
        _ => return None,
    })
}

#[cfg(test)]
pub mod tests;
