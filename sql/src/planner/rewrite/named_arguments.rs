//! `make_interval(days => 10)`: arguments by name, put where the function has them. The library knows them by place only.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, Value,
};

use crate::planner::names::fold;

/// Functions that are called so, and their parameters in order. Those that are left out are 0.
const FUNCTIONS: [(&str, &[&str]); 4] = [
    (
        "make_interval",
        &["years", "months", "weeks", "days", "hours", "mins", "secs"],
    ),
    ("make_date", &["year", "month", "day"]),
    ("make_time", &["hour", "min", "sec"]),
    ("make_timestamp", &["year", "month", "mday", "hour", "min", "sec"]),
];

/// Leaves a call as it is whose names are not all known.
pub fn rewrite_function(function: &mut Function) {
    let Some(name) = function.name.0.last().and_then(|part| part.as_ident()).map(fold) else {
        return;
    };
    let Some((_, parameters)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        return;
    };
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(placed) = placed(&list.args, parameters)
    {
        list.args = placed;
    }
}

fn placed(arguments: &[FunctionArg], parameters: &[&str]) -> Option<Vec<FunctionArg>> {
    let place_of = |name: &Ident| parameters.iter().position(|parameter| *parameter == fold(name));
    let mut placed: Vec<Option<FunctionArg>> = vec![None; parameters.len()];
    for (at, argument) in arguments.iter().enumerate() {
        let (place, value) = match argument {
            FunctionArg::Unnamed(value) => (at, value.clone()),
            FunctionArg::Named {
                name,
                arg,
                operator: FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment,
            } => (place_of(name)?, arg.clone()),
            _ => return None,
        };
        let slot = placed.get_mut(place).filter(|slot| slot.is_none())?;
        *slot = Some(FunctionArg::Unnamed(value));
    }
    let last = placed.iter().rposition(Option::is_some)?;
    placed.truncate(last + 1);
    let zero = || {
        let zero = Expr::Value(Value::Number("0".to_owned(), false).into());
        FunctionArg::Unnamed(FunctionArgExpr::Expr(zero))
    };
    Some(
        placed
            .into_iter()
            .map(|argument| argument.unwrap_or_else(zero))
            .collect(),
    )
}
