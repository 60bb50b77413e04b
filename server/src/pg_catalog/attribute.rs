//! `pg_attribute` and `pg_attrdef`: the columns of every relation and their defaults.

use millpond_catalog::{Column, ObjectKind, SqlType, SystemType};

use super::index::indexes;
use super::rows::Rows;
use super::{SystemContext, definition, oid};

pub fn pg_attribute(context: &SystemContext, rows: &mut Rows) {
    for table in definition::all() {
        for (position, column) in table.columns.iter().enumerate() {
            add(rows, table.oid, position, column, oid::C_COLLATION);
        }
    }
    for object in context.catalog.relations() {
        // No column of a materialized view is NOT NULL, whatever is known of its query.
        let is_view = matches!(object.kind, ObjectKind::View(_) | ObjectKind::PlainView(_));
        for (position, column) in object.columns.iter().enumerate() {
            let column = &Column {
                nullable: is_view || column.nullable,
                ..column.clone()
            };
            add(
                rows,
                oid::relation(object.id),
                position,
                column,
                oid::DEFAULT_COLLATION,
            );
        }
    }
    for index in indexes(context) {
        for (position, (_, column)) in index.columns.iter().enumerate() {
            // A column of an index is never NOT NULL by itself and has no default.
            let column = match column {
                Some(column) => Column {
                    nullable: true,
                    default: None,
                    ..index.table.columns[*column].clone()
                },
                None => Column {
                    name: "expr".to_owned(),
                    sql_type: SqlType::Text,
                    nullable: true,
                    default: None,
                },
            };
            add(rows, index.oid, position, &column, oid::DEFAULT_COLLATION);
        }
    }
}

/// System tables compare all text as bytes, tables of users by the collation of the database.
fn add(rows: &mut Rows, relation: u32, position: usize, column: &Column, collation_of_text: u32) {
    let sql_type = &column.sql_type;
    let collation = if collation(sql_type) == oid::DEFAULT_COLLATION {
        collation_of_text
    } else {
        collation(sql_type)
    };
    rows.add([
        ("attrelid", relation.into()),
        ("attname", (&column.name).into()),
        ("atttypid", sql_type.oid().into()),
        ("attstattarget", (-1).into()),
        ("attlen", sql_type.size().into()),
        ("attnum", (position + 1).into()),
        (
            "attndims",
            i32::from(matches!(sql_type, SqlType::Array(_))).into(),
        ),
        ("attcacheoff", (-1).into()),
        ("atttypmod", sql_type.type_modifier().into()),
        ("attbyval", by_value(sql_type).into()),
        ("attalign", alignment(sql_type).into()),
        ("attstorage", storage(sql_type).into()),
        ("attnotnull", (!column.nullable).into()),
        ("atthasdef", column.default.is_some().into()),
        ("attislocal", true.into()),
        ("attcollation", collation.into()),
    ]);
}

pub fn pg_attrdef(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        for (position, column) in object.columns.iter().enumerate() {
            if let Some(default) = &column.default {
                rows.add([
                    ("oid", oid::default_of(object.id, position).into()),
                    ("adrelid", oid::relation(object.id).into()),
                    ("adnum", (position + 1).into()),
                    ("adbin", default_text(column, default).into()),
                ]);
            }
        }
    }
}

/// A default as Postgres shows it: a quoted literal is followed by its type.
pub fn default_text(column: &Column, default: &str) -> String {
    let inner = default
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    // Within a literal quotes are doubled; anything else is an expression that only begins and ends with one.
    let is_literal = inner.is_some_and(|inner| !inner.replace("''", "").contains('\''));
    let base = SqlType::from_oid(column.sql_type.oid()).unwrap_or_else(|| column.sql_type.clone());
    if is_literal {
        format!("{default}::{base}")
    } else {
        default.to_owned()
    }
}

/// Whether Postgres passes values of the type by value.
pub fn by_value(sql_type: &SqlType) -> bool {
    matches!(sql_type.size(), 1 | 2 | 4 | 8)
}

/// `typalign` of the type.
pub fn alignment(sql_type: &SqlType) -> char {
    match sql_type {
        SqlType::Uuid | SqlType::System(SystemType::Name) => 'c',
        SqlType::Interval | SqlType::System(SystemType::AnyArray) => 'd',
        SqlType::Array(element) if element.size() == 8 => 'd',
        other => match other.size() {
            1 => 'c',
            2 => 's',
            8 => 'd',
            _ => 'i',
        },
    }
}

/// `typstorage` of the type: whether long values are compressed and moved out of line.
pub fn storage(sql_type: &SqlType) -> char {
    match sql_type {
        SqlType::Numeric(_) | SqlType::System(SystemType::Inet) => 'm',
        SqlType::System(SystemType::Int2Vector | SystemType::OidVector) => 'p',
        other if other.size() == -1 => 'x',
        _ => 'p',
    }
}

/// Collation of values of the type, 0 where there is none.
pub fn collation(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Text | SqlType::Varchar(_) | SqlType::System(SystemType::NodeTree) => oid::DEFAULT_COLLATION,
        SqlType::System(SystemType::Name) => oid::C_COLLATION,
        SqlType::Array(element) => collation(element),
        _ => 0,
    }
}
