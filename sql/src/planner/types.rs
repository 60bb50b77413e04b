//! Type names to SQL types, and to the Arrow fields that expressions carry.

use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::TypePlanner;
use millpond_catalog::{SqlType, SystemType};
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, TimezoneInfo,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::error::{Error, ErrorKind, Result};
use crate::suggest;

use super::names::fold;

/// Type names that are not spelled in the grammar of the parser library, and what they are.
const NAMED: &[(&str, SqlType)] = &[
    ("int2", SqlType::Int2),
    ("int4", SqlType::Int4),
    ("int8", SqlType::Int8),
    ("float4", SqlType::Float4),
    ("float8", SqlType::Float8),
    ("bool", SqlType::Bool),
    ("bpchar", SqlType::Text),
    ("name", SqlType::System(SystemType::Name)),
    // Only `"char"` in quotes comes here.
    ("char", SqlType::System(SystemType::Char)),
    ("varchar", SqlType::Varchar(None)),
    ("text", SqlType::Text),
    ("string", SqlType::Text),
    ("unknown", SqlType::Text),
    ("cstring", SqlType::Text),
    ("citext", SqlType::Text),
    ("pg_node_tree", SqlType::System(SystemType::NodeTree)),
    ("oid", SqlType::System(SystemType::Oid)),
    ("xid", SqlType::System(SystemType::Xid)),
    ("int2vector", SqlType::System(SystemType::Int2Vector)),
    ("oidvector", SqlType::System(SystemType::OidVector)),
    ("aclitem", SqlType::System(SystemType::AclItem)),
    ("inet", SqlType::System(SystemType::Inet)),
    ("pg_lsn", SqlType::System(SystemType::Lsn)),
    ("bytea", SqlType::Bytea),
    ("date", SqlType::Date),
    ("time", SqlType::Time),
    ("timestamp", SqlType::Timestamp),
    ("timestamptz", SqlType::TimestampTz),
    ("interval", SqlType::Interval),
    ("numeric", SqlType::Numeric(None)),
    ("uuid", SqlType::Uuid),
    ("json", SqlType::Json),
    ("jsonb", SqlType::Jsonb),
];

/// The SQL type of a type name.
///
/// # Errors
/// [`ErrorKind::UndefinedObject`] for a name that is no type, [`ErrorKind::Unsupported`] for one that we do not have.
pub fn sql_type(data_type: &DataType) -> Result<SqlType> {
    Ok(match data_type {
        DataType::Boolean | DataType::Bool => SqlType::Bool,
        DataType::SmallInt(None) | DataType::Int2(None) | DataType::TinyInt(None) | DataType::Int16 => {
            SqlType::Int2
        }
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) | DataType::Int32 => {
            SqlType::Int4
        }
        DataType::BigInt(None) | DataType::Int8(None) | DataType::Int64 => SqlType::Int8,
        DataType::Real | DataType::Float4 | DataType::Float32 => SqlType::Float4,
        DataType::Float(ExactNumberInfo::Precision(1..=24)) => SqlType::Float4,
        DataType::Float(_)
        | DataType::Float8
        | DataType::Float64
        | DataType::Double(_)
        | DataType::DoublePrecision => SqlType::Float8,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info)?,
        DataType::Text | DataType::String(_) => SqlType::Text,
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            SqlType::Varchar(length_of(length)?)
        }
        // Blank padding is not kept up; the length is checked as that of varchar.
        DataType::Char(length) | DataType::Character(length) => {
            SqlType::Varchar(Some(length_of(length)?.unwrap_or(1)))
        }
        DataType::Bytea | DataType::Bytes(None) | DataType::Blob(None) => SqlType::Bytea,
        DataType::Date | DataType::Date32 => SqlType::Date,
        DataType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => SqlType::Time,
        DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | DataType::TimestampNtz(_) => SqlType::Timestamp,
        DataType::Datetime(_) => SqlType::Timestamp,
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => SqlType::TimestampTz,
        DataType::Interval { .. } => SqlType::Interval,
        DataType::Uuid => SqlType::Uuid,
        DataType::JSON => SqlType::Json,
        DataType::JSONB => SqlType::Jsonb,
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element),
        ) => SqlType::Array(Box::new(sql_type(element)?)),
        DataType::Struct(fields, _) | DataType::Tuple(fields) => {
            let mut converted = Vec::with_capacity(fields.len());
            for (i, field) in fields.iter().enumerate() {
                let name = field
                    .field_name
                    .as_ref()
                    .map_or_else(|| format!("f{}", i + 1), |n| n.value.clone());
                converted.push((name, sql_type(&field.field_type)?));
            }
            SqlType::Struct(converted)
        }
        DataType::Custom(name, modifiers) => named(name, modifiers)?,
        other => {
            return Err(Error::unsupported(format!(
                "type {} is not supported",
                other.to_string().to_lowercase()
            )));
        }
    })
}

fn numeric(info: &ExactNumberInfo) -> Result<SqlType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(SqlType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if precision == 0 || precision > 38 {
        return Err(Error::invalid(format!(
            "NUMERIC precision {precision} must be between 1 and 38"
        )));
    }
    if scale < 0 || scale > i64::try_from(precision).unwrap_or(0) {
        return Err(Error::invalid(format!(
            "NUMERIC scale {scale} must be between 0 and precision {precision}"
        )));
    }
    let precision = u8::try_from(precision).expect("checked to be at most 38");
    Ok(SqlType::Numeric(Some((
        precision,
        i8::try_from(scale).expect("checked to be at most 38"),
    ))))
}

fn length_of(length: &Option<CharacterLength>) -> Result<Option<u32>> {
    match length {
        None | Some(CharacterLength::Max) => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => match u32::try_from(*length) {
            Ok(length @ 1..=10_485_760) => Ok(Some(length)),
            _ => Err(Error::invalid(
                "length for type varchar must be between 1 and 10485760",
            )),
        },
    }
}

fn named(name: &ObjectName, modifiers: &[String]) -> Result<SqlType> {
    let parts: Vec<_> = name
        .0
        .iter()
        .filter_map(|p| p.as_ident())
        .map(|i| i.value.to_lowercase())
        .collect();
    let last = match parts.as_slice() {
        [name] => name.as_str(),
        [schema, name] if schema == "pg_catalog" => name.as_str(),
        _ => "",
    };
    if let ("varchar" | "bpchar", [length]) = (last, modifiers) {
        return Ok(SqlType::Varchar(length.parse().ok()));
    }
    let (element, array) = match last.strip_prefix('_') {
        Some(element) => (element, true),
        None => (last, false),
    };
    let found = NAMED
        .iter()
        .find(|(known, _)| *known == element)
        .map(|(_, t)| t.clone());
    match found {
        Some(element) if array => Ok(SqlType::Array(Box::new(element))),
        Some(found) => Ok(found),
        None => Err(Error::new(
            ErrorKind::UndefinedObject,
            format!("type \"{name}\" does not exist"),
        )
        .with_hint_if(suggest::did_you_mean(last, NAMED.iter().map(|(n, _)| *n)))),
    }
}

/// The type of a column that a user declares.
///
/// # Errors
/// As [`sql_type`], and types that only system tables have.
pub fn column_type(data_type: &DataType) -> Result<SqlType> {
    let found = sql_type(data_type)?;
    let mut element = &found;
    while let SqlType::Array(inner) = element {
        element = inner;
    }
    match element {
        SqlType::System(system) => Err(Error::unsupported(format!(
            "columns of type {} are not supported",
            system.name()
        ))),
        _ => Ok(found),
    }
}

/// A field of a type inside an expression. `named` fields tell the SQL type, where the Arrow type does not.
pub fn field(sql_type: &SqlType, named: bool) -> FieldRef {
    let plain = Field::new("", sql_type.arrow(), true);
    let told = !named || SqlType::of(&plain) == *sql_type;
    Arc::new(if told { plain } else { sql_type.field("", true) })
}

/// Other types are stored alike.
fn is_shared(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text | SqlType::System(SystemType::Oid))
}

/// Types for casts and typed literals inside expressions.
#[derive(Debug)]
pub struct Types {
    /// Fields tell the SQL type where the Arrow type does not. An INSERT knows its types from the table.
    pub named: bool,
}

impl TypePlanner for Types {
    fn plan_type_field(&self, data_type: &DataType) -> DataFusionResult<Option<FieldRef>> {
        let sql_type = sql_type(data_type).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let plain = Field::new("", sql_type.arrow(), true);
        // These are told, too: a cast keeps what its operand's field tells otherwise.
        let told = !self.named || (SqlType::of(&plain) == sql_type && !is_shared(&sql_type));
        Ok(Some(Arc::new(if told {
            plain
        } else {
            sql_type.field("", true)
        })))
    }
}

/// Columns of a schema that is written as those of CREATE TABLE.
///
/// # Errors
/// Another text, or a type that columns do not have.
pub fn fields_of(schema: &str) -> Result<Vec<(String, SqlType)>> {
    let wrong = |detail: String| {
        Error::invalid(format!("\"{schema}\" is no list of columns"))
            .with_detail(detail)
            .with_hint("Write the columns as in CREATE TABLE: from_json(value, 'id bigint, name text').")
    };
    let mut parser = Parser::new(&GenericDialect {})
        .try_with_sql(&format!("({schema})"))
        .map_err(|error| wrong(error.to_string()))?;
    let (columns, constraints) = parser.parse_columns().map_err(|error| wrong(error.to_string()))?;
    let is_end = parser.peek_token().token == Token::EOF;
    if columns.is_empty() || !constraints.is_empty() || !is_end {
        return Err(wrong("A schema has names and types.".to_owned()));
    }
    columns
        .iter()
        .map(|column| Ok((fold(&column.name), sql_type(&column.data_type)?)))
        .collect()
}
