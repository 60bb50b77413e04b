//! INSERT: planned as a query whose columns are those of the table.
//!
//! A row of VALUES is cast cell by cell to the types of the columns, so that an untyped literal or parameter takes the
//! type of its column. The columns of a SELECT must have types that Postgres would assign.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use millpond_catalog::Object;
use sqlparser::ast::{self, SelectItem, SetExpr};
use sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Plan, PlanKind, Write, WriteAction};
use crate::planner::assignment::{assign, cast_cell, check_types, default_of, is_untyped};
use crate::planner::create_relation::position_of;
use crate::planner::{PlanContext, Purpose, literal, provider, query, rules, translate};
use crate::statement::{Insert as Statement, InsertSource};
use crate::text::SourceText;

use super::returning::Others;
use super::{Table, Verb, condition, conflict};

pub fn plan(insert: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let at = |error: Error| error.or_position(position_of(&insert.target.table, text));
    let table = Table::find(&insert.target, Verb::Insert, text, context)?;
    let object = table.object;
    let (mut source, mut targets) = match &insert.source {
        InsertSource::DefaultValues => (default_row(object)?, (0..object.columns.len()).collect()),
        InsertSource::Query(query) => {
            let targets = targets(&insert.columns, &table, text)?;
            let mut query = query.as_ref().clone();
            check_width(&query.body, &targets, insert, text)?;
            cast_cells(&mut query.body, &targets, object, true)?;
            (query, targets)
        }
    };
    if let (Some(with), None) = (&insert.with, &source.with) {
        source.with = Some(with.clone());
    }
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
    let (on_conflict, parameters) = match &insert.on_conflict {
        Some(clause) => {
            let (planned, parameters) =
                conflict::plan(clause, &table, planned.parameters, text, context).map_err(at)?;
            (Some(planned), parameters)
        }
        None => (None, planned.parameters),
    };
    let returning = Others::none().returning(
        &table,
        &insert.returning,
        insert.with.as_ref(),
        &parameters,
        text,
        context,
    )?;
    let (returning, parameters) = returning.map_or((None, parameters), |(r, p)| (Some(r), p));
    Ok(Plan {
        kind: PlanKind::Write(Box::new(Write {
            table: object.id,
            action: WriteAction::Insert,
            query,
            reads: planned.reads,
            checks: table.checks(),
            keys: table.keys(),
            conditions: condition::plan(&table, context)?,
            on_conflict,
            returning,
        })),
        notices: planned.notices,
        parameters,
    })
}

/// Positions of the columns that are written to.
pub fn targets(columns: &[ast::Ident], table: &Table<'_>, text: &SourceText) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok((0..table.object.columns.len()).collect());
    }
    let mut targets = Vec::with_capacity(columns.len());
    for ident in columns {
        let position = table.position(ident, text)?;
        if targets.contains(&position) {
            let name = &table.object.columns[position].name;
            let message = format!("column \"{name}\" specified more than once");
            let error = Error::new(ErrorKind::DuplicateColumn, message);
            return Err(error.or_position(text.position_of_span(ident.span)));
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
    let at = |error: Error| error.or_position(position_of(&insert.target.table, text));
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

/// All columns of the table in order: those written, and defaults for the rest.
pub fn complete(
    plan: LogicalPlan,
    targets: &[usize],
    object: &Object,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<LogicalPlan> {
    let options = provider::config_options(context.settings.time_zone());
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
    let plan = literal::fold(plan, context.settings.time_zone()).map_err(translated)?;
    let plan = rules::analyze(plan, &options).map_err(translated)?;
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
