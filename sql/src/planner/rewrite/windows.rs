//! Windows written as expressions.
//!
//! - Spark: `GROUP BY window(ts, size[, slide[, start]])` and `window.start`, `window.end`, `window` elsewhere in the
//!   SELECT: those words become the call, so that the library sees one grouping expression; `session_window` likewise.
//! - Flink's old form: `GROUP BY TUMBLE(ts, size)` with `TUMBLE_START`, `TUMBLE_END`, and `HOP` and `SESSION` likewise.
//!
//! What is left is the call `window(..)` or `session_window(..)`, which [`crate::planner::window`] turns into a plan node.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    OrderByKind, Query, Select, SelectItem, SetExpr, Value, VisitMut, VisitorMut,
};

use crate::error::{Error, Result};
use crate::function::{SessionWindow, Window};
use crate::planner::names::fold;

use super::postgres::call;

/// Replaces the words `window`, `window.start` and `window.end` in a query whose SELECT calls `window(..)`, and so for
/// `session_window`.
pub fn rewrite_query(query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    let Some(window) = find_call(select)? else {
        return Ok(());
    };
    let mut replace = Replace {
        word: called(&window).unwrap_or_default(),
        window,
    };
    let flow = |f: ControlFlow<()>| debug_assert!(f.is_continue(), "the visitor never breaks");
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item {
            // The name is what was written: `window.start` is called start.
            let name = super::output_names::expr_name(expr);
            if replace.matches(expr) {
                let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                *item = SelectItem::ExprWithAlias {
                    expr,
                    alias: Ident::with_quote('"', name),
                };
            }
        }
        flow(item.visit(&mut replace));
    }
    if let Some(having) = &mut select.having {
        flow(having.visit(&mut replace));
    }
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(exprs) = &mut order_by.kind
    {
        for order in exprs {
            // A bare `window` is the output column.
            if !matches!(order.expr, Expr::Identifier(_)) {
                flow(order.visit(&mut replace));
            }
        }
    }
    Ok(())
}

/// The one `window(..)` call of a SELECT, in its grouping or else in its items.
fn find_call(select: &Select) -> Result<Option<Expr>> {
    let grouping = match &select.group_by {
        GroupByExpr::Expressions(exprs, _) => exprs.iter().filter(|e| is_window(e)).collect(),
        GroupByExpr::All(_) => Vec::new(),
    };
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } if is_window(expr) => {
            Some(expr)
        }
        _ => None,
    });
    let mut calls: Vec<&Expr> = grouping;
    for item in items {
        if !calls.contains(&item) {
            calls.push(item);
        }
    }
    match calls.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        _ => Err(Error::unsupported("a SELECT can have one window only")
            .with_hint("Join two streaming views, one per window.")),
    }
}

fn is_window(expr: &Expr) -> bool {
    called(expr).is_some_and(|name| name == Window::NAME || name == SessionWindow::NAME)
}

/// The name of the function that is called.
fn called(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Function(function) if function.over.is_none() => function_name(function),
        _ => None,
    }
}

fn function_name(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [part] => part.as_ident().map(fold),
        _ => None,
    }
}

struct Replace {
    /// What stands for the call.
    word: String,
    window: Expr,
}

impl Replace {
    fn matches(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(ident) => fold(ident) == self.word,
            Expr::CompoundIdentifier(idents) => match idents.as_slice() {
                [window, field] => {
                    fold(window) == self.word && ["start", "end"].contains(&fold(field).as_str())
                }
                _ => false,
            },
            _ => false,
        }
    }
}

impl VisitorMut for Replace {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.matches(expr) {
            *expr = match expr {
                Expr::CompoundIdentifier(idents) => field(self.window.clone(), &fold(&idents[1])),
                _ => self.window.clone(),
            };
        }
        ControlFlow::Continue(())
    }
}

fn field(window: Expr, name: &str) -> Expr {
    call(
        "get_field",
        vec![
            window,
            Expr::Value(Value::SingleQuotedString(name.to_owned()).into()),
        ],
    )
}

/// `TUMBLE(ts, size[, offset])`, `HOP(ts, slide, size)`, `SESSION(ts, gap)` and their `_START` and `_END` as expressions.
pub fn rewrite_legacy(expr: &mut Expr) {
    let Expr::Function(function) = expr else { return };
    let Some(name) = function_name(function) else {
        return;
    };
    let FunctionArguments::List(list) = &function.args else {
        return;
    };
    let arguments: Option<Vec<Expr>> = list
        .args
        .iter()
        .map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        })
        .collect();
    let Some(arguments) = arguments else { return };
    if let ("session" | "session_start" | "session_end", [time, gap]) = (name.as_str(), arguments.as_slice())
    {
        let session = call(SessionWindow::NAME, vec![time.clone(), gap.clone()]);
        // In GROUP BY it is the whole window.
        *expr = match name.as_str() {
            "session_start" => field(session, "start"),
            "session_end" => field(session, "end"),
            _ => session,
        };
        return;
    }
    let (size, window) = match (name.as_str(), arguments.as_slice()) {
        ("tumble" | "tumble_start" | "tumble_end", [time, size]) => {
            (size.clone(), vec![time.clone(), size.clone()])
        }
        ("tumble" | "tumble_start" | "tumble_end", [time, size, offset]) => (
            size.clone(),
            vec![time.clone(), size.clone(), size.clone(), offset.clone()],
        ),
        ("hop" | "hop_start" | "hop_end", [time, slide, size]) => {
            (size.clone(), vec![time.clone(), size.clone(), slide.clone()])
        }
        _ => return,
    };
    let start = field(call("window", window), "start");
    *expr = if name.ends_with("_end") {
        Expr::BinaryOp {
            left: Box::new(start),
            op: BinaryOperator::Plus,
            right: Box::new(size),
        }
    } else {
        start
    };
}
