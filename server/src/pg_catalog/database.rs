//! Databases, schemas and tablespaces. There is one database; whatever name a client connects with is its name.

use super::rows::Rows;
use super::{SystemContext, oid};

/// Number of UTF8 among Postgres' encodings.
pub const UTF8: i32 = 6;

pub fn pg_namespace(context: &SystemContext, rows: &mut Rows) {
    for (oid, name) in oid::namespaces(&context.catalog) {
        rows.add([
            ("oid", oid.into()),
            ("nspname", name.into()),
            ("nspowner", oid::OWNER.into()),
        ]);
    }
    let path = context.search_path();
    if let Some(temporary) = path.iter().find(|schema| schema.starts_with("pg_temp_")) {
        rows.add([
            ("oid", oid::TEMPORARY.into()),
            ("nspname", temporary.into()),
            ("nspowner", oid::OWNER.into()),
        ]);
    }
}

pub fn pg_database(context: &SystemContext, rows: &mut Rows) {
    rows.add([
        ("oid", oid::DATABASE.into()),
        ("datname", (&context.session.database).into()),
        ("datdba", oid::OWNER.into()),
        ("encoding", UTF8.into()),
        ("datlocprovider", 'c'.into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", oid::DEFAULT_TABLESPACE.into()),
        ("datcollate", "C.UTF-8".into()),
        ("datctype", "C.UTF-8".into()),
    ]);
}

pub fn pg_tablespace(_context: &SystemContext, rows: &mut Rows) {
    for (oid, name) in [
        (oid::DEFAULT_TABLESPACE, "pg_default"),
        (oid::GLOBAL_TABLESPACE, "pg_global"),
    ] {
        rows.add([
            ("oid", oid.into()),
            ("spcname", name.into()),
            ("spcowner", oid::OWNER.into()),
        ]);
    }
}

/// How rows and indexes are kept, as far as clients ask.
pub fn pg_am(_context: &SystemContext, rows: &mut Rows) {
    for (oid, name, kind) in [(oid::HEAP, "heap", 't'), (oid::BTREE, "btree", 'i')] {
        rows.add([
            ("oid", oid.into()),
            ("amname", name.into()),
            ("amtype", kind.into()),
        ]);
    }
}

/// Text is compared byte by byte.
pub fn pg_collation(_context: &SystemContext, rows: &mut Rows) {
    let collations = [
        (oid::DEFAULT_COLLATION, "default", 'd', None),
        (oid::C_COLLATION, "C", 'c', Some("C")),
    ];
    for (oid, name, provider, locale) in collations {
        rows.add([
            ("oid", oid.into()),
            ("collname", name.into()),
            ("collnamespace", oid::PG_CATALOG.into()),
            ("collowner", oid::OWNER.into()),
            ("collprovider", provider.into()),
            ("collisdeterministic", true.into()),
            ("collencoding", (-1).into()),
            ("collcollate", locale.into()),
            ("collctype", locale.into()),
        ]);
    }
}

pub fn pg_language(_context: &SystemContext, rows: &mut Rows) {
    for (oid, name, trusted) in [
        (oid::INTERNAL_LANGUAGE, "internal", false),
        (oid::SQL_LANGUAGE, "sql", true),
    ] {
        rows.add([
            ("oid", oid.into()),
            ("lanname", name.into()),
            ("lanowner", oid::OWNER.into()),
            ("lanpltrusted", trusted.into()),
        ]);
    }
}
