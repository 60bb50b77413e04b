//! What a table asks of its rows beside types: primary key, UNIQUE and CHECK.

use std::collections::HashSet;

use millpond_catalog::{Check, Column, Key, ObjectName};
use sqlparser::ast;

use crate::error::{Error, ErrorKind, Result};
use crate::statement::RelationElements;
use crate::text::SourceText;

use super::create_relation::find_column;
use super::names;

/// The name of a key that was given none.
pub fn usual_name(table: &ObjectName, columns: &[Column], key: &Key) -> String {
    if key.primary {
        return format!("{}_pkey", table.name);
    }
    let names: Vec<&str> = key.columns.iter().map(|i| columns[*i].name.as_str()).collect();
    format!("{}_{}_key", table.name, names.join("_"))
}

/// The keys of a new table. Columns of the primary key become NOT NULL.
pub fn keys(
    elements: &RelationElements,
    table: &ObjectName,
    columns: &mut [Column],
    text: &SourceText,
) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    if let Some(primary) = &elements.primary_key {
        let positions = positions(&primary.columns, "primary key", columns, text)?;
        positions
            .iter()
            .for_each(|position| columns[*position].nullable = false);
        keys.push(key(primary.name.as_ref(), positions, true, primary.enforced));
    }
    for unique in &elements.unique {
        let positions = positions(&unique.columns, "unique constraint", columns, text)?;
        keys.push(key(unique.name.as_ref(), positions, false, true));
    }
    let mut names = HashSet::new();
    for key in &mut keys {
        if key.name.is_empty() {
            key.name = free(usual_name(table, columns, key), &names);
        }
        if !names.insert(key.name.clone()) {
            return Err(taken(&key.name, table));
        }
    }
    Ok(keys)
}

fn key(name: Option<&ast::Ident>, columns: Vec<usize>, primary: bool, enforced: bool) -> Key {
    Key {
        name: name.map(names::fold).unwrap_or_default(),
        columns,
        primary,
        enforced,
    }
}

/// The conditions of a new table. They are planned with the first INSERT, and once here.
pub fn checks(elements: &RelationElements, table: &ObjectName, keys: &[Key]) -> Result<Vec<Check>> {
    let mut names: HashSet<String> = keys.iter().map(|key| key.name.clone()).collect();
    let mut checks = Vec::new();
    for check in &elements.checks {
        let name = match (&check.name, &check.column) {
            (Some(name), _) => names::fold(name),
            (None, Some(column)) => free(format!("{}_{}_check", table.name, names::fold(column)), &names),
            (None, None) => free(format!("{}_check", table.name), &names),
        };
        if !names.insert(name.clone()) {
            return Err(taken(&name, table));
        }
        checks.push(Check {
            name,
            expression: check.expr.to_string(),
        });
    }
    Ok(checks)
}

/// `name`, with a number behind it if it is taken.
fn free(name: String, taken: &HashSet<String>) -> String {
    let numbered = (1..).map(|n| format!("{name}{n}"));
    let mut candidates = std::iter::once(name.clone()).chain(numbered);
    candidates.find(|name| !taken.contains(name)).unwrap_or(name)
}

fn taken(name: &str, table: &ObjectName) -> Error {
    Error::new(
        ErrorKind::DuplicateObject,
        format!(
            "constraint \"{name}\" for relation \"{}\" already exists",
            table.name
        ),
    )
}

/// Positions of the columns of a key.
pub fn positions(
    idents: &[ast::Ident],
    what: &str,
    columns: &[Column],
    text: &SourceText,
) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for ident in idents {
        let position = find_column(ident, columns, text)?;
        if positions.contains(&position) {
            let message = format!("column \"{}\" appears twice in {what}", columns[position].name);
            let error = Error::new(ErrorKind::DuplicateColumn, message);
            return Err(error.or_position(text.position_of_span(ident.span)));
        }
        positions.push(position);
    }
    Ok(positions)
}
