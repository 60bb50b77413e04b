//! `pg_proc`: the functions that can be called, and the support functions that `pg_type` refers to.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A function that Postgres has under this oid.
#[derive(Debug)]
pub struct BuiltinFunction {
    pub oid: u32,
    pub name: &'static str,
}

static BUILTIN: LazyLock<Vec<BuiltinFunction>> = LazyLock::new(|| {
    include_str!("support_functions.txt")
        .lines()
        .filter_map(parse)
        .collect()
});

static OIDS: LazyLock<HashMap<&str, u32>> =
    LazyLock::new(|| BUILTIN.iter().map(|f| (f.name, f.oid)).collect());

fn parse(line: &'static str) -> Option<BuiltinFunction> {
    let mut words = line.split(' ');
    let oid = words.next()?.parse().ok()?;
    Some(BuiltinFunction {
        oid,
        name: words.next()?,
    })
}

/// The oid of a support function.
pub fn oid_of_builtin(name: &str) -> Option<u32> {
    OIDS.get(name).copied()
}
