//! ORDER BY: an expression that stands there again orders nothing, and the library stumbles over it in DISTINCT ON and in
//! aggregates. What DISTINCT collects without an order has that of the values, as in Postgres, which sorts to find
//! duplicates.

use sqlparser::ast::{
    DuplicateTreatment, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    OrderByExpr, OrderByKind, OrderByOptions, Query,
};

use crate::planner::names::fold;

pub fn rewrite_query(query: &mut Query) {
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(exprs) = &mut order_by.kind
    {
        without_repetitions(exprs);
    }
}

/// Aggregates whose DISTINCT hands the values on in their order.
const COLLECTING: [&str; 2] = ["array_agg", "string_agg"];

pub fn rewrite_call(expr: &mut Expr) {
    if let Expr::Function(function) = expr
        && let FunctionArguments::List(list) = &mut function.args
    {
        let is_ordered =
            |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
        let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
            && name.is_some_and(|name| COLLECTING.contains(&name.as_str()))
            && !list.clauses.iter().any(is_ordered)
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(value))) = list.args.first()
        {
            let order = OrderByExpr {
                expr: value.clone(),
                options: OrderByOptions::default(),
                with_fill: None,
            };
            list.clauses.push(FunctionArgumentClause::OrderBy(vec![order]));
        }
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
