//! Relations in FROM: `TABLE t`, `TABLE(f(..))`, `FROM STREAM t`, and clauses that the library would ignore.

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Select,
    SetExpr, TableFactor, TableFunctionArgs,
};
use sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::planner::names::fold;

/// `TABLE t` is `SELECT * FROM t`.
pub fn rewrite_query(query: &mut Query) -> Result<()> {
    if !query.locks.is_empty() {
        return Err(Error::unsupported("FOR UPDATE and FOR SHARE are not supported"));
    }
    if !query.pipe_operators.is_empty() || query.for_clause.is_some() || query.format_clause.is_some() {
        return Err(Error::syntax("clause is not supported in a query"));
    }
    rewrite_body(&mut query.body)
}

fn rewrite_body(body: &mut SetExpr) -> Result<()> {
    match body {
        SetExpr::Table(table) => {
            let parts = table.schema_name.iter().chain(table.table_name.iter());
            let parts: Vec<_> = parts
                .map(|name| ObjectNamePart::Identifier(Ident::new(name)))
                .collect();
            *body = SetExpr::Select(Box::new(select_all_from(ObjectName(parts))?));
        }
        SetExpr::SetOperation { left, right, .. } => {
            rewrite_body(left)?;
            rewrite_body(right)?;
        }
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            return Err(Error::unsupported(
                "data-modifying statements in WITH are not supported",
            ));
        }
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => {}
    }
    Ok(())
}

fn select_all_from(name: ObjectName) -> Result<Select> {
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = Parser::new(&dialect)
        .try_with_sql("SELECT * FROM t")
        .and_then(|mut p| p.parse_select());
    let mut select = parsed.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
    if let Some(TableFactor::Table { name: table, .. }) = select.from.first_mut().map(|f| &mut f.relation) {
        *table = name;
    }
    Ok(select)
}

/// Clauses of other dialects that would change the meaning.
pub fn check_select(select: &Select) -> Result<()> {
    if select.into.is_some() {
        return Err(Error::unsupported("SELECT INTO is not supported yet")
            .with_hint("Use CREATE TABLE and INSERT .. SELECT, or CREATE STREAMING VIEW."));
    }
    if select.top.is_some() || select.prewhere.is_some() || !select.connect_by.is_empty() {
        return Err(Error::syntax("clause is not supported in SELECT"));
    }
    Ok(())
}

pub fn rewrite_factor(factor: &mut TableFactor, stream_is_noise: bool) -> Result<()> {
    match factor {
        TableFactor::TableFunction {
            expr: Expr::Function(function),
            alias,
        } => {
            let FunctionArguments::List(list) = &mut function.args else {
                return Err(Error::syntax("TABLE(..) takes a function call"));
            };
            if is_window(&function.name) {
                list.args.iter_mut().try_for_each(nested_window)?;
            }
            *factor = TableFactor::Table {
                name: std::mem::replace(&mut function.name, ObjectName(Vec::new())),
                alias: alias.take(),
                args: Some(TableFunctionArgs {
                    args: std::mem::take(&mut list.args),
                    settings: None,
                }),
                with_hints: Vec::new(),
                version: None,
                partitions: Vec::new(),
                with_ordinality: false,
                json_path: None,
                sample: None,
                index_hints: Vec::new(),
            };
        }
        TableFactor::TableFunction { .. } => return Err(Error::syntax("TABLE(..) takes a function call")),
        TableFactor::Table {
            name,
            alias,
            args,
            version,
            sample,
            with_ordinality,
            ..
        } => {
            if version.is_some() {
                return Err(Error::unsupported("FOR SYSTEM_TIME AS OF is not supported yet"));
            }
            if sample.is_some() {
                return Err(Error::unsupported("TABLESAMPLE is not supported"));
            }
            if *with_ordinality {
                return Err(Error::unsupported("WITH ORDINALITY is not supported"));
            }
            // Functions of the catalog may be written with their schema.
            if args.is_some()
                && let [ObjectNamePart::Identifier(schema), function] = name.0.as_slice()
                && (fold(schema) == "pg_catalog" || fold(schema) == "sys")
            {
                *name = ObjectName(vec![function.clone()]);
            }
            if let Some(args) = args
                && is_window(name)
            {
                args.args.iter_mut().try_for_each(nested_window)?;
            }
            let is_stream = matches!(name.0.as_slice(), [ObjectNamePart::Identifier(ident)]
                if ident.quote_style.is_none() && fold(ident) == "stream");
            if is_stream && stream_is_noise && args.is_none() && alias.as_ref().is_some_and(|a| !a.explicit) {
                let table = alias.take().expect("checked to be there").name;
                *name = ObjectName(vec![ObjectNamePart::Identifier(table)]);
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_window(name: &ObjectName) -> bool {
    let windows = ["tumble", "hop", "cumulate", "session"];
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(ident)] if windows.contains(&fold(ident).as_str()))
}

/// A window in place of the relation of another: `tumble(hop(t, ..), ..)` is `tumble((SELECT * FROM hop(t, ..)), ..)`.
fn nested_window(argument: &mut FunctionArg) -> Result<()> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else {
        return Ok(());
    };
    let Expr::Function(function) = expr else {
        return Ok(());
    };
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    let is_table =
        matches!(function.name.0.as_slice(), [ObjectNamePart::Identifier(ident)] if fold(ident) == "table");
    if is_table && let [inner] = list.args.as_mut_slice() {
        let inner = inner.clone();
        *argument = inner;
        return nested_window(argument);
    }
    if is_window(&function.name) {
        let mut select = select_all_from(function.name.clone())?;
        if let Some(TableFactor::Table { args, .. }) = select.from.first_mut().map(|f| &mut f.relation) {
            *args = Some(TableFunctionArgs {
                args: std::mem::take(&mut list.args),
                settings: None,
            });
        }
        let dialect = sqlparser::dialect::PostgreSqlDialect {};
        let query = Parser::new(&dialect)
            .try_with_sql("SELECT 1")
            .and_then(|mut parser| parser.parse_query());
        let mut query = query.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
        *query.body = SetExpr::Select(Box::new(select));
        *expr = Expr::Subquery(query);
    }
    Ok(())
}
