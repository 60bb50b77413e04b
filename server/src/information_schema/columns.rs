//! `columns` and `element_types`: the columns of every relation in the standard's words.

use millpond_catalog::{Column, ObjectKind, SqlType, SystemType};

use super::yes_or_no;
use crate::pg_catalog::{Rows, SystemContext, Value, all_system_tables, default_text, type_short_name};

/// A relation with its columns: schema, name, columns, whether it can be changed.
fn relations(context: &SystemContext) -> Vec<(&str, &str, &[Column], bool)> {
    let system = all_system_tables().map(|t| (t.schema, t.name, &t.columns[..], false));
    let user = context.catalog.relations().map(|object| {
        let insertable = matches!(object.kind, ObjectKind::Table(_));
        (
            object.name.schema.as_str(),
            object.name.name.as_str(),
            &object.columns[..],
            insertable,
        )
    });
    system.chain(user).collect()
}

pub fn columns(context: &SystemContext, rows: &mut Rows) {
    for (schema, table, columns, updatable) in relations(context) {
        for (position, column) in columns.iter().enumerate() {
            let database = || Value::from(&context.session.database);
            let size = Size::of(&column.sql_type);
            rows.add([
                ("table_catalog", database()),
                ("table_schema", schema.into()),
                ("table_name", table.into()),
                ("column_name", (&column.name).into()),
                ("ordinal_position", (position + 1).into()),
                (
                    "column_default",
                    column
                        .default
                        .as_ref()
                        .map(|default| default_text(column, default))
                        .into(),
                ),
                ("is_nullable", yes_or_no(column.nullable).into()),
                ("data_type", data_type(&column.sql_type).into()),
                ("character_maximum_length", size.characters.into()),
                ("character_octet_length", size.bytes.into()),
                ("numeric_precision", size.precision.into()),
                ("numeric_precision_radix", size.radix.into()),
                ("numeric_scale", size.scale.into()),
                ("datetime_precision", size.fraction_digits.into()),
                ("udt_catalog", database()),
                ("udt_schema", "pg_catalog".into()),
                ("udt_name", type_short_name(&column.sql_type).into()),
                ("dtd_identifier", (position + 1).to_string().into()),
                ("is_self_referencing", "NO".into()),
                ("is_identity", "NO".into()),
                ("identity_cycle", "NO".into()),
                ("is_generated", "NEVER".into()),
                ("is_updatable", yes_or_no(updatable).into()),
            ]);
        }
    }
}

/// The types of the elements of arrays.
pub fn element_types(context: &SystemContext, rows: &mut Rows) {
    for (schema, table, columns, _) in relations(context) {
        for (position, column) in columns.iter().enumerate() {
            let SqlType::Array(element) = &column.sql_type else {
                continue;
            };
            rows.add([
                ("object_catalog", (&context.session.database).into()),
                ("object_schema", schema.into()),
                ("object_name", table.into()),
                ("object_type", "TABLE".into()),
                ("collection_type_identifier", (position + 1).to_string().into()),
                ("data_type", data_type(element).into()),
                ("udt_catalog", (&context.session.database).into()),
                ("udt_schema", "pg_catalog".into()),
                ("udt_name", type_short_name(element).into()),
                ("dtd_identifier", format!("a{}", position + 1).into()),
            ]);
        }
    }
}

/// The name of the type without its modifier.
pub fn data_type(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Array(_) | SqlType::System(SystemType::Int2Vector | SystemType::OidVector) => {
            "ARRAY".to_owned()
        }
        SqlType::Numeric(_) => "numeric".to_owned(),
        SqlType::Varchar(_) => "character varying".to_owned(),
        other => other.to_string(),
    }
}

/// How large values can be; what does not apply to the type is absent.
#[derive(Debug, Default)]
struct Size {
    characters: Option<i64>,
    bytes: Option<i64>,
    precision: Option<i64>,
    radix: Option<i64>,
    scale: Option<i64>,
    fraction_digits: Option<i64>,
}

/// Bytes of the longest text.
const TEXT_BYTES_MAX: i64 = 1 << 30;

impl Size {
    fn of(sql_type: &SqlType) -> Self {
        let integer = |bits| Size {
            precision: Some(bits),
            radix: Some(2),
            scale: Some(0),
            ..Size::default()
        };
        let float = |bits| Size {
            precision: Some(bits),
            radix: Some(2),
            ..Size::default()
        };
        match sql_type {
            SqlType::Int2 => integer(16),
            SqlType::Int4 => integer(32),
            SqlType::Int8 => integer(64),
            SqlType::Float4 => float(24),
            SqlType::Float8 => float(53),
            SqlType::Numeric(size) => Size {
                precision: size.map(|(precision, _)| precision.into()),
                radix: Some(10),
                scale: size.map(|(_, scale)| scale.into()),
                ..Size::default()
            },
            SqlType::Text | SqlType::Varchar(None) => Size {
                bytes: Some(TEXT_BYTES_MAX),
                ..Size::default()
            },
            SqlType::Varchar(Some(length)) => {
                let length = i64::from(*length);
                Size {
                    characters: Some(length),
                    bytes: Some(length.saturating_mul(4)),
                    ..Size::default()
                }
            }
            SqlType::Date => Size {
                fraction_digits: Some(0),
                ..Size::default()
            },
            SqlType::Time | SqlType::Timestamp | SqlType::TimestampTz | SqlType::Interval => Size {
                fraction_digits: Some(6),
                ..Size::default()
            },
            _ => Size::default(),
        }
    }
}
