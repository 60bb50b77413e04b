//! Oids: what Postgres numbers, numbered as Postgres does; the rest derived from our own ids.
//!
//! A user object's relation is [`FIRST_USER_OID`] plus its id. What belongs to the object (its row type, its primary key,
//! the defaults of its columns) has its oid in a range of its own, so nothing ever changes or meets another's oid.

use std::sync::Arc;

use millpond_catalog::{Catalog, DEFAULT_SCHEMA, Object, ObjectId, ObjectName};

use super::SystemContext;

/// The first oid of user objects, as in Postgres.
pub const FIRST_USER_OID: u32 = 16384;

pub const PG_CATALOG: u32 = 11;
pub const PUBLIC: u32 = 2200;
pub const INFORMATION_SCHEMA: u32 = 13207;
pub const SYS: u32 = 16000;
/// Of the temporary objects of all sessions.
pub const TEMPORARY: u32 = 16001;

pub const DATABASE: u32 = 5;
pub const DEFAULT_TABLESPACE: u32 = 1663;
pub const GLOBAL_TABLESPACE: u32 = 1664;

/// The role that owns everything: there is one user until authentication is set up.
pub const OWNER: u32 = 10;

pub const HEAP: u32 = 2;
pub const BTREE: u32 = 403;

pub const INTERNAL_LANGUAGE: u32 = 12;
pub const SQL_LANGUAGE: u32 = 14;

/// Oids of catalog tables that others refer to in `classid` columns.
pub const PG_CLASS: u32 = 1259;
pub const PG_REWRITE: u32 = 2618;

/// The wrapper and server that stand for all connectors: the range of the connectors follows.
pub const WRAPPER: u32 = 16010;

pub const DEFAULT_COLLATION: u32 = 100;
pub const C_COLLATION: u32 = 950;

/// Bits that number the objects within a range; the bits above are the range.
const RANGE_BITS: u32 = 28;
/// Bits that number the columns within the range of the defaults.
const COLUMN_BITS: u32 = 11;

/// The ranges beyond that of the relations.
#[derive(Debug, Clone, Copy)]
enum Range {
    RowType = 1,
    RowTypeArray,
    PrimaryKeyIndex,
    PrimaryKey,
    Rewrite,
    Default,
    UniqueIndex,
    Unique,
    Check,
}

impl Range {
    /// Wraps around long after any catalog would be too large to list.
    fn oid(self, number: u64) -> u32 {
        let number = u32::try_from(number % (1 << RANGE_BITS)).expect("a remainder of 28 bits fits");
        ((self as u32) << RANGE_BITS) + number
    }
}

/// Of the relation of a user object.
pub fn relation(id: ObjectId) -> u32 {
    let numbers = (1 << RANGE_BITS) - u64::from(FIRST_USER_OID);
    FIRST_USER_OID + u32::try_from(id.0 % numbers).expect("a remainder of 28 bits fits")
}

pub fn row_type(id: ObjectId) -> u32 {
    Range::RowType.oid(id.0)
}

pub fn row_type_array(id: ObjectId) -> u32 {
    Range::RowTypeArray.oid(id.0)
}

/// Of the index of a key; 0 is the primary key.
pub fn key_index(id: ObjectId, number: usize) -> u32 {
    match number {
        0 => Range::PrimaryKeyIndex.oid(id.0),
        number => Range::UniqueIndex.oid((id.0 << COLUMN_BITS) + number as u64),
    }
}

/// Of the constraint that is a key; 0 is the primary key.
pub fn key(id: ObjectId, number: usize) -> u32 {
    match number {
        0 => Range::PrimaryKey.oid(id.0),
        number => Range::Unique.oid((id.0 << COLUMN_BITS) + number as u64),
    }
}

/// Of a CHECK constraint.
pub fn check(id: ObjectId, number: usize) -> u32 {
    Range::Check.oid((id.0 << COLUMN_BITS) + number as u64)
}

/// Of the rule that stands for a view's query.
pub fn rewrite(id: ObjectId) -> u32 {
    Range::Rewrite.oid(id.0)
}

/// Of the default of the column at `position`.
pub fn default_of(id: ObjectId, position: usize) -> u32 {
    Range::Default.oid((id.0 << COLUMN_BITS) + position as u64)
}

/// Oid of a schema.
pub fn namespace(catalog: &Catalog, schema: &str) -> u32 {
    if schema.starts_with("pg_temp_") {
        return TEMPORARY;
    }
    namespace_named(catalog, schema).unwrap_or(PUBLIC)
}

/// Oid of a schema that exists.
pub fn namespace_named(catalog: &Catalog, schema: &str) -> Option<u32> {
    namespaces(catalog)
        .find(|(_, name)| *name == schema)
        .map(|(oid, _)| oid)
}

/// Oid and name of each schema.
pub fn namespaces(catalog: &Catalog) -> impl Iterator<Item = (u32, &str)> {
    let own = catalog.schemas().map(|(name, id)| (relation(id), name));
    NAMESPACES.into_iter().chain(own)
}

/// The oid of the relation of an object.
pub fn oid_of_object(object: &Object) -> u32 {
    relation(object.id)
}

/// The oid of the row type of a relation, by its name.
pub fn oid_of_row_type(context: &SystemContext, schema: Option<&str>, name: &str) -> Option<u32> {
    let (name, is_array) = match name.strip_prefix('_') {
        Some(element) => (element, true),
        None => (name, false),
    };
    let object = context
        .catalog
        .find(&ObjectName::new(schema.unwrap_or(DEFAULT_SCHEMA), name))?;
    Some(if is_array {
        row_type_array(object.id)
    } else {
        row_type(object.id)
    })
}

/// The object whose row type this is, and whether it is the array of it.
pub fn object_of_row_type(context: &SystemContext, oid: u32) -> Option<(&Arc<Object>, bool)> {
    context.catalog.relations().find_map(|object| match oid {
        _ if oid == row_type(object.id) => Some((object, false)),
        _ if oid == row_type_array(object.id) => Some((object, true)),
        _ => None,
    })
}

const NAMESPACES: [(u32, &str); 4] = [
    (PG_CATALOG, "pg_catalog"),
    (PUBLIC, "public"),
    (INFORMATION_SCHEMA, "information_schema"),
    (SYS, "sys"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_do_not_overlap() {
        assert_eq!(relation(ObjectId(0)), FIRST_USER_OID);
        assert_eq!(relation(ObjectId(7)), FIRST_USER_OID + 7);
        let last = ObjectId(u64::MAX);
        let mut oids = vec![
            relation(ObjectId(0)),
            relation(ObjectId((1 << RANGE_BITS) - 1 - u64::from(FIRST_USER_OID))),
        ];
        for id in [ObjectId(0), last] {
            oids.extend([
                row_type(id),
                row_type_array(id),
                key_index(id, 0),
                key_index(id, 1),
                key(id, 0),
                key(id, 1),
                check(id, 0),
                rewrite(id),
            ]);
        }
        let count = oids.len();
        oids.sort_unstable();
        oids.dedup();
        assert_eq!(oids.len(), count);
        assert!(default_of(ObjectId(1), 2047) < default_of(ObjectId(2), 0));
    }
}
