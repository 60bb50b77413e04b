//! CHECK: a query over the new rows, with a boolean per constraint.

use std::sync::Arc;

use millpond_catalog::{Check, Column, Object, ObjectId, ObjectKind, ObjectName, Table as CatalogTable};
use sqlparser::ast::{Expr, Ident, Visit, Visitor};
use sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::Conditions;
use crate::planner::{PlanContext, Purpose, query};
use crate::text::SourceText;

use super::{HIDDEN, Table, hidden};

/// The conditions of a table; `None` where it has none.
pub fn plan(table: &Table<'_>, context: &PlanContext<'_>) -> Result<Option<Conditions>> {
    match &table.object.kind {
        ObjectKind::Table(kind) if !kind.checks.is_empty() => {
            conditions(table, &kind.checks, context).map(Some)
        }
        _ => Ok(None),
    }
}

fn conditions(table: &Table<'_>, checks: &[Check], context: &PlanContext<'_>) -> Result<Conditions> {
    let mut items = Vec::with_capacity(checks.len());
    for (i, check) in checks.iter().enumerate() {
        let dialect = sqlparser::dialect::PostgreSqlDialect {};
        let parsed = Parser::new(&dialect)
            .try_with_sql(&check.expression)
            .and_then(|mut p| p.parse_expr());
        let expr = parsed
            .map_err(|e| Error::new(ErrorKind::Internal, format!("the condition {}: {e}", check.name)))?;
        if expr.visit(&mut NoSubqueries).is_break() {
            return Err(Error::unsupported("cannot use subquery in check constraint"));
        }
        items.push(hidden(expr, &format!("{HIDDEN}check{i}")));
    }
    let query = table.query(None, items, &[], None)?;
    let rows = table.written(table.object.schema(), context);
    let planned = query::plan_over(&query, Purpose::Select, Some(rows), &SourceText::new(""), context)?;
    for column in &planned.columns {
        if column.sql_type != millpond_catalog::SqlType::Bool {
            let message = format!(
                "argument of CHECK must be type boolean, not type {}",
                column.sql_type
            );
            return Err(Error::new(ErrorKind::TypeMismatch, message));
        }
    }
    Ok(Conditions {
        query: planned.plan,
        names: checks.iter().map(|check| check.name.clone()).collect(),
    })
}

struct NoSubqueries;

impl Visitor for NoSubqueries {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> std::ops::ControlFlow<()> {
        match expr {
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                std::ops::ControlFlow::Break(())
            }
            _ => std::ops::ControlFlow::Continue(()),
        }
    }
}

/// Plans the conditions of a table that is about to be created, so that errors are told now.
pub fn check(
    name: &ObjectName,
    columns: &[Column],
    table: &CatalogTable,
    context: &PlanContext<'_>,
) -> Result<()> {
    let object = Arc::new(Object {
        id: ObjectId(0),
        name: name.clone(),
        columns: columns.to_vec(),
        kind: ObjectKind::Table(table.clone()),
        reads: Vec::new(),
        create_sql: String::new(),
    });
    let table = Table {
        object: &object,
        alias: Ident::with_quote('"', name.name.clone()),
    };
    plan(&table, context).map(|_| ())
}
