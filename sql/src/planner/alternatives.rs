//! The type of CASE, coalesce, greatest, least, nullif and ARRAY: one that the alternatives share, by Postgres' rules for
//! "UNION, CASE, and Related Constructs". The library has other rules, and forgets the SQL types that no Arrow type tells
//! (uuid, json); these are put back on what functions and aggregates make of such values, too.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Aggregate, Cast, Expr, ExprSchemable, LogicalPlan, Projection};
use millpond_catalog::SqlType;

use crate::error::{Error, ErrorKind, Result};
use crate::function::OfType;

use super::comparable::type_of;
use super::literal::{cast_literal_to, is_string_literal};
use super::typed::change_expressions;

/// Aggregates that give one of the values that they take.
const CHOOSING: [&str; 6] = [
    "mode",
    "percentile_disc",
    "first_value",
    "last_value",
    "nth_value",
    "any_value",
];

/// # Errors
/// Alternatives of types that do not go together.
pub fn settle(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    // Changed or not: the schemas above follow.
    let plan = change_expressions(plan, |expr, schema| Ok(Transformed::yes(settled(expr, schema)?)))?;
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Aggregate(aggregate) => with_types(aggregate),
        node => Ok(Transformed::no(node)),
    })
    .map(|transformed| transformed.data)
}

fn settled(mut expr: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let (construct, alternatives): (_, Vec<&mut Expr>) = match &mut expr {
        Expr::Case(case) => {
            let values = case.when_then_expr.iter_mut().map(|(_, then)| then.as_mut());
            ("CASE", values.chain(case.else_expr.as_deref_mut()).collect())
        }
        Expr::ScalarFunction(function) => match function.func.name() {
            "coalesce" => ("COALESCE", function.args.iter_mut().collect()),
            "greatest" => ("GREATEST", function.args.iter_mut().collect()),
            "least" => ("LEAST", function.args.iter_mut().collect()),
            "make_array" => ("ARRAY", function.args.iter_mut().collect()),
            _ => return Ok(of_function(expr, schema)),
        },
        _ => return Ok(expr),
    };
    let types: Vec<_> = alternatives.iter().map(|a| type_of(a, schema)).collect();
    let common = common(&types, construct).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let Some(common) = common else {
        return Ok(expr);
    };
    let is_float = matches!(common, SqlType::Float4 | SqlType::Float8);
    for (alternative, found) in alternatives.into_iter().zip(&types) {
        let value = std::mem::take(alternative);
        *alternative = match found {
            None if is_string_literal(&value) && !matches!(common, SqlType::Text | SqlType::Varchar(_)) => {
                cast_literal_to(value, &Arc::new(common.field("", true)))
            }
            Some(found) if is_float && *found != common => {
                Expr::Cast(Cast::new(Box::new(value), common.arrow()))
            }
            _ => value,
        };
    }
    if is_told(&common) {
        return Ok(expr);
    }
    let result = match construct {
        "ARRAY" => SqlType::Array(Box::new(common)),
        _ => common,
    };
    Ok(OfType::of(expr, &result))
}

/// Functions that give their first argument back, the array that they take, or one element of it.
fn of_function(expr: Expr, schema: &DFSchema) -> Expr {
    let Expr::ScalarFunction(function) = &expr else {
        return expr;
    };
    let name = function.func.name();
    let result = match function
        .args
        .iter()
        .find_map(|argument| type_of(argument, schema))
    {
        Some(first) if name == "nullif" => first,
        Some(SqlType::Array(element)) if name == "array_element" => *element,
        Some(SqlType::Array(element)) if name.starts_with("array_") => SqlType::Array(element),
        Some(element) if name == "array_prepend" => SqlType::Array(Box::new(element)),
        _ => return expr,
    };
    match expr.get_type(schema) {
        Ok(given) if !is_told(&result) && given == result.arrow() => OfType::of(expr, &result),
        _ => expr,
    }
}

/// Puts the types on the columns of an aggregate that need it.
fn with_types(aggregate: Aggregate) -> DataFusionResult<Transformed<LogicalPlan>> {
    let groups = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
    let results: Vec<Option<SqlType>> = aggregate
        .aggr_expr
        .iter()
        .map(|expr| of_aggregate(expr, aggregate.input.schema()))
        .collect();
    if results.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let results = std::iter::repeat_n(&None, groups).chain(&results);
    let columns = aggregate.schema.iter().zip(results);
    let columns = columns.map(|((qualifier, field), result)| {
        let column = Expr::Column(Column::from((qualifier, field)));
        match result {
            Some(result) => Expr::Alias(Alias::new(
                OfType::of(column, result),
                qualifier.cloned(),
                field.name(),
            )),
            None => column,
        }
    });
    let columns = columns.collect();
    let input = Arc::new(LogicalPlan::Aggregate(aggregate));
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(
        columns, input,
    )?)))
}

fn of_aggregate(expr: &Expr, schema: &DFSchema) -> Option<SqlType> {
    let Expr::AggregateFunction(function) = expr.clone().unalias() else {
        return None;
    };
    let value = type_of(function.params.args.first()?, schema)?;
    let result = match function.func.name() {
        "array_agg" => SqlType::Array(Box::new(value)),
        name if CHOOSING.contains(&name) => value,
        _ => return None,
    };
    (!is_told(&result)).then_some(result)
}

/// True if the Arrow type alone tells the SQL type.
fn is_told(sql_type: &SqlType) -> bool {
    SqlType::of(&Field::new("", sql_type.arrow(), true)) == *sql_type
}

/// The type that alternatives share; `None` where there is nothing to say, such as beside system types.
///
/// # Errors
/// Types that do not go together, told as those of `construct`.
pub fn common(types: &[Option<SqlType>], construct: &str) -> Result<Option<SqlType>> {
    let mut known = types.iter().flatten();
    let Some(mut common) = known.next() else {
        return Ok(None);
    };
    if types.iter().flatten().any(|t| category(t).is_none()) {
        return Ok(None);
    }
    for next in known {
        if category(next) != category(common) {
            let message = format!("{construct} types {common} and {next} cannot be matched");
            return Err(Error::new(ErrorKind::TypeMismatch, message)
                .with_hint("Cast one of them to the type of the other."));
        }
        if !is_preferred(common) && becomes(common, next) && !becomes(next, common) {
            common = next;
        }
    }
    match types.iter().flatten().find(|t| !becomes(t, common)) {
        Some(other) => {
            let message = format!("{construct} could not convert type {other} to {common}");
            Err(Error::new(ErrorKind::CannotCoerce, message))
        }
        None => Ok(Some(common.clone())),
    }
}

#[derive(Debug, PartialEq)]
enum Category {
    Array,
    Bool,
    Moment,
    Number,
    Text,
    Timespan,
    Other,
}

fn category(sql_type: &SqlType) -> Option<Category> {
    Some(match sql_type {
        SqlType::Array(_) => Category::Array,
        SqlType::Bool => Category::Bool,
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::TimestampTz => Category::Moment,
        SqlType::Text | SqlType::Varchar(_) => Category::Text,
        SqlType::Interval => Category::Timespan,
        SqlType::Bytea | SqlType::Json | SqlType::Jsonb | SqlType::Uuid => Category::Other,
        SqlType::Struct(_) | SqlType::System(_) => return None,
        number if number.is_number() => Category::Number,
        _ => return None,
    })
}

fn is_preferred(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bool | SqlType::Float8 | SqlType::Text | SqlType::TimestampTz | SqlType::Interval
    )
}

/// True if there is a cast that needs not be written.
fn becomes(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => becomes(from, to),
        (SqlType::Text | SqlType::Varchar(_), SqlType::Text | SqlType::Varchar(_)) => true,
        (SqlType::Numeric(_), SqlType::Numeric(_)) => true,
        (SqlType::Date, SqlType::Timestamp | SqlType::TimestampTz) => true,
        (SqlType::Timestamp, SqlType::TimestampTz) => true,
        (from, to) if from == to => true,
        (from, to) => match (width(from), width(to)) {
            (Some(from), Some(to)) => from < to,
            _ => false,
        },
    }
}

/// Numbers in the order of what they hold.
fn width(sql_type: &SqlType) -> Option<u8> {
    Some(match sql_type {
        SqlType::Int2 => 0,
        SqlType::Int4 => 1,
        SqlType::Int8 => 2,
        SqlType::Numeric(_) => 3,
        SqlType::Float4 => 4,
        SqlType::Float8 => 5,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_share_the_type_that_postgres_chooses() {
        let numeric = || SqlType::Numeric(None);
        let array = |element| SqlType::Array(Box::new(element));
        for (types, expected) in [
            (vec![SqlType::Int4, SqlType::Float4], Ok(SqlType::Float4)),
            (vec![SqlType::Float4, numeric()], Ok(SqlType::Float4)),
            (
                vec![SqlType::Float8, SqlType::Float4, SqlType::Int2],
                Ok(SqlType::Float8),
            ),
            (vec![SqlType::Date, SqlType::Timestamp], Ok(SqlType::Timestamp)),
            (
                vec![array(SqlType::Int4), array(SqlType::Int8)],
                Ok(array(SqlType::Int8)),
            ),
            (
                vec![SqlType::Int4, SqlType::Text],
                Err("COALESCE types integer and text cannot be matched"),
            ),
            (
                vec![SqlType::Time, SqlType::Timestamp],
                Err("COALESCE could not convert type timestamp without time zone to time without time zone"),
            ),
        ] {
            let types: Vec<_> = types.into_iter().map(Some).chain([None]).collect();
            let found = common(&types, "COALESCE").map_err(|error| error.to_string());
            assert_eq!(found, expected.map(Some).map_err(str::to_owned), "{types:?}");
        }
    }
}
