//! Databases, schemas and tablespaces. There is one database; whatever name a client connects with is its name.

use super::rows::Rows;
use super::{SystemContext, oid};

/// Number of UTF8 among Postgres' encodings.
pub const UTF8: i32 = 6;

pub fn pg_namespace(_context: &SystemContext, rows: &mut Rows) {
    for (oid, name) in oid::NAMESPACES {
        rows.add([
            ("oid", oid.into()),
            ("nspname", name.into()),
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
