//! COPY: FROM is an INSERT of rows that come from the client, TO is a SELECT.

use std::sync::Arc;

use arrow::datatypes::Schema;
use sqlparser::ast::{self, Ident, SelectItem, SetExpr};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{CopyFrom, CopyTo, Plan, PlanKind, RowsOf, Write, WriteAction};
use crate::planner::{PlanContext, Purpose, query, select, subscribe};
use crate::statement::{Copy as Statement, CopyRelation, WriteTarget};
use crate::text::SourceText;

use super::insert::{complete, targets};
use super::{Table, Verb, condition};

pub fn plan(copy: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    match &copy.relation {
        CopyRelation::Table { name, columns } if copy.from => plan_from(copy, name, columns, text, context),
        CopyRelation::Table { name, columns } => plan_to(copy, &all_of(name, columns)?, text, context),
        CopyRelation::Query(query) => plan_to(copy, query, text, context),
        CopyRelation::Subscribe(subscribe) => {
            let copy = CopyTo {
                rows: RowsOf::Subscribe(subscribe::resolve(subscribe, text, context)?),
                options: copy.options.clone(),
            };
            Ok(PlanKind::CopyTo(Box::new(copy)).into())
        }
    }
}

fn plan_from(
    copy: &Statement,
    name: &ast::ObjectName,
    columns: &[Ident],
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let target = WriteTarget {
        table: name.clone(),
        alias: None,
    };
    let table = Table::find(&target, Verb::Insert, text, context)?;
    let object = table.object;
    let targets = targets(columns, &table, text)?;
    let written: Vec<_> = targets.iter().map(|i| object.columns[*i].clone()).collect();
    let items = written
        .iter()
        .map(|c| SelectItem::UnnamedExpr(table.column(&c.name)));
    let source = table.query(None, items.collect(), &[], None)?;
    let fields: Vec<_> = written.iter().map(|c| c.sql_type.field(&c.name, true)).collect();
    let rows = table.written(Arc::new(Schema::new(fields)), context);
    let planned = query::plan_over(&source, Purpose::Insert, Some(rows), text, context)?;
    let write = Write {
        table: object.id,
        action: WriteAction::Insert,
        query: complete(planned.plan, &targets, object, text, context)?,
        reads: Vec::new(),
        checks: table.checks(),
        keys: table.keys(),
        conditions: condition::plan(&table, context)?,
        on_conflict: None,
        returning: None,
    };
    let copy = CopyFrom {
        write,
        table: object.name.name.clone(),
        columns: written,
        options: copy.options.clone(),
    };
    Ok(PlanKind::CopyFrom(Box::new(copy)).into())
}

fn plan_to(
    copy: &Statement,
    query: &ast::Query,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let planned = select::plan(query, text, context)?;
    if !planned.parameters.is_empty() {
        return Err(Error::new(
            ErrorKind::UndefinedParameter,
            "COPY takes no parameters",
        ));
    }
    let PlanKind::Select(select) = planned.kind else {
        return Err(Error::new(
            ErrorKind::Internal,
            "a query was planned as something else",
        ));
    };
    let copy = CopyTo {
        rows: RowsOf::Select(select),
        options: copy.options.clone(),
    };
    Ok(Plan {
        notices: planned.notices,
        ..PlanKind::CopyTo(Box::new(copy)).into()
    })
}

/// `SELECT columns FROM name`.
fn all_of(name: &ast::ObjectName, columns: &[Ident]) -> Result<ast::Query> {
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = sqlparser::parser::Parser::new(&dialect)
        .try_with_sql(&format!("SELECT * FROM {name}"))
        .and_then(|mut p| p.parse_query());
    let mut query = parsed.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
    if let (SetExpr::Select(select), false) = (query.body.as_mut(), columns.is_empty()) {
        let columns = columns.iter().cloned().map(ast::Expr::Identifier);
        select.projection = columns.map(SelectItem::UnnamedExpr).collect();
    }
    Ok(*query)
}
