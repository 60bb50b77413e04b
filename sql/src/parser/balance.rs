//! Chains of AND and OR as balanced trees.
//!
//! `a OR b OR c ..` with a thousand terms is a tree a thousand levels deep, which costs stack in everything that walks it.
//! AND and OR are associative, so the same terms in the same order make a tree ten levels deep.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Value, VisitMut, VisitorMut};

/// Balances every chain in `tree`.
pub fn balance(tree: &mut impl VisitMut) {
    let ControlFlow::Continue(()) = tree.visit(&mut Balance);
}

struct Balance;

impl VisitorMut for Balance {
    type Break = Infallible;

    // Before the children are visited: the walk goes down the balanced tree.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let Expr::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } = expr
        else {
            return ControlFlow::Continue(());
        };
        let op = op.clone();
        let chain = std::mem::replace(expr, Expr::Value(Value::Null.into()));
        *expr = join(terms(chain, &op), &op);
        ControlFlow::Continue(())
    }
}

/// The operands of a chain in order. The walk comes to the parts of a balanced chain again, so that they must be taken
/// apart on both sides to come out the same.
fn terms(chain: Expr, op: &BinaryOperator) -> Vec<Expr> {
    let mut terms = Vec::new();
    let mut pending = vec![chain];
    while let Some(expr) = pending.pop() {
        match expr {
            Expr::BinaryOp {
                left,
                op: found,
                right,
            } if found == *op => {
                pending.push(*right);
                pending.push(*left);
            }
            term => terms.push(term),
        }
    }
    terms
}

fn join(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
    if terms.len() <= 1 {
        return terms.pop().unwrap_or(Expr::Value(Value::Null.into()));
    }
    let right = terms.split_off(terms.len() / 2);
    Expr::BinaryOp {
        left: Box::new(join(terms, op)),
        op: op.clone(),
        right: Box::new(join(right, op)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            _ => 0,
        }
    }

    #[test]
    fn a_chain_becomes_shallow_and_reads_the_same() {
        let sql = (0..1000)
            .map(|n| format!("c{n}"))
            .collect::<Vec<_>>()
            .join(" OR ");
        let dialect = PostgreSqlDialect {};
        let mut expr = Parser::new(&dialect)
            .try_with_sql(&sql)
            .unwrap()
            .parse_expr()
            .unwrap();
        balance(&mut expr);
        assert_eq!(depth(&expr), 10);
        assert_eq!(expr.to_string(), sql);
    }
}
