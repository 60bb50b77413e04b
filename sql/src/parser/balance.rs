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

/// The operands of a chain that grows to the left, in order.
fn terms(mut chain: Expr, op: &BinaryOperator) -> Vec<Expr> {
    let mut reversed = Vec::new();
    loop {
        match chain {
            Expr::BinaryOp {
                left,
                op: found,
                right,
            } if found == *op => {
                reversed.push(*right);
                chain = *left;
            }
            first => {
                reversed.push(first);
                reversed.reverse();
                return reversed;
            }
        }
    }
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
