//! The expressions of a part of a query, those of its subqueries left out: names there may mean something else.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, VisitMut, VisitorMut};

/// Calls `change` with each expression, the innermost first.
pub fn change_own(part: &mut impl VisitMut, change: impl FnMut(&mut Expr)) {
    // Only ends early if the visitor breaks, and it never does.
    let _ = part.visit(&mut Own { change, depth: 0 });
}

struct Own<F> {
    change: F,
    /// Of subqueries.
    depth: usize,
}

impl<F: FnMut(&mut Expr)> VisitorMut for Own<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            (self.change)(expr);
        }
        ControlFlow::Continue(())
    }
}
