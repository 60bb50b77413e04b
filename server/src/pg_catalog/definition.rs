//! The definitions of the system relations, read once from `relations.txt` and `sys/relations.txt`.
//!
//! Invariant: both files parse; a test reads them. Nothing a user does reaches this parser.

use std::sync::LazyLock;

use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, SqlType, SystemType, arrow_schema};

/// A relation of `pg_catalog`, `information_schema` or `sys`.
#[derive(Debug)]
pub struct SystemTable {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: u32,
    pub is_view: bool,
    pub columns: Vec<Column>,
    pub arrow: SchemaRef,
}

const FILES: [&str; 2] = [
    include_str!("relations.txt"),
    include_str!("../sys/relations.txt"),
];

static TABLES: LazyLock<Vec<SystemTable>> = LazyLock::new(|| FILES.into_iter().flat_map(parse).collect());

/// The relation of that name.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemTable> {
    all().find(|table| table.schema == schema && table.name == name)
}

/// All relations, in the order of the files.
pub fn all() -> impl Iterator<Item = &'static SystemTable> {
    TABLES.iter()
}

fn parse(file: &'static str) -> Vec<SystemTable> {
    let mut tables: Vec<SystemTable> = Vec::new();
    for line in file
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(columns) = line.strip_prefix("    ") {
            let table = tables
                .last_mut()
                .expect("columns follow the line of their relation");
            table.columns.extend(
                columns
                    .split(',')
                    .map(str::trim)
                    .filter(|c| !c.is_empty())
                    .map(column),
            );
            table.arrow = readable_schema(&table.columns);
        } else {
            tables.push(head(line));
        }
    }
    tables
}

/// The schema to plan with. All fields may be NULL: the library follows nullability through unions and outer joins, and
/// its plans disagree with themselves about it where a query is nested as deeply as clients' are.
fn readable_schema(columns: &[Column]) -> SchemaRef {
    arrow_schema(
        &columns
            .iter()
            .map(|c| Column {
                nullable: true,
                ..c.clone()
            })
            .collect::<Vec<_>>(),
    )
}

/// A line such as `table pg_catalog.pg_class 1259`.
fn head(line: &'static str) -> SystemTable {
    let words: Vec<_> = line.split(' ').collect();
    let [kind, name, oid] = words[..] else {
        panic!("not the line of a relation: {line}")
    };
    let (schema, name) = name.split_once('.').expect("the name of a relation has a schema");
    let oid = oid.parse().expect("the oid of a relation is a number");
    SystemTable {
        schema,
        name,
        oid,
        is_view: kind == "view",
        columns: Vec::new(),
        arrow: readable_schema(&[]),
    }
}

/// A column such as `relname name!`.
fn column(text: &'static str) -> Column {
    let (name, type_name) = text.split_once(' ').expect("a column has a name and a type");
    let (type_name, nullable) = match type_name.strip_suffix('!') {
        Some(rest) => (rest, false),
        None => (type_name, true),
    };
    let sql_type = type_named(type_name).unwrap_or_else(|| panic!("{name} has an unknown type: {type_name}"));
    Column {
        name: name.to_owned(),
        sql_type,
        nullable,
        default: None,
    }
}

/// A type by the short name that `pg_type.typname` has.
pub fn type_named(name: &str) -> Option<SqlType> {
    if let Some(element) = name.strip_suffix("[]") {
        return type_named(element).map(|t| SqlType::Array(Box::new(t)));
    }
    Some(match name {
        "bool" => SqlType::Bool,
        "int2" => SqlType::Int2,
        "int4" => SqlType::Int4,
        "int8" => SqlType::Int8,
        "float4" => SqlType::Float4,
        "float8" => SqlType::Float8,
        "numeric" => SqlType::Numeric(None),
        "text" => SqlType::Text,
        "varchar" => SqlType::Varchar(None),
        "varchar(3)" => SqlType::Varchar(Some(3)),
        "bytea" => SqlType::Bytea,
        "date" => SqlType::Date,
        "time" => SqlType::Time,
        "timestamp" => SqlType::Timestamp,
        "timestamptz" => SqlType::TimestampTz,
        "interval" => SqlType::Interval,
        "uuid" => SqlType::Uuid,
        "json" => SqlType::Json,
        "jsonb" => SqlType::Jsonb,
        "char" => SqlType::System(SystemType::Char),
        other => SqlType::System(SystemType::ALL.into_iter().find(|t| t.name() == other)?),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_definition_parses_and_has_an_oid_and_columns_of_its_own() {
        let mut oids = BTreeSet::new();
        for table in all() {
            assert!(oids.insert(table.oid), "{} shares its oid", table.name);
            assert!(table.oid < super::super::oid::FIRST_USER_OID);
            let names: BTreeSet<_> = table.columns.iter().map(|c| &c.name).collect();
            assert_eq!(
                names.len(),
                table.columns.len(),
                "{} has a column twice",
                table.name
            );
            assert!(!names.is_empty(), "{} has no columns", table.name);
        }
        assert_eq!(find("pg_catalog", "pg_class").unwrap().oid, 1259);
        assert_eq!(find("pg_catalog", "pg_class").unwrap().columns.len(), 33);
    }
}
