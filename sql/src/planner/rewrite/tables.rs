//! Relations in FROM: `TABLE t`, `TABLE(f(..))`, `FROM STREAM t`, and clauses that the library would ignore.

use sqlparser::ast::{
    Expr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Select, SetExpr, TableFactor,
    TableFunctionArgs,
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
                && fold(schema) == "pg_catalog"
            {
                *name = ObjectName(vec![function.clone()]);
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
