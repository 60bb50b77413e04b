//! Roles. Until authentication is set up there is one: whoever is connected, who owns everything.

use super::rows::Rows;
use super::{SystemContext, oid};

pub fn pg_roles(context: &SystemContext, rows: &mut Rows) {
    rows.add([
        ("oid", oid::OWNER.into()),
        ("rolname", (&context.session.user).into()),
        ("rolsuper", true.into()),
        ("rolinherit", true.into()),
        ("rolcreaterole", true.into()),
        ("rolcreatedb", true.into()),
        ("rolcanlogin", true.into()),
        ("rolreplication", true.into()),
        ("rolbypassrls", true.into()),
        ("rolconnlimit", (-1).into()),
    ]);
}

/// `pg_user` and `pg_shadow`.
pub fn pg_user(context: &SystemContext, rows: &mut Rows) {
    rows.add([
        ("usename", (&context.session.user).into()),
        ("usesysid", oid::OWNER.into()),
        ("usecreatedb", true.into()),
        ("usesuper", true.into()),
        ("userepl", true.into()),
        ("usebypassrls", true.into()),
    ]);
}
