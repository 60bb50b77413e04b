//! Schemas, indexes, comments and new names: changes of the catalog that make no relation.

use std::collections::BTreeSet;

use millpond_catalog::{DEFAULT_SCHEMA, Object, ObjectId, ObjectKind, ObjectName};
use sqlparser::ast;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{CatalogChange, IndexDraft, Notice, Plan, PlanKind};
use crate::statement::{Accepted, CommentTarget, CreateIndex, Definition, DropKind};
use crate::text::SourceText;

use super::show::is_kind;
use super::{PlanContext, create_relation, drop, names};

pub fn plan(definition: &Definition, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    match definition {
        Definition::CreateSchema { name, if_not_exists } => {
            create_schema(name, *if_not_exists, context).map_err(|e| at(e, name, text))
        }
        Definition::DropSchema {
            names,
            if_exists,
            cascade,
        } => drop_schema(names, *if_exists, *cascade, text, context),
        Definition::CreateIndex(create) => create_index(create, text, context),
        Definition::DropIndex { names, if_exists } => drop_index(names, *if_exists, text, context),
        Definition::Comment {
            target,
            text: comment,
        } => plan_comment(target, comment.clone(), text, context),
        Definition::Rename {
            kind,
            name,
            if_exists,
            new_name,
        } => rename(*kind, name, *if_exists, new_name, text, context),
    }
}

/// A statement that has nothing to do.
pub fn plan_accepted(accepted: &Accepted) -> Plan {
    let notices = accepted
        .notice
        .iter()
        .map(|message| notice((*message).to_owned()));
    Plan {
        notices: notices.collect(),
        ..PlanKind::Nothing { tag: accepted.tag }.into()
    }
}

fn at(error: Error, name: &ast::Ident, text: &SourceText) -> Error {
    error.or_position(text.position_of_span(name.span))
}

fn notice(message: String) -> Notice {
    Notice { message, hint: None }
}

fn change(change: CatalogChange) -> Plan {
    PlanKind::Change(change).into()
}

fn nothing(tag: &'static str, message: String) -> Plan {
    Plan {
        notices: vec![notice(message)],
        ..PlanKind::Nothing { tag }.into()
    }
}

fn create_schema(name: &ast::Ident, if_not_exists: bool, context: &PlanContext<'_>) -> Result<Plan> {
    let name = names::fold(name);
    if name.starts_with("pg_") {
        return Err(Error::new(
            ErrorKind::ReservedName,
            format!("unacceptable schema name \"{name}\""),
        )
        .with_detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    names::check_length(&name)?;
    if names::schema_exists(&name, context) {
        let message = format!("schema \"{name}\" already exists");
        return match if_not_exists {
            true => Ok(nothing("CREATE SCHEMA", format!("{message}, skipping"))),
            false => Err(Error::new(ErrorKind::DuplicateSchema, message)),
        };
    }
    Ok(change(CatalogChange::CreateSchema(name)))
}

fn drop_schema(
    schemas: &[ast::Ident],
    if_exists: bool,
    cascade: bool,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let mut notices = Vec::new();
    let (mut names, mut objects) = (Vec::new(), BTreeSet::new());
    for ident in schemas {
        let name = names::fold(ident);
        if name == DEFAULT_SCHEMA || names::SYSTEM_SCHEMAS.contains(&name.as_str()) {
            let message = format!("cannot drop schema {name} because it is required by the database system");
            return Err(at(Error::new(ErrorKind::DependentObjects, message), ident, text));
        }
        if context.catalog.schema(&name).is_none() {
            let message = format!("schema \"{name}\" does not exist");
            if !if_exists {
                return Err(at(Error::new(ErrorKind::UndefinedSchema, message), ident, text));
            }
            notices.push(notice(format!("{message}, skipping")));
            continue;
        }
        let inside = context.catalog.objects().filter(|o| o.name.schema == name);
        objects.extend(inside.map(|o| o.id));
        names.push(name);
    }
    let mut all = objects.clone();
    for id in &objects {
        all.extend(context.catalog.dependents(*id).iter().map(|o| o.id));
    }
    let affected: Vec<_> = all.iter().filter_map(|id| context.catalog.get(*id)).collect();
    if !affected.is_empty() && !cascade {
        let list: Vec<_> = affected
            .iter()
            .map(|o| format!("{} {} depends on it", o.kind_name(), o.name))
            .collect();
        let message = format!(
            "cannot drop schema {} because other objects depend on it",
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::DependentObjects, message)
            .with_detail(format!("{}.", list.join("; ")))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    if !affected.is_empty() {
        let list: Vec<_> = affected
            .iter()
            .map(|o| format!("{} {}", o.kind_name(), o.name))
            .collect();
        notices.push(notice(format!("drop cascades to {}", list.join(", "))));
    }
    let kind = match names.is_empty() {
        true => PlanKind::Nothing { tag: "DROP SCHEMA" },
        false => PlanKind::Change(CatalogChange::DropSchemas {
            names,
            // Descending ids put readers before what they read.
            objects: all.into_iter().rev().collect(),
        }),
    };
    Ok(Plan {
        notices,
        ..kind.into()
    })
}

fn create_index(create: &CreateIndex, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let position = create_relation::position_of(&create.table, text);
    let table = names::lookup(&create.table, context).map_err(|e| e.or_position(position))?;
    if !matches!(table.kind, ObjectKind::Table(_) | ObjectKind::View(_)) {
        return Err(Error::new(
            ErrorKind::WrongObjectType,
            format!("cannot create index on relation \"{}\"", table.name.name),
        )
        .with_detail(format!("It is a {}.", table.kind_name()))
        .or_position(position));
    }
    if create.unique {
        return Err(
            Error::unsupported("unique indexes on a table that exists are not supported yet")
                .with_hint("Declare UNIQUE or PRIMARY KEY in CREATE TABLE, which is enforced.")
                .or_position(position),
        );
    }
    let mut columns = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let position = match &column.expr {
            ast::Expr::Identifier(ident) => Some(create_relation::find_column(ident, &table.columns, text)?),
            _ => None,
        };
        let shown = match position {
            Some(position) => {
                let quoted = ObjectName::quote(&table.columns[position].name);
                format!("{quoted}{}", direction(column))
            }
            None => format!("({}){}", column.expr, direction(column)),
        };
        columns.push((shown, position));
    }
    let name = match &create.name {
        Some(name) => names::fold(name),
        None => free_name(table, &columns, context),
    };
    names::check_length(&name)?;
    let name = ObjectName::new(table.name.schema.clone(), name);
    if names::is_taken(&name, context) {
        let message = format!("relation \"{}\" already exists", name.name);
        return match create.if_not_exists {
            true => Ok(nothing("CREATE INDEX", format!("{message}, skipping"))),
            false => Err(Error::new(ErrorKind::DuplicateTable, message)),
        };
    }
    let method = create.method.as_ref().map_or("btree".to_owned(), names::fold);
    let condition = create
        .condition
        .as_ref()
        .map_or_else(String::new, |c| format!(" WHERE ({c})"));
    let list: Vec<_> = columns.iter().map(|(shown, _)| shown.as_str()).collect();
    let create_sql = format!(
        "CREATE INDEX {} ON {}.{} USING {method} ({}){condition}",
        ObjectName::quote(&name.name),
        ObjectName::quote(&table.name.schema),
        ObjectName::quote(&table.name.name),
        list.join(", ")
    );
    let index = IndexDraft {
        name,
        table: table.id,
        columns,
        create_sql,
    };
    let begins_with_expression = index
        .columns
        .first()
        .is_some_and(|(_, position)| position.is_none());
    let unused = begins_with_expression.then(|| Notice {
        message: "the index is listed, and no query uses it".to_owned(),
        hint: Some(
            "Queries find rows by the columns that an index begins with, not by expressions.".to_owned(),
        ),
    });
    Ok(Plan {
        notices: unused.into_iter().collect(),
        ..change(CatalogChange::CreateIndex(index))
    })
}

fn direction(column: &ast::OrderByExpr) -> String {
    let order = if column.options.asc == Some(false) {
        " DESC"
    } else {
        ""
    };
    let nulls = match column.options.nulls_first {
        Some(true) => " NULLS FIRST",
        Some(false) => " NULLS LAST",
        None => "",
    };
    format!("{order}{nulls}")
}

/// `t_a_b_idx`, with a number where that is taken.
fn free_name(table: &Object, columns: &[(String, Option<usize>)], context: &PlanContext<'_>) -> String {
    let parts = columns.iter().map(|(_, position)| match position {
        Some(position) => table.columns[*position].name.as_str(),
        None => "expr",
    });
    let parts: Vec<_> = parts.collect();
    let base = format!("{}_{}_idx", table.name.name, parts.join("_"));
    let named = |name: &str| ObjectName::new(table.name.schema.clone(), name);
    let numbered = (1..).map(|n| format!("{base}{n}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(|name| !names::is_taken(&named(name), context))
        .unwrap_or(base)
}

fn drop_index(
    dropped: &[ast::ObjectName],
    if_exists: bool,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let (mut notices, mut indexes) = (Vec::new(), Vec::new());
    for name in dropped {
        match find_index(name, context)? {
            Some(id) => indexes.push(id),
            None => {
                let (_, last) = names::split(name)?;
                let message = format!("index \"{last}\" does not exist");
                if !if_exists {
                    let error = Error::new(ErrorKind::UndefinedObject, message);
                    return Err(error.or_position(create_relation::position_of(name, text)));
                }
                notices.push(notice(format!("{message}, skipping")));
            }
        }
    }
    let kind = match indexes.is_empty() {
        true => PlanKind::Nothing { tag: "DROP INDEX" },
        false => PlanKind::Change(CatalogChange::DropIndexes(indexes)),
    };
    Ok(Plan {
        notices,
        ..kind.into()
    })
}

fn find_index(name: &ast::ObjectName, context: &PlanContext<'_>) -> Result<Option<ObjectId>> {
    let (schema, name) = names::split(name)?;
    let find = |schema: String| context.catalog.find_index(&ObjectName::new(schema, name.clone()));
    let found = match schema {
        Some(schema) => find(schema),
        None => context.settings.search_path().into_iter().find_map(find),
    };
    Ok(found.map(|index| index.id))
}

fn plan_comment(
    target: &CommentTarget,
    comment: Option<String>,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let (id, column) = match target {
        CommentTarget::Object(kind, name) => {
            let position = create_relation::position_of(name, text);
            let object = names::lookup(name, context).map_err(|e| e.or_position(position))?;
            if !is_kind(object, *kind) {
                return Err(drop::wrong_kind("COMMENT ON", object, *kind).or_position(position));
            }
            (object.id, 0)
        }
        CommentTarget::Column(name) => commented_column(name, text, context)?,
        CommentTarget::Schema(ident) => {
            let name = names::fold(ident);
            match context.catalog.schema(&name) {
                Some(id) => (id, 0),
                None if names::schema_exists(&name, context) => {
                    let message = format!("comments on the schema \"{name}\" are not supported");
                    return Err(at(Error::unsupported(message), ident, text));
                }
                None => {
                    let message = format!("schema \"{name}\" does not exist");
                    return Err(at(Error::new(ErrorKind::UndefinedSchema, message), ident, text));
                }
            }
        }
        CommentTarget::Index(name) => match find_index(name, context)? {
            Some(id) => (id, 0),
            None => {
                let message = format!("relation \"{name}\" does not exist");
                let error = Error::new(ErrorKind::UndefinedTable, message);
                return Err(error.or_position(create_relation::position_of(name, text)));
            }
        },
        CommentTarget::Database(ident) => {
            let error = Error::unsupported("comments on the database are not supported");
            return Err(at(error, ident, text));
        }
    };
    Ok(change(CatalogChange::Comment {
        id,
        column,
        text: comment,
    }))
}

/// `t.c`: the object and the number of the column, from 1.
fn commented_column(
    name: &ast::ObjectName,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<(ObjectId, u32)> {
    let column = name.0.last().and_then(|part| part.as_ident());
    let (Some(column), true) = (column, name.0.len() > 1) else {
        return Err(Error::syntax("column name must be qualified")
            .with_hint("COMMENT ON COLUMN t.c IS '..'.")
            .or_position(create_relation::position_of(name, text)));
    };
    let table = ast::ObjectName(name.0[..name.0.len() - 1].to_vec());
    let position = create_relation::position_of(name, text);
    let object = names::lookup(&table, context).map_err(|e| e.or_position(position))?;
    let found = create_relation::find_column(column, &object.columns, text)?;
    Ok((object.id, u32::try_from(found + 1).unwrap_or(u32::MAX)))
}

fn rename(
    kind: DropKind,
    name: &ast::ObjectName,
    if_exists: bool,
    new_name: &ast::Ident,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let position = create_relation::position_of(name, text);
    let tag = match kind {
        DropKind::Table | DropKind::Stream => "ALTER TABLE",
        DropKind::Source => "ALTER SOURCE",
        DropKind::View => "ALTER MATERIALIZED VIEW",
        DropKind::AnyView => "ALTER VIEW",
        DropKind::Sink => "ALTER SINK",
    };
    let object = match names::lookup(name, context) {
        Ok(object) => object,
        Err(error) if if_exists && error.kind == ErrorKind::UndefinedTable => {
            return Ok(nothing(tag, format!("{}, skipping", error.message)));
        }
        Err(error) => return Err(error.or_position(position)),
    };
    // As in Postgres, ALTER TABLE renames whatever can be read.
    if !is_kind(object, kind) && kind != DropKind::Table {
        return Err(drop::wrong_kind("ALTER", object, kind).or_position(position));
    }
    let new = ObjectName::new(object.name.schema.clone(), names::fold(new_name));
    names::check_length(&new.name).map_err(|e| at(e, new_name, text))?;
    if names::is_taken(&new, context) {
        let message = format!("relation \"{}\" already exists", new.name);
        return Err(at(Error::new(ErrorKind::DuplicateTable, message), new_name, text));
    }
    let readers = context.catalog.dependents(object.id);
    if !readers.is_empty() {
        let list: Vec<_> = readers.iter().map(|o| o.name.to_string()).collect();
        return Err(Error::new(
            ErrorKind::DependentObjects,
            format!(
                "cannot rename {} {}: queries name it",
                object.kind_name(),
                object.name
            ),
        )
        .with_detail(format!("It is read by {}.", list.join(", ")))
        .with_hint("Drop them first, and create them again over the new name.")
        .or_position(position));
    }
    let words = object.kind_name().to_uppercase();
    let rest = object
        .create_sql
        .strip_prefix(&format!("CREATE {words} {}", object.name))
        .ok_or_else(|| Error::new(ErrorKind::Internal, "the stored text names another object"))?;
    Ok(change(CatalogChange::Rename {
        id: object.id,
        create_sql: format!("CREATE {words} {new}{rest}"),
        tag,
    }))
}
