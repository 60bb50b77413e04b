//! Which types are compared with each other, as Postgres' operators have them. The library compares more, by casts that
//! hide mistakes: a number with a date, a boolean with a text.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use millpond_catalog::SqlType;

use crate::error::{Error, ErrorKind, Result};

use super::typed::{known_type, visit_expressions};

/// # Errors
/// A comparison between types that have none.
pub fn check(plan: &LogicalPlan) -> DataFusionResult<()> {
    visit_expressions(plan, |expr, schema| told(check_expr(expr, schema)))?;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node {
            for (left, right) in &join.on {
                let types = (
                    type_of(left, join.left.schema()),
                    type_of(right, join.right.schema()),
                );
                told(check_types(types, "="))?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(|_| ())
}

fn told(outcome: Result<()>) -> DataFusionResult<()> {
    outcome.map_err(|error| DataFusionError::External(Box::new(error)))
}

fn check_expr(expr: &Expr, schema: &DFSchema) -> Result<()> {
    let beside = |left: &Expr, operator: &str, right: &Expr| {
        check_types((type_of(left, schema), type_of(right, schema)), operator)
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Operator::And | Operator::Or),
            right,
        }) => [left, right]
            .into_iter()
            .try_for_each(|side| check_condition(type_of(side, schema), &op.to_string())),
        Expr::Not(condition) => check_condition(type_of(condition, schema), "NOT"),
        Expr::Like(like) | Expr::SimilarTo(like) => {
            let operator = match (like.negated, like.case_insensitive) {
                (false, false) => "~~",
                (false, true) => "~~*",
                (true, false) => "!~~",
                (true, true) => "!~~*",
            };
            let types = [type_of(&like.expr, schema), type_of(&like.pattern, schema)];
            match types.iter().flatten().all(|t| compare(t, &SqlType::Text)) {
                true => Ok(()),
                false => {
                    let [left, right] = types.map(|t| t.map_or("unknown".to_owned(), |t| t.to_string()));
                    Err(no_operator(&left, operator, &right))
                }
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match operator(*op) {
            Some(operator) => beside(left, operator, right),
            None => Ok(()),
        },
        Expr::InList(list) => list.list.iter().try_for_each(|e| beside(&list.expr, "=", e)),
        Expr::Between(between) => {
            beside(&between.expr, ">=", &between.low)?;
            beside(&between.expr, "<=", &between.high)
        }
        Expr::InSubquery(membership) => {
            let column = membership.subquery.subquery.schema().fields().first();
            let found = column.map(|field| SqlType::of(field));
            check_types((type_of(&membership.expr, schema), found), "=")
        }
        _ => Ok(()),
    }
}

fn check_condition(found: Option<SqlType>, operator: &str) -> Result<()> {
    match found {
        None | Some(SqlType::Bool) => Ok(()),
        Some(other) => {
            let message = format!("argument of {operator} must be type boolean, not type {other}");
            Err(Error::new(ErrorKind::TypeMismatch, message))
        }
    }
}

/// The operator that a user would look for.
fn operator(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::Eq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => "=",
        Operator::NotEq => "<>",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        // Only of numbers, and not of floats.
        Operator::Modulo => "%",
        _ => return None,
    })
}

fn check_types(types: (Option<SqlType>, Option<SqlType>), operator: &str) -> Result<()> {
    let (Some(left), Some(right)) = types else {
        return Ok(());
    };
    let is_float = |t: &SqlType| matches!(t, SqlType::Float4 | SqlType::Float8);
    if compare(&left, &right) && !(operator == "%" && (is_float(&left) || is_float(&right))) {
        return Ok(());
    }
    Err(no_operator(&left.to_string(), operator, &right.to_string()))
}

fn no_operator(left: &str, operator: &str, right: &str) -> Error {
    let message = format!("operator does not exist: {left} {operator} {right}");
    Error::new(ErrorKind::UndefinedFunction, message).with_hint("You might need to add explicit type casts.")
}

/// `None` for what takes the type of its place.
pub fn type_of(expr: &Expr, schema: &DFSchema) -> Option<SqlType> {
    match expr {
        Expr::Placeholder(_) | Expr::Literal(ScalarValue::Utf8(_), _) => None,
        Expr::Alias(alias) => type_of(&alias.expr, schema),
        expr => known_type(expr, schema),
    }
}

fn compare(left: &SqlType, right: &SqlType) -> bool {
    use SqlType::{
        Array, Date, Interval, Json, Jsonb, Struct, System, Text, Time, Timestamp, TimestampTz, Varchar,
    };
    match (left, right) {
        (Text | Varchar(_), Text | Varchar(_)) => true,
        // Names and numbers of objects, which only system tables have.
        (System(_), _) | (_, System(_)) => true,
        (Date | Timestamp | TimestampTz, Date | Timestamp | TimestampTz) => true,
        (Time | Interval, Time | Interval) => true,
        (Json | Jsonb, Json | Jsonb) | (Struct(_), Struct(_)) => true,
        (Array(left), Array(right)) => compare(left, right),
        (left, right) => left == right || left.is_number() && right.is_number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_compare_where_postgres_has_operators() {
        let array = |element| SqlType::Array(Box::new(element));
        for (left, right, expected) in [
            (SqlType::Int4, SqlType::Numeric(None), true),
            (SqlType::Int4, SqlType::Text, false),
            (SqlType::Int4, SqlType::Bool, false),
            (SqlType::Date, SqlType::TimestampTz, true),
            (SqlType::Date, SqlType::Int4, false),
            (SqlType::Uuid, SqlType::Text, false),
            (SqlType::Varchar(Some(3)), SqlType::Text, true),
            (array(SqlType::Int4), array(SqlType::Int8), true),
            (array(SqlType::Int4), SqlType::Int4, false),
        ] {
            assert_eq!(compare(&left, &right), expected, "{left} and {right}");
            assert_eq!(compare(&right, &left), expected, "{right} and {left}");
        }
    }
}
