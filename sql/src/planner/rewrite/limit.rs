//! `FETCH FIRST n ROWS ONLY` is the standard's LIMIT, and `WITH TIES` keeps the rows whose rank is at most n.

use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, LimitClause, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value,
    WindowSpec, WindowType,
};

use super::postgres::call;
use crate::error::{Error, Result};
use crate::planner::names::fold;

/// # Errors
/// `PERCENT`, LIMIT and FETCH together, and `WITH TIES` where rows cannot be ranked.
pub fn rewrite_query(query: &mut Query) -> Result<()> {
    let Some(Fetch {
        with_ties,
        percent,
        quantity,
    }) = query.fetch.take()
    else {
        return Ok(());
    };
    if percent {
        return Err(Error::unsupported("FETCH FIRST .. PERCENT is not supported")
            .with_hint("Number the rows with percent_rank() in a subquery and compare the number."));
    }
    let fetched = quantity.unwrap_or_else(|| Expr::Value(Value::Number("1".to_owned(), false).into()));
    if with_ties {
        return rank_at_most(query, fetched);
    }
    match &mut query.limit_clause {
        None => {
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(fetched),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(LimitClause::LimitOffset {
            limit: limit @ None, ..
        }) => *limit = Some(fetched),
        Some(_) => return Err(Error::syntax("multiple LIMIT clauses not allowed")),
    }
    Ok(())
}

/// `.. ORDER BY k FETCH FIRST n ROWS WITH TIES` as `.. QUALIFY rank() OVER (ORDER BY k) <= n ORDER BY k`.
fn rank_at_most(query: &mut Query, most: Expr) -> Result<()> {
    let keys = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(keys)) if !keys.is_empty() => keys.clone(),
        _ => {
            return Err(Error::syntax(
                "WITH TIES cannot be specified without ORDER BY clause",
            ));
        }
    };
    let unsupported = |what: &str| {
        Error::unsupported(format!("FETCH FIRST .. WITH TIES {what} is not supported"))
            .with_hint("Number the rows with rank() in a subquery and compare the number.")
    };
    if query.limit_clause.is_some() {
        return Err(unsupported("together with LIMIT or OFFSET"));
    }
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(unsupported("of UNION and its like"));
    };
    if select.distinct.is_some() {
        return Err(unsupported("together with DISTINCT"));
    }
    let order_by = keys
        .into_iter()
        .map(|key| OrderByExpr {
            expr: output(&key.expr, &select.projection).unwrap_or(key.expr),
            ..key
        })
        .collect();
    let mut rank = call("rank", Vec::new());
    if let Expr::Function(rank) = &mut rank {
        rank.over = Some(WindowType::WindowSpec(WindowSpec {
            window_name: None,
            partition_by: Vec::new(),
            order_by,
            window_frame: None,
        }));
    }
    let and = |left, op, right| Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    };
    let first = and(rank, BinaryOperator::LtEq, most);
    select.qualify = Some(match select.qualify.take() {
        Some(qualify) => and(Expr::Nested(Box::new(qualify)), BinaryOperator::And, first),
        None => first,
    });
    Ok(())
}

/// The expression of the output column that a key of ORDER BY names, by its number or its alias.
fn output(key: &Expr, projection: &[SelectItem]) -> Option<Expr> {
    match key {
        Expr::Value(value) => {
            let Value::Number(number, _) = &value.value else {
                return None;
            };
            let place = number.parse::<usize>().ok()?.checked_sub(1)?;
            match projection.get(place)? {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.clone()),
                _ => None,
            }
        }
        Expr::Identifier(name) => projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if fold(alias) == fold(name) => Some(expr.clone()),
            _ => None,
        }),
        _ => None,
    }
}
