//! Relations, schemas and what else has a name: `tables`, `views`, `schemata`, `character_sets` ..

use millpond_catalog::{Object, ObjectKind};

use super::yes_or_no;
use crate::pg_catalog::{Rows, SystemContext, all_system_tables, namespaces, view_query};

/// `table_type` of a user object. Postgres leaves materialized views out, and tools then do not see them; here they are
/// listed as the tables they can be read as.
fn table_type(object: &Object) -> &'static str {
    match object.kind {
        ObjectKind::Table(_) => "BASE TABLE",
        ObjectKind::Source(_) => "FOREIGN",
        ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => "VIEW",
    }
}

/// Schema and name of a relation, its type, and whether rows can be inserted.
fn relations(context: &SystemContext) -> Vec<(&str, &str, &'static str, bool)> {
    let system = all_system_tables().map(|table| {
        let kind = if table.is_view { "VIEW" } else { "BASE TABLE" };
        (table.schema, table.name, kind, false)
    });
    let user = context.catalog.relations().map(|object| {
        let insertable = matches!(object.kind, ObjectKind::Table(_));
        (
            object.name.schema.as_str(),
            object.name.name.as_str(),
            table_type(object),
            insertable,
        )
    });
    system.chain(user).collect()
}

pub fn tables(context: &SystemContext, rows: &mut Rows) {
    for (schema, name, table_type, insertable) in relations(context) {
        rows.add([
            ("table_catalog", (&context.session.database).into()),
            ("table_schema", schema.into()),
            ("table_name", name.into()),
            ("table_type", table_type.into()),
            ("is_insertable_into", yes_or_no(insertable).into()),
            ("is_typed", "NO".into()),
        ]);
    }
}

pub fn views(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let Some(query) = view_query(object) else { continue };
        rows.add([
            ("table_catalog", (&context.session.database).into()),
            ("table_schema", (&object.name.schema).into()),
            ("table_name", (&object.name.name).into()),
            ("view_definition", query.into()),
            ("check_option", "NONE".into()),
            ("is_updatable", "NO".into()),
            ("is_insertable_into", "NO".into()),
            ("is_trigger_updatable", "NO".into()),
            ("is_trigger_deletable", "NO".into()),
            ("is_trigger_insertable_into", "NO".into()),
        ]);
    }
}

pub fn foreign_tables(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let ObjectKind::Source(source) = &object.kind else {
            continue;
        };
        rows.add([
            ("foreign_table_catalog", (&context.session.database).into()),
            ("foreign_table_schema", (&object.name.schema).into()),
            ("foreign_table_name", (&object.name.name).into()),
            ("foreign_server_catalog", (&context.session.database).into()),
            ("foreign_server_name", (&source.connector).into()),
        ]);
    }
}

pub fn schemata(context: &SystemContext, rows: &mut Rows) {
    for (_, name) in namespaces(&context.catalog) {
        rows.add([
            ("catalog_name", (&context.session.database).into()),
            ("schema_name", name.into()),
            ("schema_owner", (&context.session.user).into()),
        ]);
    }
}

/// What the owner may do, which is everything that the kind of relation allows.
pub fn table_privileges(context: &SystemContext, rows: &mut Rows) {
    for (schema, name, _, insertable) in relations(context) {
        let privileges: &[&str] = if insertable {
            &["SELECT", "INSERT"]
        } else {
            &["SELECT"]
        };
        for privilege in privileges {
            rows.add([
                ("grantor", (&context.session.user).into()),
                ("grantee", (&context.session.user).into()),
                ("table_catalog", (&context.session.database).into()),
                ("table_schema", schema.into()),
                ("table_name", name.into()),
                ("privilege_type", (*privilege).into()),
                ("is_grantable", "YES".into()),
                ("with_hierarchy", yes_or_no(*privilege == "SELECT").into()),
            ]);
        }
    }
}

pub fn character_sets(context: &SystemContext, rows: &mut Rows) {
    rows.add([
        ("character_set_name", "UTF8".into()),
        ("character_repertoire", "UCS".into()),
        ("form_of_use", "UTF8".into()),
        ("default_collate_catalog", (&context.session.database).into()),
        ("default_collate_schema", "pg_catalog".into()),
        ("default_collate_name", "C.UTF-8".into()),
    ]);
}

pub fn collations(context: &SystemContext, rows: &mut Rows) {
    for name in ["default", "C"] {
        rows.add([
            ("collation_catalog", (&context.session.database).into()),
            ("collation_schema", "pg_catalog".into()),
            ("collation_name", name.into()),
            ("pad_attribute", "NO PAD".into()),
        ]);
    }
}

pub fn roles(context: &SystemContext, rows: &mut Rows) {
    rows.add([
        ("role_name", (&context.session.user).into()),
        ("grantee", (&context.session.user).into()),
        ("is_grantable", "YES".into()),
    ]);
}
