//! Windows: from their spellings to a node that assigns rows to windows.
//!
//! Both the functions in FROM (`tumble`, `hop`, `session`) and the expressions `window(..)` and `session_window(..)` become
//! a call of the placeholder [`Window`] or [`SessionWindow`](crate::function::SessionWindow) in a projection or aggregate;
//! [`fn@assign`] then puts the node that the engine provides under it. So every spelling has one meaning, and GROUP BY sees
//! two plain columns.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, Diagnostic, Span};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::prelude::get_field;
use datafusion::scalar::ScalarValue;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, TableFactor};

use crate::error::{Error, ErrorKind, Result};
use crate::function::Window;
use crate::plan::Notice;
use crate::relations::Windows;
use crate::suggest;

use super::names::fold;

mod asof;
mod assign;
mod dedup;
mod delayed;
mod interval;
mod local;
mod lookup;
mod session;
mod within;

pub use asof::nearest_partners;
pub use assign::assign;
pub use dedup::keep_times;
pub use delayed::set_watermarks;
pub use interval::{microseconds, of_expr, show};
pub use lookup::set_lookups;
pub use within::bound_joins;

const WINDOW_START: &str = "window_start";
const WINDOW_END: &str = "window_end";
/// The last moment of the window: an event time for windows over windows.
const WINDOW_TIME: &str = "window_time";

/// Plans `tumble(..)`, `hop(..)` and the other functions in FROM.
#[derive(Debug, Default)]
pub struct WindowRelations {
    notices: Mutex<Vec<Notice>>,
}

impl WindowRelations {
    /// Remarks made while planning.
    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The functions in FROM.
enum Call {
    Window(Kind),
    Watermark,
    Dedup,
    Lookup,
}

/// Those that make windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tumble,
    Hop,
    Cumulate,
    Session,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Tumble => "tumble",
            Kind::Hop => "hop",
            Kind::Cumulate => "cumulate",
            Kind::Session => "session",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Kind::Tumble => "tumble(t, ts, size[, offset])",
            Kind::Hop => "hop(t, ts, slide, size[, offset])",
            Kind::Cumulate => "cumulate(t, ts, step, size[, offset])",
            Kind::Session => "session(t, ts, gap[, key => (k)])",
        }
    }

    /// Names of the arguments in their order.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Kind::Tumble => &["data", "time", "size", "offset"],
            Kind::Hop => &["data", "time", "slide", "size", "offset"],
            Kind::Cumulate => &["data", "time", "step", "size", "offset"],
            Kind::Session => &["data", "time", "gap", "key"],
        }
    }

    fn missing(self, what: &str) -> DataFusionError {
        external(
            Error::new(
                ErrorKind::UndefinedFunction,
                format!("{} needs {what}", self.name()),
            )
            .with_hint(format!("Write {}.", self.usage())),
        )
    }
}

/// The arguments of a window function, sorted.
#[derive(Default)]
struct Arguments {
    relation: Option<ast::Expr>,
    time: Option<ast::Expr>,
    slide: Option<ast::Expr>,
    size: Option<ast::Expr>,
    offset: Option<ast::Expr>,
    gap: Option<ast::Expr>,
    key: Option<ast::Expr>,
    zone: Option<ast::Expr>,
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl RelationPlanner for WindowRelations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> DataFusionResult<RelationPlanning> {
        let original = |relation| Ok(RelationPlanning::Original(Box::new(relation)));
        let function = match &relation {
            TableFactor::Table {
                name, args: Some(_), ..
            } => match name.0.as_slice() {
                [part] => part.as_ident().map(fold).unwrap_or_default(),
                _ => return original(relation),
            },
            _ => return original(relation),
        };
        let call = match function.as_str() {
            "tumble" => Call::Window(Kind::Tumble),
            "hop" => Call::Window(Kind::Hop),
            "session" => Call::Window(Kind::Session),
            "watermark" => Call::Watermark,
            "dedup" => Call::Dedup,
            "lookup" => Call::Lookup,
            "cumulate" => Call::Window(Kind::Cumulate),
            _ => return original(relation),
        };
        let TableFactor::Table {
            name,
            args: Some(arguments),
            alias,
            ..
        } = relation
        else {
            return Err(external(Error::new(
                ErrorKind::Internal,
                "a function in FROM has arguments",
            )));
        };
        // An error without a better place is about the call.
        let place = |error: DataFusionError| match error.diagnostic() {
            Some(_) => error,
            None => {
                let span = name.0.first().and_then(|p| p.as_ident()).map(|ident| ident.span);
                let span = span.and_then(Span::try_from_sqlparser_span);
                error.with_diagnostic(Diagnostic::new_error(function.clone(), span))
            }
        };
        let plan = match call {
            Call::Window(kind) => {
                let arguments = sort_arguments(arguments.args, kind)
                    .map_err(external)
                    .map_err(place)?;
                self.plan_window(arguments, kind, context).map_err(place)?
            }
            Call::Watermark => delayed::plan(arguments.args, context)?,
            Call::Dedup => dedup::plan(arguments.args, context)?,
            Call::Lookup => lookup::plan(arguments.args, context)?,
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan, alias,
        ))))
    }
}

impl WindowRelations {
    fn plan_window(
        &self,
        arguments: Arguments,
        kind: Kind,
        context: &mut dyn RelationPlannerContext,
    ) -> DataFusionResult<LogicalPlan> {
        let relation = arguments.relation.ok_or_else(|| kind.missing("a relation"))?;
        let input = context.plan(relation_of(relation).map_err(external)?)?;
        let time = time_column(arguments.time.ok_or_else(|| kind.missing("a time column"))?);
        let time = context.sql_to_expr(time, input.schema())?;
        if !is_clock(&time) {
            check_time(&time, input.schema(), kind.name()).map_err(external)?;
        }
        let time = match arguments.zone {
            None => time,
            Some(zone) => {
                let zone = context.sql_to_expr(zone, &DFSchema::empty())?;
                local::time_in(time, input.schema(), zone)?
            }
        };
        if kind == Kind::Session {
            let gap = arguments.gap.ok_or_else(|| kind.missing("a gap"))?;
            let gap = context.sql_to_expr(gap, input.schema())?;
            let keys = match arguments.key {
                None => None,
                Some(key) => {
                    let keys = members(key).into_iter();
                    let keys = keys.map(|key| context.sql_to_expr(key, input.schema()));
                    Some(keys.collect::<DataFusionResult<Vec<_>>>()?)
                }
            };
            return with_bounds(input, session::call(time, gap, keys));
        }

        let mut duration = |expr: ast::Expr, what: &str| -> DataFusionResult<i64> {
            let expr = context.sql_to_expr(expr, &DFSchema::empty())?;
            interval::of_expr(&expr, what).map_err(external)
        };
        let size = duration(arguments.size.ok_or_else(|| kind.missing("a size"))?, "size")?;
        let slide = match arguments.slide {
            Some(slide) => duration(slide, "slide")?,
            None if kind == Kind::Hop => return Err(kind.missing("a slide")),
            None if kind == Kind::Cumulate => return Err(kind.missing("a step")),
            None => size,
        };
        let offset = arguments
            .offset
            .map(|offset| duration(offset, "offset"))
            .transpose()?
            .unwrap_or(0);
        if kind == Kind::Cumulate {
            interval::check_cumulate(slide, size).map_err(external)?;
        }
        interval::check(size, slide, kind == Kind::Hop).map_err(external)?;
        if kind == Kind::Hop {
            let message = format!("hop: windows of size {} every {}", show(size), show(slide));
            self.notices
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Notice {
                    message,
                    hint: Some(format!("The order of arguments is {}.", kind.usage())),
                });
        }
        let windows = Windows {
            size_us: size,
            slide_us: slide,
            offset_us: offset,
            cumulate: kind == Kind::Cumulate,
        };
        with_bounds(input, assign::call(time, windows))
    }
}

/// The columns of `input`, the bounds of a window, and its last moment where the input has no column of that name.
fn with_bounds(input: LogicalPlan, window: Expr) -> DataFusionResult<LogicalPlan> {
    let columns = input.schema().columns();
    let microsecond = lit(ScalarValue::new_interval_mdn(0, 0, 1_000));
    let last = { columns.iter() }
        .all(|column| column.name != WINDOW_TIME)
        .then(|| (get_field(window.clone(), Window::END) - microsecond).alias(WINDOW_TIME));
    let bounds = [
        get_field(window.clone(), Window::START).alias(WINDOW_START),
        get_field(window, Window::END).alias(WINDOW_END),
    ];
    let exprs = columns.into_iter().map(Expr::Column).chain(bounds).chain(last);
    LogicalPlanBuilder::from(input.clone()).project(exprs)?.build()
}

/// `(a, b)`, `DESCRIPTOR(a, b)` and `a` as lists of expressions.
fn members(expr: ast::Expr) -> Vec<ast::Expr> {
    match expr {
        ast::Expr::Tuple(members) => members,
        ast::Expr::Nested(inner) => vec![*inner],
        ast::Expr::Function(function) if is_descriptor(&function) => match function.args {
            FunctionArguments::List(list) => list
                .args
                .into_iter()
                .filter_map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        },
        other => vec![other],
    }
}

fn is_descriptor(function: &ast::Function) -> bool {
    matches!(function.name.0.as_slice(), [part] if part.as_ident().map(fold).as_deref() == Some("descriptor"))
}

fn sort_arguments(arguments: Vec<FunctionArg>, kind: Kind) -> Result<Arguments> {
    let mut sorted = Arguments::default();
    let mut position = 0;
    for argument in arguments {
        let (name, argument) = match argument {
            FunctionArg::Unnamed(argument) => {
                // Some write the key of a session before its gap.
                let is_key = kind == Kind::Session
                    && position == 2
                    && matches!(&argument, FunctionArgExpr::Expr(ast::Expr::Function(f)) if is_descriptor(f));
                if is_key {
                    position -= 1;
                }
                let name = match is_key {
                    true => Some(&"key"),
                    false => kind.arguments().get(position),
                };
                let name = name.ok_or_else(|| {
                    Error::new(
                        ErrorKind::UndefinedFunction,
                        "too many arguments for a window function",
                    )
                })?;
                position += 1;
                ((*name).to_owned(), argument)
            }
            FunctionArg::Named { name, arg, .. } => (fold(&name), arg),
            FunctionArg::ExprNamed {
                name: ast::Expr::Identifier(name),
                arg,
                ..
            } => (fold(&name), arg),
            FunctionArg::ExprNamed { name, .. } => {
                return Err(Error::syntax(format!(
                    "\"{name}\" is not the name of an argument"
                )));
            }
        };
        let FunctionArgExpr::Expr(expr) = argument else {
            return Err(Error::syntax("a window function does not take *"));
        };
        let place = match name.as_str() {
            "data" | "table" | "input" => &mut sorted.relation,
            "time" | "timecol" | "time_column" | "ts" => &mut sorted.time,
            "slide" | "hop" | "step" => &mut sorted.slide,
            "size" | "max" | "max_size" => &mut sorted.size,
            "offset" | "start" => &mut sorted.offset,
            "gap" => &mut sorted.gap,
            "key" | "keys" | "partition_by" => &mut sorted.key,
            "zone" | "time_zone" | "timezone" => &mut sorted.zone,
            other => {
                return Err(Error::new(
                    ErrorKind::UndefinedFunction,
                    format!("window functions have no argument \"{other}\""),
                )
                .with_hint_if(suggest::did_you_mean(other, kind.arguments().iter().copied())));
            }
        };
        if place.replace(expr).is_some() {
            return Err(Error::syntax(format!("argument \"{name}\" is given twice")));
        }
    }
    Ok(sorted)
}

/// The first argument: a name, a subquery, or a call of another window function.
fn relation_of(expr: ast::Expr) -> Result<TableFactor> {
    let name = match expr {
        ast::Expr::Identifier(ident) => vec![ident],
        ast::Expr::CompoundIdentifier(idents) => idents,
        ast::Expr::Subquery(subquery) => {
            return Ok(TableFactor::Derived {
                lateral: false,
                subquery,
                alias: None,
                sample: None,
            });
        }
        ast::Expr::Nested(inner) => return relation_of(*inner),
        ast::Expr::Function(function) => {
            // `tumble(table(t), ..)`: TABLE around a name.
            let is_table = matches!(function.name.0.as_slice(), [p] if p.as_ident().map(fold).as_deref() == Some("table"));
            let FunctionArguments::List(list) = function.args else {
                return Err(Error::syntax("a window function takes a relation"));
            };
            let mut args = list.args;
            if is_table && args.len() == 1 {
                return match args.remove(0) {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => relation_of(expr),
                    _ => Err(Error::syntax("TABLE takes a relation")),
                };
            }
            return Ok(table(
                function.name,
                Some(ast::TableFunctionArgs { args, settings: None }),
            ));
        }
        other => {
            return Err(Error::syntax(format!(
                "a window function takes a relation, not {other}"
            )));
        }
    };
    Ok(table(
        ast::ObjectName(name.into_iter().map(ast::ObjectNamePart::Identifier).collect()),
        None,
    ))
}

fn table(name: ast::ObjectName, args: Option<ast::TableFunctionArgs>) -> TableFactor {
    TableFactor::Table {
        name,
        alias: None,
        args,
        with_hints: Vec::new(),
        version: None,
        partitions: Vec::new(),
        with_ordinality: false,
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// `DESCRIPTOR(ts)` is `ts`.
fn time_column(expr: ast::Expr) -> ast::Expr {
    if let ast::Expr::Function(function) = &expr
        && is_descriptor(function)
        && let FunctionArguments::List(list) = &function.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner))] = list.args.as_slice()
    {
        return inner.clone();
    }
    expr
}

/// `proctime()` and its kin.
fn is_clock(time: &Expr) -> bool {
    match time {
        Expr::Cast(cast) => is_clock(&cast.expr),
        Expr::ScalarFunction(call) => ["processing_time", "now"].contains(&call.name()),
        _ => false,
    }
}

fn check_time(time: &Expr, schema: &DFSchema, function: &str) -> Result<()> {
    let Expr::Column(Column { name, .. }) = time else {
        return Err(Error::new(
            ErrorKind::TypeMismatch,
            format!("{function} needs the name of a time column"),
        )
        .with_hint("Compute the time in a subquery."));
    };
    match time.get_type(schema) {
        Ok(DataType::Timestamp(_, _)) => Ok(()),
        Ok(other) => {
            let field = arrow::datatypes::Field::new(name, other, true);
            Err(Error::new(
                ErrorKind::TypeMismatch,
                format!(
                    "{function} needs a column of type timestamp or timestamptz, but \"{name}\" is {}",
                    millpond_catalog::SqlType::of(&field)
                ),
            ))
        }
        Err(error) => Err(Error::new(ErrorKind::UndefinedColumn, error.to_string())),
    }
}

/// Microseconds as a literal argument of the placeholder.
fn literal_us(us: i64) -> Expr {
    lit(ScalarValue::DurationMicrosecond(Some(us)))
}

/// Shared so that a plan can be built while remarks are collected.
pub fn relations() -> Arc<WindowRelations> {
    Arc::new(WindowRelations::default())
}
