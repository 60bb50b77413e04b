//! SQL types as Postgres names them, and the Arrow type that stores each.
//!
//! Where two SQL types share one Arrow type (text, varchar, json and uuid are all `Utf8`), the SQL type travels in the
//! Arrow field's metadata under [`SqlType::METADATA_KEY`], so that a result set can be described exactly.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use crate::SystemType;

/// A type a column can have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SqlType {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// Precision and scale; `None` is the unconstrained `numeric`, stored with [`SqlType::NUMERIC_SCALE`] digits.
    Numeric(Option<(u8, i8)>),
    Text,
    Varchar(Option<u32>),
    Bytea,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Json,
    Jsonb,
    Array(Box<SqlType>),
    Struct(Vec<(String, SqlType)>),
    /// Only in system tables.
    System(SystemType),
}

impl SqlType {
    /// Key of the Arrow field metadata entry that holds the SQL type's name.
    pub const METADATA_KEY: &'static str = "millpond.sql_type";
    /// Digits after the point that an unconstrained `numeric` keeps. It is no scale that a quotient or a mean has (at
    /// least 16), so it tells values whose trailing zeros nobody wrote: they are not shown.
    pub const NUMERIC_SCALE: i8 = 15;
    /// How an unconstrained `numeric` is stored.
    pub const PLAIN_NUMERIC: DataType = DataType::Decimal128(38, Self::NUMERIC_SCALE);

    /// Integers, floats and numerics.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            SqlType::Int2
                | SqlType::Int4
                | SqlType::Int8
                | SqlType::Float4
                | SqlType::Float8
                | SqlType::Numeric(_)
        )
    }

    /// The Arrow type of a stored value: microseconds for times, UTC for `timestamptz`, 128 bits for `numeric`.
    pub fn arrow(&self) -> DataType {
        match self {
            SqlType::Bool => DataType::Boolean,
            SqlType::Int2 => DataType::Int16,
            SqlType::Int4 => DataType::Int32,
            SqlType::Int8 => DataType::Int64,
            SqlType::Float4 => DataType::Float32,
            SqlType::Float8 => DataType::Float64,
            SqlType::Numeric(Some((precision, scale))) => DataType::Decimal128(*precision, *scale),
            SqlType::Numeric(None) => Self::PLAIN_NUMERIC,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Uuid | SqlType::Json | SqlType::Jsonb => {
                DataType::Utf8
            }
            SqlType::Bytea => DataType::Binary,
            SqlType::Date => DataType::Date32,
            SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
            SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            SqlType::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            SqlType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            SqlType::Array(element) => DataType::List(Arc::new(Field::new_list_field(element.arrow(), true))),
            SqlType::Struct(fields) => {
                DataType::Struct(fields.iter().map(|(n, t)| t.field(n, true)).collect::<Fields>())
            }
            SqlType::System(system) => system.arrow(),
        }
    }

    /// An Arrow field of this type that carries the SQL type in its metadata.
    pub fn field(&self, name: &str, nullable: bool) -> Field {
        let metadata = [(Self::METADATA_KEY.to_owned(), self.to_string())];
        Field::new(name, self.arrow(), nullable).with_metadata(metadata.into())
    }

    /// The SQL type of an Arrow field: what its metadata says, else the type that Postgres would show for it.
    pub fn of(field: &Field) -> SqlType {
        let named = field
            .metadata()
            .get(Self::METADATA_KEY)
            .and_then(|name| Self::parse(name));
        match named {
            // An expression may keep the metadata of its input while changing the type: then the type wins.
            Some(sql_type) if sql_type.arrow() == *field.data_type() => sql_type,
            _ => Self::of_arrow(field.data_type()),
        }
    }

    fn of_arrow(data_type: &DataType) -> SqlType {
        match data_type {
            DataType::Boolean => SqlType::Bool,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => SqlType::Int2,
            DataType::UInt16 | DataType::Int32 => SqlType::Int4,
            DataType::Int64 => SqlType::Int8,
            DataType::UInt32 => SqlType::System(SystemType::Oid),
            DataType::UInt64 => SqlType::Numeric(Some((20, 0))),
            plain if *plain == Self::PLAIN_NUMERIC => SqlType::Numeric(None),
            DataType::Float16 | DataType::Float32 => SqlType::Float4,
            DataType::Float64 => SqlType::Float8,
            DataType::Decimal32(p, s)
            | DataType::Decimal64(p, s)
            | DataType::Decimal128(p, s)
            | DataType::Decimal256(p, s) => SqlType::Numeric(Some((*p, *s))),
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => SqlType::Bytea,
            DataType::Date32 | DataType::Date64 => SqlType::Date,
            DataType::Time32(_) | DataType::Time64(_) => SqlType::Time,
            DataType::Timestamp(_, None) => SqlType::Timestamp,
            DataType::Timestamp(_, Some(_)) => SqlType::TimestampTz,
            DataType::Interval(_) | DataType::Duration(_) => SqlType::Interval,
            DataType::List(f)
            | DataType::LargeList(f)
            | DataType::ListView(f)
            | DataType::LargeListView(f)
            | DataType::FixedSizeList(f, _) => SqlType::Array(Box::new(Self::of(f))),
            DataType::Struct(fields) => {
                SqlType::Struct(fields.iter().map(|f| (f.name().clone(), Self::of(f))).collect())
            }
            DataType::Dictionary(_, value) => Self::of_arrow(value),
            DataType::Null
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Map(_, _)
            | DataType::Union(_, _)
            | DataType::RunEndEncoded(_, _) => SqlType::Text,
        }
    }

    /// Reads back what `Display` prints for the types that need metadata; `None` for anything else.
    fn parse(name: &str) -> Option<SqlType> {
        if let Some(element) = name.strip_suffix("[]") {
            return Some(SqlType::Array(Box::new(Self::parse(element)?)));
        }
        if let Some(system) = SystemType::ALL.into_iter().find(|t| t.name() == name) {
            return Some(SqlType::System(system));
        }
        let (base, arguments) = match name.split_once('(') {
            Some((base, rest)) => (base, Some(rest.strip_suffix(')')?)),
            None => (name, None),
        };
        Some(match (base, arguments) {
            ("text", None) => SqlType::Text,
            ("character varying", None) => SqlType::Varchar(None),
            ("character varying", Some(n)) => SqlType::Varchar(Some(n.parse().ok()?)),
            ("uuid", None) => SqlType::Uuid,
            ("json", None) => SqlType::Json,
            ("jsonb", None) => SqlType::Jsonb,
            ("numeric", None) => SqlType::Numeric(None),
            _ => return None,
        })
    }
}

/// The name that Postgres' `format_type` gives.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Bool => f.write_str("boolean"),
            SqlType::Int2 => f.write_str("smallint"),
            SqlType::Int4 => f.write_str("integer"),
            SqlType::Int8 => f.write_str("bigint"),
            SqlType::Float4 => f.write_str("real"),
            SqlType::Float8 => f.write_str("double precision"),
            SqlType::Numeric(None) => f.write_str("numeric"),
            SqlType::Numeric(Some((precision, scale))) => write!(f, "numeric({precision},{scale})"),
            SqlType::Text => f.write_str("text"),
            SqlType::Varchar(None) => f.write_str("character varying"),
            SqlType::Varchar(Some(length)) => write!(f, "character varying({length})"),
            SqlType::Bytea => f.write_str("bytea"),
            SqlType::Date => f.write_str("date"),
            SqlType::Time => f.write_str("time without time zone"),
            SqlType::Timestamp => f.write_str("timestamp without time zone"),
            SqlType::TimestampTz => f.write_str("timestamp with time zone"),
            SqlType::Interval => f.write_str("interval"),
            SqlType::Uuid => f.write_str("uuid"),
            SqlType::Json => f.write_str("json"),
            SqlType::Jsonb => f.write_str("jsonb"),
            SqlType::Array(element) => write!(f, "{element}[]"),
            SqlType::Struct(_) => f.write_str("record"),
            SqlType::System(system) => f.write_str(system.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_share_an_arrow_type_come_back_from_metadata() {
        for sql_type in [
            SqlType::Text,
            SqlType::Varchar(Some(7)),
            SqlType::Varchar(None),
            SqlType::Uuid,
            SqlType::Json,
            SqlType::Jsonb,
            SqlType::Numeric(None),
            SqlType::System(SystemType::Name),
            SqlType::System(SystemType::RegProc),
            SqlType::System(SystemType::Int2Vector),
            SqlType::Array(Box::new(SqlType::System(SystemType::Char))),
            SqlType::Array(Box::new(SqlType::Uuid)),
        ] {
            assert_eq!(SqlType::of(&sql_type.field("c", true)), sql_type);
        }
    }

    #[test]
    fn a_changed_type_wins_over_metadata() {
        let field = SqlType::Uuid.field("c", true).with_data_type(DataType::Int64);
        assert_eq!(SqlType::of(&field), SqlType::Int8);
    }
}
