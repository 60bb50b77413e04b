//! Rows compared with rows, column by column: `(a, b) = (c, d)`, `ROW(a, b) < (c, d)`, `(a, b) IN ((1, 2), ..)`.
//!
//! Columns are looked at from the left, and the first pair that is not equal decides, which the three values of SQL keep
//! when it is written out: `a < c OR (a = c AND b < d)`.

use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::error::{Error, Result};
use crate::function::row::period;
use crate::planner::names::fold;

use super::postgres::call;

/// Writes out a comparison of rows.
///
/// # Errors
/// Rows of different lengths.
pub fn rewrite_expr(expr: &mut Expr) -> Result<()> {
    let written = match expr {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Overlaps,
            right,
        } => match (columns(left), columns(right)) {
            (Some(left), Some(right)) if left.len() == 2 && right.len() == 2 => {
                Some(call(period::OVERLAPS, [left, right].concat()))
            }
            (Some(_), Some(_)) => return Err(Error::syntax("wrong number of parameters of OVERLAPS")),
            _ => None,
        },
        Expr::BinaryOp { left, op, right } => match (columns(left), columns(right)) {
            (Some(left), Some(right)) => compare(op, left, right)?,
            _ => None,
        },
        Expr::IsDistinctFrom(left, right) => match (columns(left), columns(right)) {
            (Some(left), Some(right)) => Some(distinct(left, right)?),
            _ => None,
        },
        Expr::IsNotDistinctFrom(left, right) => match (columns(left), columns(right)) {
            (Some(left), Some(right)) => Some(not(distinct(left, right)?)),
            _ => None,
        },
        Expr::InList { expr, list, negated } => match columns(expr) {
            Some(row) => {
                let mut equal = Vec::with_capacity(list.len());
                for other in list.iter() {
                    let Some(other) = columns(other) else {
                        return Ok(());
                    };
                    equal.extend(compare(&BinaryOperator::Eq, row.clone(), other)?);
                }
                chain(equal, &BinaryOperator::Or).map(|any| if *negated { not(any) } else { any })
            }
            None => None,
        },
        _ => None,
    };
    if let Some(written) = written {
        *expr = written;
    }
    Ok(())
}

/// The columns of a row that is written as one.
fn columns(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(columns) => Some(columns.clone()),
        Expr::Nested(inner) => columns(inner),
        Expr::Function(function) => {
            let is_row = matches!(
                function.name.0.as_slice(),
                [part] if part.as_ident().is_some_and(|ident| fold(ident) == "row")
            );
            let FunctionArguments::List(list) = &function.args else {
                return None;
            };
            let plain = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            is_row.then(|| list.args.iter().map(plain).collect())?
        }
        _ => None,
    }
}

fn compare(op: &BinaryOperator, left: Vec<Expr>, right: Vec<Expr>) -> Result<Option<Expr>> {
    let strict = match op {
        BinaryOperator::Lt | BinaryOperator::LtEq => BinaryOperator::Lt,
        BinaryOperator::Gt | BinaryOperator::GtEq => BinaryOperator::Gt,
        BinaryOperator::Eq => return pairs(left, right, op, &BinaryOperator::And).map(Some),
        BinaryOperator::NotEq => return pairs(left, right, op, &BinaryOperator::Or).map(Some),
        _ => return Ok(None),
    };
    check_lengths(&left, &right)?;
    let mut written: Option<Expr> = None;
    for (left, right) in left.into_iter().zip(right).rev() {
        written = Some(match written {
            None => binary(left, op, right),
            Some(rest) => {
                let less = binary(left.clone(), &strict, right.clone());
                let equal = binary(left, &BinaryOperator::Eq, right);
                binary(
                    less,
                    &BinaryOperator::Or,
                    binary(equal, &BinaryOperator::And, rest),
                )
            }
        });
    }
    Ok(written)
}

fn distinct(left: Vec<Expr>, right: Vec<Expr>) -> Result<Expr> {
    check_lengths(&left, &right)?;
    let pairs = left.into_iter().zip(right);
    let pairs = pairs.map(|(left, right)| Expr::IsDistinctFrom(Box::new(left), Box::new(right)));
    chain(pairs.map(nested).collect(), &BinaryOperator::Or).ok_or_else(no_columns)
}

fn pairs(left: Vec<Expr>, right: Vec<Expr>, op: &BinaryOperator, with: &BinaryOperator) -> Result<Expr> {
    check_lengths(&left, &right)?;
    let pairs = left.into_iter().zip(right);
    let compared = pairs.map(|(left, right)| binary(left, op, right)).collect();
    chain(compared, with).ok_or_else(no_columns)
}

fn no_columns() -> Error {
    Error::unsupported("cannot compare rows of zero length")
}

fn check_lengths(left: &[Expr], right: &[Expr]) -> Result<()> {
    if left.len() == right.len() {
        Ok(())
    } else {
        Err(Error::syntax("unequal number of entries in row expressions"))
    }
}

fn chain(exprs: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    exprs.into_iter().reduce(|left, right| binary(left, op, right))
}

fn binary(left: Expr, op: &BinaryOperator, right: Expr) -> Expr {
    nested(Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(right),
    })
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp {
        op: sqlparser::ast::UnaryOperator::Not,
        expr: Box::new(expr),
    }
}
