//! Changes to the syntax tree of a query before the library plans it: Postgres' names and spellings that the library does
//! not know, in the library's own terms.
//!
//! The order is part of the contract: windows first, because they give names; names of output columns next, because they
//! follow from what was written; everything else after that.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, TableFactor, VisitMut, VisitorMut};

use crate::error::{Error, Result};

use super::{PlanContext, Purpose, names};

mod frames;
mod limit;
mod literals;
mod named_arguments;
mod number;
mod order;
mod output_names;
mod own_expressions;
mod postgres;
mod row;
mod set_returning;
mod string_agg;
mod system_columns;
mod tables;
mod using;
mod values;
mod whole_row;
mod windows;

pub use output_names::OutputNames;
pub use postgres::ARRAY_OF_SUBQUERY;
use whole_row::Named;

/// Rewrites `query` in place; the result says what its columns are called.
///
/// # Errors
/// Constructs that the library would read as something else.
pub fn rewrite(query: &mut Query, purpose: Purpose, context: &PlanContext<'_>) -> Result<OutputNames> {
    let mut output_names = OutputNames::default();
    windows::rewrite_query(query)?;
    name_top(&mut query.body, &mut output_names);
    let mut rewriter = Rewriter {
        purpose,
        stream_is_noise: names::find(None, "stream", context).is_none(),
        names: output_names,
        context,
        queries: Named::default(),
    };
    match query.visit(&mut rewriter) {
        ControlFlow::Continue(()) => Ok(rewriter.names),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Rewrites an expression outside of a query: a default, an argument of EXECUTE.
///
/// # Errors
/// As [`rewrite`].
pub fn rewrite_expr(expr: &mut Expr, purpose: Purpose, context: &PlanContext<'_>) -> Result<()> {
    let mut rewriter = Rewriter {
        purpose,
        stream_is_noise: false,
        names: OutputNames::default(),
        context,
        queries: Named::default(),
    };
    match expr.visit(&mut rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The outermost SELECTs, whose duplicate names are shown and cannot be referred to.
fn name_top(body: &mut SetExpr, names: &mut OutputNames) {
    match body {
        SetExpr::Select(select) => names.name_select(select, true),
        SetExpr::Query(query) => name_top(&mut query.body, names),
        SetExpr::SetOperation { left, right, .. } => {
            name_top(left, names);
            name_top(right, names);
        }
        _ => {}
    }
}

struct Rewriter<'a> {
    purpose: Purpose,
    /// `FROM STREAM t` means `FROM t`: there is no relation called `stream`.
    stream_is_noise: bool,
    names: OutputNames,
    context: &'a PlanContext<'a>,
    /// Of the WITH clauses around.
    queries: Named,
}

fn flow(result: Result<()>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.queries.enter(query, self.context);
        order::rewrite_query(query);
        let rewritten = tables::rewrite_query(query)
            .and_then(|()| using::rewrite_query(query))
            .and_then(|()| limit::rewrite_query(query))
            .and_then(|()| windows::rewrite_query(query));
        flow(rewritten)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.queries.leave(query);
        if self.purpose != Purpose::Insert {
            values::align(&mut query.body);
        }
        literals::narrow_values(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.names.name_select(select, false);
        set_returning::rewrite_select(select);
        system_columns::rewrite_select(select);
        flow(
            tables::check_select(select)
                .and_then(|()| whole_row::write_out(select, &self.queries, self.context)),
        )
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        frames::rewrite_select(select);
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item {
                literals::narrow(expr);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        flow(tables::rewrite_factor(factor, self.stream_is_noise))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        order::rewrite_call(expr);
        string_agg::rewrite_call(expr);
        windows::rewrite_legacy(expr);
        if let Expr::Function(function) = expr {
            frames::rewrite_function(function);
            named_arguments::rewrite_function(function);
        }
        literals::narrow_operands(expr);
        flow(row::rewrite_expr(expr).and_then(|()| postgres::rewrite_expr(expr, self.purpose)))
    }
}
