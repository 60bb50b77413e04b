//! Integer literals as Postgres types them: `integer` where the value fits, else `bigint`, else `numeric`.
//!
//! The library reads every integer as `bigint`. Where a literal's type decides the type of a result (an item of SELECT,
//! a branch of CASE, an argument of `coalesce` or `sum`) it is written as a cast, which is folded again after planning.
//! In operators the planner of operators does the same.

use sqlparser::ast::{
    Array, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, SetExpr,
    UnaryOperator, Value,
};

/// Functions whose result has the type of their arguments, or depends on it.
const TYPED_BY_ARGUMENTS: [&str; 14] = [
    "pg_typeof",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "abs",
    "sum",
    "min",
    "max",
    "avg",
    "array_agg",
    "mod",
    "first_value",
    "last_value",
];

/// Of the least `integer`.
const LEAST_DIGITS: &str = "2147483648";

/// Turns an integer literal that fits into `integer` into one of that type.
pub fn narrow(expr: &mut Expr) {
    match expr {
        Expr::Value(value) => {
            let Value::Number(number, _) = &value.value else {
                return;
            };
            if number.parse::<i32>().is_ok() {
                let literal = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                *expr = Expr::Cast {
                    kind: CastKind::DoubleColon,
                    expr: Box::new(literal),
                    data_type: DataType::Int4(None),
                    array: false,
                    format: None,
                };
            }
        }
        // The least integer, whose digits alone do not fit.
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: inner,
        } if matches!(inner.as_ref(), Expr::Value(value) if matches!(&value.value, Value::Number(number, _) if number == LEAST_DIGITS)) =>
        {
            let least = Value::SingleQuotedString(format!("-{LEAST_DIGITS}"));
            *expr = super::postgres::cast(Expr::Value(least.into()), DataType::Int4(None));
        }
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        }
        | Expr::Nested(expr) => narrow(expr),
        _ => {}
    }
}

/// Narrows literals below `expr` that decide its type.
pub fn narrow_operands(expr: &mut Expr) {
    match expr {
        Expr::Case {
            operand: None,
            conditions,
            else_result,
            ..
        } => {
            conditions.iter_mut().for_each(|c| narrow(&mut c.result));
            else_result.iter_mut().for_each(|e| narrow(e));
        }
        Expr::Array(Array { elem, .. }) => elem.iter_mut().for_each(narrow),
        Expr::Function(Function {
            name,
            args: FunctionArguments::List(list),
            ..
        }) => {
            let name = name
                .0
                .last()
                .and_then(|p| p.as_ident())
                .map(|i| i.value.to_lowercase());
            if name.is_some_and(|n| TYPED_BY_ARGUMENTS.contains(&n.as_str())) {
                for arg in &mut list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg {
                        narrow(expr);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Narrows the cells of VALUES.
pub fn narrow_values(body: &mut SetExpr) {
    match body {
        SetExpr::Values(values) => {
            values
                .rows
                .iter_mut()
                .flat_map(|row| row.content.iter_mut())
                .for_each(narrow);
        }
        SetExpr::SetOperation { left, right, .. } => {
            narrow_values(left);
            narrow_values(right);
        }
        _ => {}
    }
}
