//! CREATE TABLE, CREATE STREAM and CREATE SOURCE.

use std::collections::HashSet;

use millpond_catalog::{Column, ObjectId, ObjectKind, ObjectName, Source, SqlType, Table, Watermark};
use sqlparser::ast;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{CreateRelation, Notice, ObjectDraft, Plan, PlanKind};
use crate::statement::{CreateSource, CreateTable, RelationElements, WatermarkDefinition};
use crate::suggest;
use crate::text::SourceText;

use super::options::{RelationOptions, max_future, refuse_unknown_table_options, relation_options};
use super::{PlanContext, canonical, keys, literal, names, query, types, window};

/// Columns that a relation may have.
const COLUMNS_MAX: usize = 1600;

pub fn plan_table(create: &CreateTable, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let kind = if create.stream { "stream" } else { "table" };
    let place = place_of(
        &create.name,
        create.temporary,
        create.or_replace,
        create.if_not_exists,
        kind,
        text,
        context,
    )?;
    let (name, replaces) = match place {
        Place::Taken(notice) => {
            let tag = if create.stream {
                "CREATE STREAM"
            } else {
                "CREATE TABLE"
            };
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag }.into()
            });
        }
        Place::Free { name, replaces } => (name, replaces),
    };
    refuse_unknown_table_options(&create.options, kind, text)?;
    let options = relation_options(&create.options, text)?;
    let mut columns = columns(&create.elements, text, context)?;
    if columns.is_empty() {
        return Err(Error::new(
            ErrorKind::InvalidTableDefinition,
            format!("a {kind} needs at least one column"),
        )
        .or_position(position_of(&create.name, text)));
    }
    let keys = keys::keys(&create.elements, &name, &mut columns, text)?;
    let checks = keys::checks(&create.elements, &name, &keys)?;
    let watermark = watermark(
        create.elements.watermark.as_ref(),
        &columns,
        &options,
        text,
        context,
    )?;
    let append_only = create.append_only || options.append_only || create.stream;
    let create_sql = canonical::relation(&canonical::Relation {
        kind: if create.stream { "STREAM" } else { "TABLE" },
        name: &name,
        columns: &columns,
        keys: &keys,
        checks: &checks,
        watermark: watermark.as_ref(),
        append_only: append_only && !create.stream,
        options: Vec::new(),
    });
    let table = Table {
        append_only,
        stream: create.stream,
        keys,
        checks,
        watermark,
        options: options.others,
    };
    super::write::check_conditions(&name, &columns, &table, context)?;
    let object = ObjectDraft {
        name,
        columns,
        kind: ObjectKind::Table(table),
        reads: Vec::new(),
        create_sql,
    };
    Ok(PlanKind::CreateRelation(CreateRelation { object, replaces }).into())
}

pub fn plan_source(create: &CreateSource, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let place = place(
        &create.name,
        create.or_replace,
        create.if_not_exists,
        "source",
        text,
        context,
    )?;
    let (name, replaces) = match place {
        Place::Taken(notice) => {
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag: "CREATE SOURCE" }.into()
            });
        }
        Place::Free { name, replaces } => (name, replaces),
    };
    plan_source_at(create, name, replaces, text, context)
}

/// The source of that name, whatever else is there.
pub fn plan_source_at(
    create: &CreateSource,
    name: ObjectName,
    replaces: Option<ObjectId>,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let mut options = relation_options(&create.options, text)?;
    let connector = take(&mut options.others, "connector").ok_or_else(|| {
        Error::invalid("a source needs the option \"connector\"")
            .with_hint("Write WITH (connector = 'file', ..), or CREATE STREAM for rows inserted by SQL.")
            .or_position(position_of(&create.name, text))
    })?;
    // Arroyo's texts say in which direction a table goes.
    match take(&mut options.others, "type").as_deref() {
        None | Some("source") => {}
        Some(other) => {
            return Err(
                Error::unsupported(format!("tables of type '{other}' are not supported yet"))
                    .with_hint("Only sources can be created."),
            );
        }
    }
    let mut columns = columns(&create.elements, text, context)?;
    if columns.is_empty() {
        columns = context
            .relations
            .source_columns(&connector, &options.others)?
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidTableDefinition,
                    format!("source \"{}\" needs a list of columns", name.name),
                )
                .with_detail(format!("Connector '{connector}' reads rows of any schema."))
                .with_hint(format!("CREATE SOURCE {name} (column type, ..) WITH (..)."))
                .or_position(position_of(&create.name, text))
            })?;
    }
    // What a source promises is not enforced, and so not kept.
    keys::keys(&create.elements, &name, &mut columns, text)?;
    let watermark = watermark(
        create.elements.watermark.as_ref(),
        &columns,
        &options,
        text,
        context,
    )?;
    let create_sql = canonical::relation(&canonical::Relation {
        kind: "SOURCE",
        name: &name,
        columns: &columns,
        keys: &[],
        checks: &[],
        watermark: watermark.as_ref(),
        append_only: false,
        options: canonical::pairs(&connector, &options.others),
    });
    let source = Source {
        connector: connector.to_lowercase(),
        options: options.others,
        watermark,
    };
    let object = ObjectDraft {
        name,
        columns,
        kind: ObjectKind::Source(source),
        reads: Vec::new(),
        create_sql,
    };
    Ok(PlanKind::CreateRelation(CreateRelation { object, replaces }).into())
}

fn take(options: &mut millpond_catalog::Options, key: &str) -> Option<String> {
    let index = options.iter().position(|o| o.key == key)?;
    Some(options.remove(index).value)
}

pub fn position_of(name: &ast::ObjectName, text: &SourceText) -> Option<usize> {
    names::span_start(name).and_then(|start| text.position(start))
}

/// Whether a new object can have its name.
pub enum Place {
    Free {
        name: ObjectName,
        replaces: Option<ObjectId>,
    },
    /// `IF NOT EXISTS` of what exists.
    Taken(Notice),
}

/// Finds the place for a new object.
///
/// # Errors
/// [`ErrorKind::DuplicateTable`], or what stands against replacing the object.
pub fn place(
    name: &ast::ObjectName,
    or_replace: bool,
    if_not_exists: bool,
    kind: &str,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Place> {
    place_of(name, false, or_replace, if_not_exists, kind, text, context)
}

/// As [`place`], among the temporary objects of the session where `temporary` is set.
pub fn place_of(
    name: &ast::ObjectName,
    temporary: bool,
    or_replace: bool,
    if_not_exists: bool,
    kind: &str,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Place> {
    let at = |error: Error| error.or_position(position_of(name, text));
    if or_replace && if_not_exists {
        return Err(at(Error::syntax(
            "OR REPLACE and IF NOT EXISTS exclude each other",
        )));
    }
    let new = match temporary {
        true => names::new_temporary_name(name, context),
        false => names::new_name(name, context),
    };
    let new = new.map_err(at)?;
    if context.catalog.find_index(&new).is_some() {
        let message = format!("relation \"{}\" already exists", new.name);
        return Err(at(
            Error::new(ErrorKind::DuplicateTable, message).with_detail("It is an index.")
        ));
    }
    let Some(existing) = context.catalog.find(&new) else {
        return Ok(Place::Free {
            name: new,
            replaces: None,
        });
    };
    let exists = format!("relation \"{}\" already exists", new.name);
    if if_not_exists {
        return Ok(Place::Taken(Notice {
            message: format!("{exists}, skipping"),
            hint: None,
        }));
    }
    if !or_replace {
        let error = Error::new(ErrorKind::DuplicateTable, exists);
        return Err(at(
            error.with_hint("Use IF NOT EXISTS, OR REPLACE or another name.")
        ));
    }
    if existing.kind_name() != kind {
        return Err(at(Error::new(
            ErrorKind::WrongObjectType,
            format!("\"{}\" is not a {kind}", new.name),
        )
        .with_detail(format!("It is a {}.", existing.kind_name()))));
    }
    context.catalog.plan_drop(existing.id, false).map_err(|error| {
        let Error { kind, detail, .. } = Error::from(error);
        let message = format!(
            "cannot replace {} {new} because other objects depend on it",
            existing.kind_name()
        );
        at(Error {
            detail,
            ..Error::new(kind, message).with_hint("Drop the dependent objects first.")
        })
    })?;
    Ok(Place::Free {
        name: new,
        replaces: Some(existing.id),
    })
}

fn columns(elements: &RelationElements, text: &SourceText, context: &PlanContext<'_>) -> Result<Vec<Column>> {
    let mut seen = HashSet::new();
    let mut columns = Vec::with_capacity(elements.columns.len());
    for definition in &elements.columns {
        let at = |error: Error| error.or_position(text.position_of_span(definition.name.span));
        let name = names::fold(&definition.name);
        if name.is_empty() {
            return Err(at(Error::syntax("zero-length delimited identifier")));
        }
        if !seen.insert(name.clone()) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(at(Error::new(ErrorKind::DuplicateColumn, message)));
        }
        let sql_type = types::column_type(&definition.data_type).map_err(at)?;
        let default = match &definition.default {
            Some(expr) => Some(check_default(expr, &name, &sql_type, text, context).map_err(at)?),
            None => None,
        };
        columns.push(Column {
            name,
            sql_type,
            nullable: !definition.not_null,
            default,
        });
    }
    if columns.len() > COLUMNS_MAX {
        return Err(Error::new(
            ErrorKind::TooComplex,
            format!("tables can have at most {COLUMNS_MAX} columns"),
        ));
    }
    Ok(columns)
}

/// A default is planned once to tell errors early, and kept as text.
fn check_default(
    expr: &ast::Expr,
    column: &str,
    sql_type: &SqlType,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<String> {
    let planned = query::plan_constant(expr, text, context)?;
    let planned = literal::cast_literal(planned, &sql_type.arrow());
    literal::fold_constant(planned, context.settings.time_zone()).map_err(|error| {
        let error = super::translate::translate(error, text);
        error.with_detail(format!("In the default of column \"{column}\"."))
    })?;
    Ok(expr.to_string())
}

pub fn find_column(ident: &ast::Ident, columns: &[Column], text: &SourceText) -> Result<usize> {
    let name = names::fold(ident);
    columns.iter().position(|c| c.name == name).ok_or_else(|| {
        Error::new(
            ErrorKind::UndefinedColumn,
            format!("column \"{name}\" does not exist"),
        )
        .with_hint_if(suggest::did_you_mean(
            &name,
            columns.iter().map(|c| c.name.as_str()),
        ))
        .or_position(text.position_of_span(ident.span))
    })
}

fn watermark(
    definition: Option<&WatermarkDefinition>,
    columns: &[Column],
    options: &RelationOptions,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Option<Watermark>> {
    let Some(definition) = definition else {
        let said = [
            ("max_future", options.max_future_us.is_some()),
            ("idle_timeout", options.idle_timeout_us.is_some()),
        ];
        return match said.into_iter().find(|(_, said)| *said) {
            Some((name, _)) => Err(Error::invalid(format!("option \"{name}\" needs a watermark"))
                .with_hint("Add WATERMARK FOR column AS column - INTERVAL '..'.")),
            None => Ok(None),
        };
    };
    let at = |error: Error| error.or_position(text.position_of_span(definition.column.span));
    let column = find_column(&definition.column, columns, text)?;
    let Column { name, sql_type, .. } = &columns[column];
    if !matches!(sql_type, SqlType::Timestamp | SqlType::TimestampTz) {
        return Err(at(Error::new(
            ErrorKind::TypeMismatch,
            format!(
                "a watermark needs a column of type timestamp or timestamptz, but \"{name}\" is {sql_type}"
            ),
        )));
    }
    let delay_us = match &definition.expr {
        None => 0,
        Some(expr) => delay(expr, name, text, context).map_err(at)?,
    };
    if delay_us < 0 {
        return Err(at(Error::invalid(
            "the delay of a watermark must not be negative",
        )
        .with_hint(format!("Write WATERMARK FOR {name} AS {name} - INTERVAL '..'."))));
    }
    Ok(Some(Watermark {
        column,
        delay_us,
        max_future_us: max_future(options.max_future_us),
        idle_timeout_us: options.idle_timeout_us.flatten(),
    }))
}

/// The delay in `column` or `column - INTERVAL ..`.
fn delay(expr: &ast::Expr, column: &str, text: &SourceText, context: &PlanContext<'_>) -> Result<i64> {
    let is_column =
        |expr: &ast::Expr| matches!(expr, ast::Expr::Identifier(ident) if names::fold(ident) == column);
    match expr {
        ast::Expr::Nested(inner) => delay(inner, column, text, context),
        expr if is_column(expr) => Ok(0),
        ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::Minus,
            right,
        } if is_column(left) => {
            let planned = query::plan_constant(right, text, context)?;
            window::of_expr(&planned, "watermark delay")
        }
        other => Err(
            Error::unsupported(format!("the watermark expression {other} is not supported")).with_hint(
                format!("Write WATERMARK FOR {column} AS {column} - INTERVAL '10 minutes'."),
            ),
        ),
    }
}
