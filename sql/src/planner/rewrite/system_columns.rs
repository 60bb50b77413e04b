//! `tableoid`: the column that every Postgres table has without listing it. For the catalog tables, whose rows clients
//! match with `pg_description`, it is the table's own oid.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Select, TableFactor, Value, VisitMut, VisitorMut};

use crate::planner::names::fold;

use super::postgres::call;

pub fn rewrite_select(select: &mut Select) {
    let mut tables = HashMap::new();
    for from in &select.from {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            tables.extend(catalog_table(factor));
        }
    }
    if !tables.is_empty() {
        // Only ends early if the visitor breaks, and it never does.
        let _ = select.visit(&mut TableOid { tables });
    }
}

/// The name that a table of `pg_catalog` goes by in the query, and its own.
fn catalog_table(factor: &TableFactor) -> Option<(String, String)> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return None;
    };
    let table = fold(name.0.last()?.as_ident()?);
    let known_as = alias
        .as_ref()
        .map_or_else(|| table.clone(), |alias| fold(&alias.name));
    table.starts_with("pg_").then_some((known_as, table))
}

struct TableOid {
    tables: HashMap<String, String>,
}

impl VisitorMut for TableOid {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let table = match expr {
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [relation, column] if fold(column) == "tableoid" => self.tables.get(&fold(relation)),
                _ => None,
            },
            Expr::Identifier(column) if fold(column) == "tableoid" && self.tables.len() == 1 => {
                self.tables.values().next()
            }
            _ => None,
        };
        if let Some(table) = table {
            let name = Value::SingleQuotedString(format!("pg_catalog.{table}"));
            *expr = call("regclass", vec![Expr::Value(name.into())]);
        }
        ControlFlow::Continue(())
    }
}
