//! What the protocol and `pg_type` say about a SQL type: its oid, size and modifier, as every Postgres numbers them.

use crate::{SqlType, SystemType};

const RECORD: u32 = 2249;
const RECORD_ARRAY: u32 = 2287;

impl SqlType {
    /// All types without parameters, arrays and fields.
    pub fn plain() -> impl Iterator<Item = SqlType> {
        [
            SqlType::Bool,
            SqlType::Int2,
            SqlType::Int4,
            SqlType::Int8,
            SqlType::Float4,
            SqlType::Float8,
            SqlType::Numeric(None),
            SqlType::Text,
            SqlType::Varchar(None),
            SqlType::Bytea,
            SqlType::Date,
            SqlType::Time,
            SqlType::Timestamp,
            SqlType::TimestampTz,
            SqlType::Interval,
            SqlType::Uuid,
            SqlType::Json,
            SqlType::Jsonb,
        ]
        .into_iter()
        .chain(SystemType::ALL.map(SqlType::System))
    }

    /// Oid of the type.
    pub fn oid(&self) -> u32 {
        self.oids().0
    }

    /// Oid of the array of this type; an array's own oid for an array, since Postgres does not count dimensions.
    pub fn array_oid(&self) -> u32 {
        self.oids().1
    }

    fn oids(&self) -> (u32, u32) {
        match self {
            SqlType::Bool => (16, 1000),
            SqlType::Int2 => (21, 1005),
            SqlType::Int4 => (23, 1007),
            SqlType::Int8 => (20, 1016),
            SqlType::Float4 => (700, 1021),
            SqlType::Float8 => (701, 1022),
            SqlType::Numeric(_) => (1700, 1231),
            SqlType::Text => (25, 1009),
            SqlType::Varchar(_) => (1043, 1015),
            SqlType::Bytea => (17, 1001),
            SqlType::Date => (1082, 1182),
            SqlType::Time => (1083, 1183),
            SqlType::Timestamp => (1114, 1115),
            SqlType::TimestampTz => (1184, 1185),
            SqlType::Interval => (1186, 1187),
            SqlType::Uuid => (2950, 2951),
            SqlType::Json => (114, 199),
            SqlType::Jsonb => (3802, 3807),
            SqlType::Array(element) => (element.array_oid(), element.array_oid()),
            SqlType::Struct(_) => (RECORD, RECORD_ARRAY),
            SqlType::System(system) => system.oids(),
        }
    }

    /// The type with this oid, without modifier. `None` for types we do not have, records included.
    pub fn from_oid(oid: u32) -> Option<SqlType> {
        SqlType::plain().find_map(|t| match t.oids() {
            (own, _) if own == oid => Some(t),
            (_, array) if array == oid && array != 0 => Some(SqlType::Array(Box::new(t))),
            _ => None,
        })
    }

    /// Bytes of a value, -1 where it varies (`typlen`).
    pub fn size(&self) -> i16 {
        match self {
            SqlType::Bool => 1,
            SqlType::Int2 => 2,
            SqlType::Int4 | SqlType::Float4 | SqlType::Date => 4,
            SqlType::Int8 | SqlType::Float8 | SqlType::Time | SqlType::Timestamp | SqlType::TimestampTz => 8,
            SqlType::Interval | SqlType::Uuid => 16,
            SqlType::System(system) => system.size(),
            SqlType::Numeric(_)
            | SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Bytea
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Array(_)
            | SqlType::Struct(_) => -1,
        }
    }

    /// Length or precision as Postgres packs it (`atttypmod`), -1 without one.
    pub fn type_modifier(&self) -> i32 {
        match self {
            SqlType::Varchar(Some(length)) => i32::try_from(*length).map_or(-1, |n| n.saturating_add(4)),
            SqlType::Numeric(Some((precision, scale))) => {
                ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + 4
            }
            SqlType::Array(element) => element.type_modifier(),
            _ => -1,
        }
    }

    /// This type with a packed modifier applied; the reverse of [`SqlType::type_modifier`].
    pub fn with_modifier(self, modifier: i32) -> SqlType {
        match self {
            SqlType::Varchar(_) if modifier >= 4 => SqlType::Varchar(Some((modifier - 4) as u32)),
            SqlType::Numeric(_) if modifier >= 4 => {
                let packed = modifier - 4;
                // The scale is a signed 11-bit number.
                let scale = ((packed & 0x7ff) ^ 0x400) - 0x400;
                match (u8::try_from((packed >> 16) & 0xffff), i8::try_from(scale)) {
                    (Ok(precision), Ok(scale)) => SqlType::Numeric(Some((precision, scale))),
                    _ => SqlType::Numeric(None),
                }
            }
            SqlType::Array(element) => SqlType::Array(Box::new(element.with_modifier(modifier))),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_oid_names_one_type() {
        let mut seen = std::collections::BTreeSet::new();
        for sql_type in SqlType::plain() {
            assert!(seen.insert(sql_type.oid()), "{sql_type} shares its oid");
            assert_eq!(SqlType::from_oid(sql_type.oid()), Some(sql_type.clone()));
            if sql_type.array_oid() != 0 {
                assert!(seen.insert(sql_type.array_oid()), "{sql_type}[] shares its oid");
                assert_eq!(
                    SqlType::from_oid(sql_type.array_oid()),
                    Some(SqlType::Array(Box::new(sql_type)))
                );
            }
        }
        assert_eq!(SqlType::from_oid(0), None);
    }

    #[test]
    fn modifiers_are_packed_as_postgres_does() {
        assert_eq!(SqlType::Varchar(Some(20)).type_modifier(), 24);
        assert_eq!(SqlType::Numeric(Some((10, 2))).type_modifier(), 655_366);
        assert_eq!(SqlType::Text.type_modifier(), -1);
        for t in [
            SqlType::Varchar(Some(7)),
            SqlType::Numeric(Some((38, 16))),
            SqlType::Numeric(Some((5, -2))),
        ] {
            let modifier = t.type_modifier();
            let bare = SqlType::from_oid(t.oid()).unwrap();
            assert_eq!(bare.with_modifier(modifier), t);
        }
    }
}
