//! `string_agg(x, ', ' ORDER BY y)` as `array_to_string(array_agg(x ORDER BY y) FILTER (WHERE x IS NOT NULL), ', ')`. The
//! library sorts its input once for all `string_agg` of a SELECT and refuses two orders; each `array_agg` sorts by itself.

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident,
    ObjectName, ObjectNamePart,
};

use crate::planner::names::fold;

use super::postgres::call;

/// Leaves calls alone that have no order, or another separator in each row.
pub fn rewrite_call(expr: &mut Expr) {
    let Expr::Function(function) = expr else { return };
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
    let FunctionArguments::List(list) = &function.args else {
        return;
    };
    let has_order = list
        .clauses
        .iter()
        .any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)));
    if name.as_deref() != Some("string_agg") || !has_order || function.over.is_some() {
        return;
    }
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(separator @ Expr::Value(_))),
    ] = list.args.as_slice()
    else {
        return;
    };
    let (value, separator) = (value.clone(), separator.clone());
    let mut collected = function.clone();
    collected.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new("array_agg"))]);
    if let FunctionArguments::List(list) = &mut collected.args {
        list.args.truncate(1);
    }
    let is_there = Expr::IsNotNull(Box::new(Expr::Nested(Box::new(value))));
    collected.filter = Some(Box::new(match collected.filter.take() {
        Some(filter) => Expr::BinaryOp {
            left: Box::new(Expr::Nested(filter)),
            op: BinaryOperator::And,
            right: Box::new(is_there),
        },
        None => is_there,
    }));
    *expr = call("array_to_string", vec![Expr::Function(collected), separator]);
}
