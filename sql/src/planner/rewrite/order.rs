//! ORDER BY: an expression that stands there again orders nothing, and the library stumbles over it in DISTINCT ON and in
//! aggregates.

use sqlparser::ast::{Expr, FunctionArgumentClause, FunctionArguments, OrderByExpr, OrderByKind, Query};

pub fn rewrite_query(query: &mut Query) {
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(exprs) = &mut order_by.kind
    {
        without_repetitions(exprs);
    }
}

pub fn rewrite_call(expr: &mut Expr) {
    if let Expr::Function(function) = expr
        && let FunctionArguments::List(list) = &mut function.args
    {
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(exprs) = clause {
                without_repetitions(exprs);
            }
        }
    }
}

fn without_repetitions(exprs: &mut Vec<OrderByExpr>) {
    let mut seen: Vec<Expr> = Vec::with_capacity(exprs.len());
    exprs.retain(|order| {
        let is_new = !seen.contains(&order.expr);
        if is_new {
            seen.push(order.expr.clone());
        }
        is_new
    });
}
