//! UPDATE: a query for the rows that change, as they stand and as they will be.

use std::sync::Arc;

use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use sqlparser::ast::{self, SelectItem, SetExpr};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Plan, PlanKind, Write, WriteAction};
use crate::planner::assignment::{assign, cast_cell, check_types};
use crate::planner::create_relation::position_of;
use crate::planner::{PlanContext, Purpose, literal, provider, query, rules, translate};
use crate::statement::{AssignedValue, Assignment, Update as Statement};
use crate::text::SourceText;

use super::returning::Others;
use super::{HIDDEN, Table, Verb, condition, hidden};

pub fn plan(update: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let table = Table::find(&update.target, Verb::Update, text, context)?;
    let with = update.with.as_ref();
    let assigned = assigned(&update.assignments, &table, text)?;
    let others = Others::find(&update.returning, with, &update.from, text, context)?;
    let mut items = table.numbered_row();
    let values = assigned.iter().enumerate();
    items.extend(values.map(|(i, (_, value))| hidden(value.clone(), &format!("{HIDDEN}new{i}"))));
    items.extend(others.items());
    let query = table.query(with, items, &update.from, update.selection.as_ref())?;
    let rows = Some(table.numbered(context));
    let planned = query::plan_over(&query, Purpose::Select, rows, text, context)?;
    let targets: Vec<usize> = assigned.iter().map(|(target, _)| *target).collect();
    let first = 1 + table.object.columns.len();
    check_types(&planned.columns[first..], &targets, table.object)
        .map_err(|error| error.or_position(position_of(&update.target.table, text)))?;
    let query = complete(planned.plan, 1, &targets, &table, text, context)?;
    let returning = others.returning(
        &table,
        &update.returning,
        with,
        &planned.parameters,
        text,
        context,
    )?;
    let (returning, parameters) = returning.map_or((None, planned.parameters), |(r, p)| (Some(r), p));
    Ok(Plan {
        kind: PlanKind::Write(Box::new(Write {
            table: table.object.id,
            action: WriteAction::Update,
            query,
            reads: planned.reads,
            checks: table.checks(),
            keys: table.keys(),
            conditions: condition::plan(&table, context)?,
            on_conflict: None,
            returning,
        })),
        notices: planned.notices,
        parameters,
    })
}

/// A value for each column that is set, by the column's position.
pub fn assigned(
    assignments: &[Assignment],
    table: &Table<'_>,
    text: &SourceText,
) -> Result<Vec<(usize, ast::Expr)>> {
    let mut assigned: Vec<(usize, ast::Expr)> = Vec::new();
    for assignment in assignments {
        for (i, ident) in assignment.columns.iter().enumerate() {
            let position = table.position(ident, text)?;
            let at = |error: Error| error.or_position(text.position_of_span(ident.span));
            if assigned.iter().any(|(other, _)| *other == position) {
                let name = &table.object.columns[position].name;
                return Err(at(Error::syntax(format!(
                    "multiple assignments to same column \"{name}\""
                ))));
            }
            let mut value = value(&assignment.value, i, assignment.columns.len()).map_err(at)?;
            cast_cell(&mut value, &table.object.columns[position])?;
            assigned.push((position, value));
        }
    }
    Ok(assigned)
}

/// The value for column `i` of `columns` that are set together.
fn value(value: &AssignedValue, i: usize, columns: usize) -> Result<ast::Expr> {
    let width = |found: usize| match found {
        found if found == columns => Ok(()),
        _ => Err(Error::syntax("number of columns does not match number of values")),
    };
    match value {
        AssignedValue::One(value) => {
            width(1)?;
            Ok(value.as_ref().clone())
        }
        AssignedValue::Row(values) => {
            width(values.len())?;
            Ok(values[i].clone())
        }
        AssignedValue::Query(query) => {
            let mut query = query.clone();
            let plain = |item: &SelectItem| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            };
            let select = match query.body.as_mut() {
                SetExpr::Select(select)
                    if select.projection.iter().all(plain) && select.distinct.is_none() =>
                {
                    select
                }
                _ => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "this form of a subquery for several columns in SET is not supported",
                    )
                    .with_hint("Write a SELECT that lists its columns, without DISTINCT and UNION."));
                }
            };
            width(select.projection.len())?;
            select.projection = vec![select.projection[i].clone()];
            Ok(ast::Expr::Subquery(query))
        }
    }
}

/// The `lead` first columns, the row as it stands, all columns as they will be, and what RETURNING needs beside them.
pub fn complete(
    plan: LogicalPlan,
    lead: usize,
    targets: &[usize],
    table: &Table<'_>,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<LogicalPlan> {
    let width = table.object.columns.len();
    let field = |i: usize| Expr::Column(plan.schema().qualified_field(i).into());
    let mut exprs: Vec<Expr> = (0..lead + width).map(field).collect();
    for (i, column) in table.object.columns.iter().enumerate() {
        let value = match targets.iter().position(|target| *target == i) {
            Some(position) => field(lead + width + position),
            None => field(lead + i),
        };
        exprs.push(assign(value, &plan, column)?.alias(format!("{HIDDEN}will{i}")));
    }
    exprs.extend((lead + width + targets.len()..plan.schema().fields().len()).map(field));
    let translated = |error| translate::translate(error, text);
    let plan = Projection::try_new(exprs, Arc::new(plan))
        .map(LogicalPlan::Projection)
        .map_err(translated)?;
    let time_zone = context.settings.time_zone();
    let plan = literal::fold(plan, time_zone).map_err(translated)?;
    rules::analyze(plan, &provider::config_options(time_zone)).map_err(translated)
}
