//! Functions that return rows: `unnest(..)`, `generate_series(..)`, `generate_subscripts(..)` in FROM and in SELECT.
//!
//! The library has them as functions that give an array, and `unnest` to unfold one. In FROM a call becomes a subquery
//! that unfolds, lateral because its arguments may name the relations before it.

use sqlparser::ast::{
    DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator, ObjectName, Query,
    Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, Value,
};

use crate::planner::names::fold;

use super::postgres::call;

pub fn rewrite_select(select: &mut Select) {
    for (i, from) in select.from.iter_mut().enumerate() {
        rewrite_factor(&mut from.relation, i > 0);
        for join in &mut from.joins {
            let lateral = !matches!(
                join.join_operator,
                JoinOperator::FullOuter(_) | JoinOperator::RightOuter(_)
            );
            rewrite_factor(&mut join.relation, lateral);
        }
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            unfold(expr);
        }
    }
}

/// The last part of a function's name, if the function returns rows.
fn set_returning(name: &ObjectName) -> Option<String> {
    let name = fold(name.0.last()?.as_ident()?);
    [
        "unnest",
        "generate_series",
        "generate_subscripts",
        "_pg_expandarray",
        "regexp_matches",
        "regexp_split_to_table",
        "string_to_table",
    ]
    .contains(&name.as_str())
    .then_some(name)
}

/// The array whose elements are the rows of a call.
fn array_of(name: &str, arguments: Vec<Expr>) -> Expr {
    match name {
        "generate_subscripts" => {
            let one = Expr::Value(Value::Number("1".to_owned(), false).into());
            call("generate_series", vec![one, call("array_upper", arguments)])
        }
        "_pg_expandarray" => expand_array(arguments),
        "regexp_matches" => call(crate::function::row::regular::MATCHES, arguments),
        "regexp_split_to_table" => call("regexp_split_to_array", arguments),
        "string_to_table" => call("string_to_array", arguments),
        other => call(other, arguments),
    }
}

fn expand_array(arguments: Vec<Expr>) -> Expr {
    let mut expand = call("_pg_expandarray", arguments);
    if let Expr::Function(function) = &mut expand {
        function.name.0.insert(
            0,
            sqlparser::ast::ObjectNamePart::Identifier(Ident::new("information_schema")),
        );
    }
    expand
}

/// In SELECT: `generate_series(..)` is `unnest(generate_series(..))`.
fn unfold(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner)
        | Expr::CompoundFieldAccess { root: inner, .. }
        | Expr::Cast { expr: inner, .. } => {
            unfold(inner);
        }
        Expr::Function(function) => match set_returning(&function.name) {
            Some(name) if name != "unnest" => {
                if let Some(arguments) = take_arguments(&mut function.args) {
                    *expr = call("unnest", vec![array_of(&name, arguments)]);
                }
            }
            _ => {}
        },
        _ => {}
    }
}

fn take_arguments(arguments: &mut FunctionArguments) -> Option<Vec<Expr>> {
    match arguments {
        FunctionArguments::List(list) => plain_arguments(&list.args),
        FunctionArguments::None | FunctionArguments::Subquery(_) => None,
    }
}

fn plain_arguments(arguments: &[FunctionArg]) -> Option<Vec<Expr>> {
    let plain = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    arguments.iter().map(plain).collect()
}

/// A call in FROM as a subquery.
fn rewrite_factor(factor: &mut TableFactor, may_be_lateral: bool) {
    let (name, arguments, ordinality, alias) = match factor {
        TableFactor::UNNEST {
            array_exprs,
            alias,
            with_offset: false,
            with_ordinality,
            ..
        } => (
            "unnest".to_owned(),
            Some(array_exprs.clone()),
            *with_ordinality,
            alias.take(),
        ),
        TableFactor::Table {
            name,
            args: Some(args),
            alias,
            with_ordinality,
            ..
        } => {
            let Some(name) = set_returning(name) else { return };
            (name, plain_arguments(&args.args), *with_ordinality, alias.take())
        }
        TableFactor::Function {
            name,
            args,
            alias,
            with_ordinality,
            ..
        } => {
            let Some(name) = set_returning(name) else { return };
            (name, plain_arguments(args), *with_ordinality, alias.take())
        }
        _ => return,
    };
    let Some(arguments) = arguments else {
        return;
    };
    let mut arguments = arguments;
    if name == "generate_series" {
        number_parameters(&mut arguments);
    }
    let names_columns = arguments.iter().any(names_columns);
    let constant = !names_columns && !arguments.iter().any(has_parameters);
    if name == "generate_series" && constant && !ordinality {
        // A series of constants can be long: it is a relation of its own that is never held as an array.
        keep_series(factor, alias);
        return;
    }
    let lateral = may_be_lateral && names_columns;
    // Every array of `unnest` is a column; the other functions make one.
    let arrays = if name == "unnest" {
        arguments
    } else {
        vec![array_of(&name, arguments)]
    };
    let names = column_names(&name, arrays.len(), alias.as_ref());
    let ordinality = ordinality.then(|| arrays[0].clone());
    let unfolded = |array: Expr, name: Ident| SelectItem::ExprWithAlias {
        expr: call("unnest", vec![array]),
        alias: name,
    };
    let mut names = names.into_iter();
    let mut items: Vec<_> = arrays
        .into_iter()
        .zip(names.by_ref())
        .map(|(array, name)| unfolded(array, name))
        .collect();
    if let Some(array) = ordinality {
        let one = Expr::Value(Value::Number("1".to_owned(), false).into());
        let numbers = call("generate_series", vec![one, call("cardinality", vec![array])]);
        items.push(unfolded(
            numbers,
            names.next().unwrap_or_else(|| Ident::new("ordinality")),
        ));
    }
    let Some(query) = select_of(items) else { return };
    let table = alias.map_or_else(|| Ident::with_quote('"', name), |alias| alias.name);
    *factor = TableFactor::Derived {
        lateral,
        subquery: Box::new(query),
        alias: Some(TableAlias {
            explicit: true,
            name: table,
            columns: Vec::new(),
            at: None,
        }),
        sample: None,
    };
}

/// Puts back the alias of a series, which names its column too.
fn keep_series(factor: &mut TableFactor, mut series: Option<TableAlias>) {
    if let Some(series) = &mut series
        && series.columns.is_empty()
    {
        series.columns = vec![TableAliasColumnDef {
            name: series.name.clone(),
            data_type: None,
        }];
    }
    if let TableFactor::Table { alias, .. } | TableFactor::Function { alias, .. } = factor {
        *alias = series;
    }
}

/// The given names first, then what Postgres calls the columns: as the relation is called, if there is one.
fn column_names(function: &str, columns: usize, alias: Option<&TableAlias>) -> Vec<Ident> {
    let given = alias.map(|alias| alias.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>());
    let given = given.unwrap_or_default();
    let own = match alias {
        Some(alias) if columns == 1 => alias.name.clone(),
        _ => Ident::with_quote('"', function),
    };
    let missing = columns.saturating_sub(given.len());
    given
        .into_iter()
        .chain(std::iter::repeat_n(own, missing))
        .collect()
}

/// Parameters without a type beside numbers are numbers.
fn number_parameters(arguments: &mut [Expr]) {
    let is_parameter =
        |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)));
    let is_number = |expr: &Expr| match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..) | Value::Placeholder(_)),
        Expr::Cast { data_type, .. } => matches!(
            data_type,
            DataType::Int(_)
                | DataType::Integer(_)
                | DataType::Int4(_)
                | DataType::BigInt(_)
                | DataType::Int8(_)
        ),
        _ => false,
    };
    if !arguments.iter().all(is_number) {
        return;
    }
    for argument in arguments.iter_mut().filter(|argument| is_parameter(argument)) {
        let parameter = std::mem::replace(argument, Expr::Value(Value::Null.into()));
        *argument = super::postgres::cast(parameter, DataType::BigInt(None));
    }
}

fn has_parameters(expr: &Expr) -> bool {
    use sqlparser::ast::{Visit, Visitor};
    use std::ops::ControlFlow;

    struct Parameters;

    impl Visitor for Parameters {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    expr.visit(&mut Parameters).is_break()
}

/// Whether an expression names a column, rather than being made of constants.
fn names_columns(expr: &Expr) -> bool {
    use sqlparser::ast::{Visit, Visitor};
    use std::ops::ControlFlow;

    struct Columns;

    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    expr.visit(&mut Columns).is_break()
}

/// `SELECT items`.
fn select_of(items: Vec<SelectItem>) -> Option<Query> {
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let mut query = sqlparser::parser::Parser::new(&dialect)
        .try_with_sql("SELECT 1")
        .ok()?
        .parse_query()
        .ok()?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = items;
    }
    Some(*query)
}
