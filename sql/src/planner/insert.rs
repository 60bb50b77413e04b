//! INSERT: planned as a query whose columns are those of the table.
//!
//! A row of VALUES is cast cell by cell to the types of the columns, so that an untyped literal or parameter takes the
//! type of its column. The columns of a SELECT must have types that Postgres would assign.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Schema};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use millpond_catalog::{Column, Object, ObjectKind, SqlType};
use sqlparser::ast::{self, SelectItem, SetExpr, Value};
use sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Insert, OutputColumn, Plan, PlanKind};
use crate::statement::{Insert as Statement, InsertSource};
use crate::suggest;
use crate::text::SourceText;

use super::create_relation::position_of;
use super::{PlanContext, Purpose, names, query, translate};

pub fn plan(insert: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let at = |error: Error| error.or_position(position_of(&insert.table, text));
    let object = table(&insert.table, context).map_err(at)?;
    let (source, mut targets) = match &insert.source {
        InsertSource::DefaultValues => (default_row(object)?, (0..object.columns.len()).collect()),
        InsertSource::Query(query) => {
            let targets = targets(&insert.columns, object, text)?;
            let mut query = query.as_ref().clone();
            check_width(&query.body, &targets, insert, text)?;
            cast_cells(&mut query.body, &targets, object, true)?;
            (query, targets)
        }
    };
    let planned = query::plan(&source, Purpose::Insert, text, context)?;
    if insert.columns.is_empty() {
        // Where no columns were listed, those on the right may be left out.
        targets.truncate(planned.columns.len());
    }
    if planned.columns.len() != targets.len() {
        let given = !insert.columns.is_empty();
        return Err(at(width_error(planned.columns.len(), targets.len(), given)));
    }
    check_types(&planned.columns, &targets, object).map_err(at)?;
    let query = complete(planned.plan, &targets, object, text, context)?;
    let columns = || object.columns.iter().enumerate();
    let length = |(i, column): (usize, &Column)| match column.sql_type {
        SqlType::Varchar(Some(length)) => Some((i, length)),
        _ => None,
    };
    let kind = PlanKind::Insert(Insert {
        table: object.id,
        query,
        reads: planned.reads,
        not_null: columns().filter(|(_, c)| !c.nullable).map(|(i, _)| i).collect(),
        max_length: columns().filter_map(length).collect(),
    });
    Ok(Plan {
        kind,
        notices: planned.notices,
        parameters: planned.parameters,
    })
}

/// The table to insert into.
fn table<'a>(name: &ast::ObjectName, context: &PlanContext<'a>) -> Result<&'a Arc<Object>> {
    let object =
        names::lookup(name, context).map_err(|error| system_relation(name, context).unwrap_or(error))?;
    match object.kind {
        ObjectKind::Table(_) => Ok(object),
        _ => {
            let message = format!(
                "cannot insert into {} \"{}\"",
                object.kind_name(),
                object.name.name
            );
            Err(Error::new(ErrorKind::WrongObjectType, message)
                .with_hint("Only tables and streams take INSERT."))
        }
    }
}

fn check_types(columns: &[OutputColumn], targets: &[usize], object: &Object) -> Result<()> {
    for (column, target) in columns.iter().zip(targets) {
        let Column { name, sql_type, .. } = &object.columns[*target];
        if !assignable(&column.sql_type, sql_type) {
            let from = &column.sql_type;
            let message = format!("column \"{name}\" is of type {sql_type} but expression is of type {from}");
            return Err(Error::new(ErrorKind::TypeMismatch, message)
                .with_hint("You will need to rewrite or cast the expression."));
        }
    }
    Ok(())
}

/// The error for a relation that the server makes.
fn system_relation(name: &ast::ObjectName, context: &PlanContext<'_>) -> Option<Error> {
    let (schema, name) = names::split(name).ok()?;
    let schema = schema.as_deref().unwrap_or("pg_catalog");
    context.relations.system_table(schema, &name)?;
    Some(Error::new(
        ErrorKind::WrongObjectType,
        format!("cannot insert into system relation \"{name}\""),
    ))
}

/// Positions of the columns that are written to.
fn targets(columns: &[ast::Ident], object: &Object, text: &SourceText) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok((0..object.columns.len()).collect());
    }
    let mut targets = Vec::with_capacity(columns.len());
    for ident in columns {
        let at = |error: Error| error.or_position(text.position_of_span(ident.span));
        let name = names::fold(ident);
        let position = object
            .columns
            .iter()
            .position(|c| c.name == name)
            .ok_or_else(|| {
                at(Error::new(
                    ErrorKind::UndefinedColumn,
                    format!(
                        "column \"{name}\" of relation \"{}\" does not exist",
                        object.name.name
                    ),
                )
                .with_hint_if(suggest::did_you_mean(
                    &name,
                    object.columns.iter().map(|c| c.name.as_str()),
                )))
            })?;
        if targets.contains(&position) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(at(Error::new(ErrorKind::DuplicateColumn, message)));
        }
        targets.push(position);
    }
    Ok(targets)
}

fn width_error(found: usize, wanted: usize, columns_given: bool) -> Error {
    let message = if found > wanted {
        "INSERT has more expressions than target columns"
    } else {
        "INSERT has more target columns than expressions"
    };
    let error = Error::syntax(message);
    if columns_given {
        error
    } else {
        error.with_hint("List the columns to insert into: INSERT INTO t (a, b) ..")
    }
}

/// A row of VALUES may be shorter than the table when no columns were listed.
fn check_width(body: &SetExpr, targets: &[usize], insert: &Statement, text: &SourceText) -> Result<()> {
    let SetExpr::Values(values) = body else {
        return Ok(());
    };
    let at = |error: Error| error.or_position(position_of(&insert.table, text));
    let first = values.rows.first().map_or(0, |row| row.content.len());
    if values.rows.iter().any(|row| row.content.len() != first) {
        return Err(at(Error::syntax("VALUES lists must all be the same length")));
    }
    if first > targets.len() || (first < targets.len() && !insert.columns.is_empty()) {
        return Err(at(width_error(first, targets.len(), !insert.columns.is_empty())));
    }
    Ok(())
}

/// Gives the cells of VALUES, and the untyped literals of a SELECT, the types of their columns.
fn cast_cells(body: &mut SetExpr, targets: &[usize], object: &Object, top: bool) -> Result<()> {
    match body {
        SetExpr::Values(values) => {
            for row in &mut values.rows {
                for (cell, target) in row.content.iter_mut().zip(targets) {
                    cast_cell(cell, &object.columns[*target])?;
                }
            }
        }
        SetExpr::Select(select) => {
            let plain = |item: &SelectItem| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            };
            if top && select.projection.iter().all(plain) {
                for (item, target) in select.projection.iter_mut().zip(targets) {
                    if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                        && is_untyped(expr)
                    {
                        cast_cell(expr, &object.columns[*target])?;
                    }
                }
            }
        }
        SetExpr::Query(query) => cast_cells(&mut query.body, targets, object, top)?,
        SetExpr::SetOperation { left, right, .. } => {
            cast_cells(left, targets, object, top)?;
            cast_cells(right, targets, object, top)?;
        }
        _ => {}
    }
    Ok(())
}

/// A literal or parameter without a type of its own.
fn is_untyped(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => matches!(
            value.value,
            Value::SingleQuotedString(_)
                | Value::EscapedStringLiteral(_)
                | Value::Placeholder(_)
                | Value::Null
        ),
        ast::Expr::Nested(inner) => is_untyped(inner),
        _ => false,
    }
}

fn cast_cell(cell: &mut ast::Expr, column: &Column) -> Result<()> {
    if matches!(&*cell, ast::Expr::Identifier(ident) if ident.quote_style.is_none() && names::fold(ident) == "default")
    {
        *cell = default_of(column)?;
    }
    if column.sql_type == SqlType::Uuid
        && let ast::Expr::Value(value) = cell
        && let Value::SingleQuotedString(text) = &mut value.value
    {
        *text = super::literal::uuid(text)?;
    }
    if matches!(column.sql_type, SqlType::Json | SqlType::Jsonb)
        && let ast::Expr::Value(value) = cell
        && let Value::SingleQuotedString(text) = &value.value
    {
        super::literal::check_json(text, &column.sql_type)?;
    }
    let untyped = is_untyped(cell);
    // A cell that has a type is assigned, not cast: its type is checked when the plan is known.
    if untyped
        || matches!(cell, ast::Expr::Value(value) if matches!(value.value, Value::Number(..)))
            && is_number(&column.sql_type)
        || matches!(cell, ast::Expr::UnaryOp { .. }) && is_number(&column.sql_type)
    {
        let inner = std::mem::replace(cell, ast::Expr::Value(Value::Null.into()));
        *cell = ast::Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(inner),
            data_type: data_type(&column.sql_type)?,
            array: false,
            format: None,
        };
    }
    Ok(())
}

fn is_number(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Float4
            | SqlType::Float8
            | SqlType::Numeric(_)
    )
}

fn data_type(sql_type: &SqlType) -> Result<ast::DataType> {
    // Lengths are checked when the rows are there; a cast would cut.
    let name = match sql_type {
        SqlType::Varchar(_) => "text".to_owned(),
        other => other.to_string(),
    };
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = Parser::new(&dialect)
        .try_with_sql(&name)
        .and_then(|mut p| p.parse_data_type());
    parsed.map_err(|_| Error::unsupported(format!("literals of type {name} are not supported in INSERT")))
}

/// The default as an expression, NULL without one.
fn default_of(column: &Column) -> Result<ast::Expr> {
    let text = column.default.as_deref().unwrap_or("NULL");
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = Parser::new(&dialect)
        .try_with_sql(text)
        .and_then(|mut p| p.parse_expr());
    let mut expr = parsed.map_err(|e| {
        Error::new(
            ErrorKind::Internal,
            format!("the default of {}: {e}", column.name),
        )
    })?;
    if is_untyped(&expr) {
        expr = ast::Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(expr),
            data_type: data_type(&column.sql_type)?,
            array: false,
            format: None,
        };
    }
    Ok(expr)
}

/// `DEFAULT VALUES` as a query.
fn default_row(object: &Object) -> Result<ast::Query> {
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = Parser::new(&dialect)
        .try_with_sql("VALUES (NULL)")
        .and_then(|mut p| p.parse_query());
    let mut query = parsed.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
    if let SetExpr::Values(values) = query.body.as_mut() {
        values.rows[0].content = object.columns.iter().map(default_of).collect::<Result<_>>()?;
    }
    Ok(*query)
}

/// Whether Postgres would assign a value of one type to a column of another without being told to.
fn assignable(from: &SqlType, to: &SqlType) -> bool {
    let is_text = |t: &SqlType| matches!(t, SqlType::Text | SqlType::Varchar(_));
    from == to
        || (is_number(from) && is_number(to))
        || (is_text(to) && !matches!(from, SqlType::Bytea))
        // Literals of these types are planned as text.
        || (is_text(from) && matches!(to, SqlType::Uuid | SqlType::Json | SqlType::Jsonb))
        || match (from, to) {
            (SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz, t) => {
                matches!(t, SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz)
                    || (*t == SqlType::Time && *from != SqlType::Date)
            }
            (SqlType::Json | SqlType::Jsonb, SqlType::Json | SqlType::Jsonb)
            | (SqlType::Time, SqlType::Interval)
            | (SqlType::Interval, SqlType::Time) => true,
            (SqlType::Array(from), SqlType::Array(to)) => assignable(from, to),
            (SqlType::Struct(from), SqlType::Struct(to)) => {
                from.len() == to.len() && from.iter().zip(to).all(|((_, f), (_, t))| assignable(f, t))
            }
            _ => false,
        }
}

/// All columns of the table in order: those written, and defaults for the rest.
fn complete(
    plan: LogicalPlan,
    targets: &[usize],
    object: &Object,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<LogicalPlan> {
    let options = super::provider::config_options(context.settings.time_zone());
    let translated = |error| translate::translate(error, text);
    let mut exprs = Vec::with_capacity(object.columns.len());
    for (i, column) in object.columns.iter().enumerate() {
        let expr = match targets.iter().position(|t| *t == i) {
            Some(position) => Expr::Column(plan.schema().qualified_field(position).into()),
            None => query::plan_constant(&default_of(column)?, text, context)?,
        };
        exprs.push(assign(expr, &plan, column)?.alias(&column.name));
    }
    let plan = Projection::try_new(exprs, Arc::new(plan))
        .map(LogicalPlan::Projection)
        .map_err(translated)?;
    let plan = super::literal::fold(plan, context.settings.time_zone()).map_err(translated)?;
    let plan = super::rules::analyze(plan, &options).map_err(translated)?;
    let fields: Vec<_> = object
        .columns
        .iter()
        .map(|c| c.sql_type.field(&c.name, true))
        .collect();
    let schema = Schema::new(fields);
    debug_assert!(
        plan.schema()
            .fields()
            .iter()
            .zip(schema.fields())
            .all(|(f, t)| f.data_type() == t.data_type()),
        "the plan of an INSERT has the types of the table"
    );
    Ok(plan)
}

/// A value of another type, as an assignment.
fn assign(expr: Expr, plan: &LogicalPlan, column: &Column) -> Result<Expr> {
    use datafusion::logical_expr::{Cast, ExprSchemable};
    let target = column.sql_type.arrow();
    let from = expr.get_type(plan.schema()).unwrap_or(ArrowType::Null);
    Ok(if from == target {
        expr
    } else {
        Expr::Cast(Cast::new(Box::new(expr), target))
    })
}
