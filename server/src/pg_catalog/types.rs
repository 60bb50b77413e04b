//! `pg_type`: the types that exist, their arrays, and the row type of each user relation.

use std::sync::LazyLock;

use millpond_catalog::SqlType;

use super::function::oid_of_builtin;
use super::rows::{Rows, Value};
use super::{SystemContext, oid};

/// A type as `types.txt` declares it.
#[derive(Debug, Clone)]
pub struct TypeDefinition {
    pub oid: u32,
    pub name: &'static str,
    size: i16,
    kind: &'static str,
    category: &'static str,
    preferred: bool,
    align: &'static str,
    storage: &'static str,
    collation: u32,
    pub array: u32,
    element: u32,
    /// Names of the input, output, receive, send, modifier-in and modifier-out functions.
    functions: [&'static str; 6],
}

/// All declared types, in the order of their oids.
pub static TYPES: LazyLock<Vec<TypeDefinition>> = LazyLock::new(|| {
    include_str!("types.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(parse)
        .collect()
});

fn parse(line: &'static str) -> TypeDefinition {
    let words: Vec<_> = line.split(' ').collect();
    let [
        oid,
        name,
        size,
        kind,
        category,
        preferred,
        align,
        storage,
        collation,
        array,
        element,
        functions @ ..,
    ] = &words[..]
    else {
        panic!("not a type: {line}")
    };
    let number = |text: &str| text.parse().expect("a type is described by numbers");
    TypeDefinition {
        oid: number(oid),
        name,
        size: size.parse().expect("the size of a type is a number"),
        kind,
        category,
        preferred: *preferred == "preferred",
        align,
        storage,
        collation: number(collation),
        array: number(array),
        element: number(element),
        functions: functions.try_into().expect("a type has six functions"),
    }
}

/// The name of a type in `pg_type`: `int4`, `_text`.
pub fn type_short_name(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Array(element) => format!("_{}", type_short_name(element)),
        other => TYPES
            .iter()
            .find(|t| t.oid == other.oid())
            .map_or_else(|| other.to_string(), |t| t.name.to_owned()),
    }
}

/// What differs between the rows of `pg_type`.
struct Row {
    oid: u32,
    name: String,
    schema: u32,
    relation: u32,
    definition: TypeDefinition,
    subscript: &'static str,
    analyze: &'static str,
}

pub fn pg_type(context: &SystemContext, rows: &mut Rows) {
    for definition in TYPES.iter() {
        let row = Row {
            oid: definition.oid,
            name: definition.name.to_owned(),
            schema: oid::PG_CATALOG,
            relation: 0,
            definition: definition.clone(),
            subscript: if definition.element == 0 {
                "-"
            } else {
                subscript_of(definition)
            },
            analyze: "-",
        };
        add(rows, &row);
        if definition.array != 0 {
            add(rows, &array_of(&row, definition.array));
        }
    }
    let record = TYPES
        .iter()
        .find(|t| t.name == "record")
        .expect("record is declared");
    for object in context.catalog.relations() {
        let row = Row {
            oid: oid::row_type(object.id),
            name: object.name.name.clone(),
            schema: oid::namespace(&context.catalog, &object.name.schema),
            relation: oid::relation(object.id),
            definition: TypeDefinition {
                kind: "c",
                category: "C",
                array: oid::row_type_array(object.id),
                ..record.clone()
            },
            subscript: "-",
            analyze: "-",
        };
        add(rows, &row);
        add(rows, &array_of(&row, oid::row_type_array(object.id)));
    }
}

/// Vectors are arrays in storage; the other types with elements have a fixed number of them.
fn subscript_of(definition: &TypeDefinition) -> &'static str {
    if definition.category == "A" {
        "array_subscript_handler"
    } else {
        "raw_array_subscript_handler"
    }
}

fn array_of(element: &Row, oid: u32) -> Row {
    let of = &element.definition;
    let [_, _, _, _, modin, modout] = of.functions;
    Row {
        oid,
        name: format!("_{}", element.name),
        schema: element.schema,
        relation: 0,
        definition: TypeDefinition {
            oid,
            name: "",
            size: -1,
            kind: if of.kind == "p" { "p" } else { "b" },
            category: if of.kind == "p" { "P" } else { "A" },
            preferred: false,
            align: if of.align == "d" { "d" } else { "i" },
            storage: "x",
            collation: of.collation,
            array: 0,
            element: element.oid,
            functions: ["array_in", "array_out", "array_recv", "array_send", modin, modout],
        },
        subscript: "array_subscript_handler",
        analyze: "array_typanalyze",
    }
}

fn add(rows: &mut Rows, row: &Row) {
    let of = &row.definition;
    let function = |name: &str| -> Value { oid_of_builtin(name).unwrap_or(0).into() };
    let [input, output, receive, send, modin, modout] = of.functions;
    rows.add([
        ("oid", row.oid.into()),
        ("typname", (&row.name).into()),
        ("typnamespace", row.schema.into()),
        ("typowner", oid::OWNER.into()),
        ("typlen", of.size.into()),
        ("typbyval", matches!(of.size, 1 | 2 | 4 | 8).into()),
        ("typtype", of.kind.into()),
        ("typcategory", of.category.into()),
        ("typispreferred", of.preferred.into()),
        ("typisdefined", true.into()),
        ("typdelim", ','.into()),
        ("typrelid", row.relation.into()),
        ("typsubscript", function(row.subscript)),
        ("typelem", of.element.into()),
        ("typarray", of.array.into()),
        ("typinput", function(input)),
        ("typoutput", function(output)),
        ("typreceive", function(receive)),
        ("typsend", function(send)),
        ("typmodin", function(modin)),
        ("typmodout", function(modout)),
        ("typanalyze", function(row.analyze)),
        ("typalign", of.align.into()),
        ("typstorage", of.storage.into()),
        ("typtypmod", (-1).into()),
        ("typcollation", of.collation.into()),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_agree_with_the_types_of_columns() {
        for sql_type in SqlType::plain() {
            let definition = TYPES.iter().find(|t| t.oid == sql_type.oid());
            let definition = definition.unwrap_or_else(|| panic!("{sql_type} is not declared"));
            assert_eq!(definition.array, sql_type.array_oid(), "{sql_type}");
            assert_eq!(definition.size, sql_type.size(), "{sql_type}");
            assert_eq!(
                definition.align,
                super::super::attribute::alignment(&sql_type).to_string(),
                "{sql_type}"
            );
            assert_eq!(
                definition.storage,
                super::super::attribute::storage(&sql_type).to_string(),
                "{sql_type}"
            );
            assert_eq!(
                definition.collation,
                super::super::attribute::collation(&sql_type),
                "{sql_type}"
            );
        }
    }

    #[test]
    fn functions_of_types_exist() {
        for name in TYPES.iter().flat_map(|t| t.functions).filter(|name| *name != "-") {
            assert!(oid_of_builtin(name).is_some(), "{name}");
        }
    }
}
