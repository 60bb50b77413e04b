//! Operators whose meaning in Postgres depends on their types in a way the library does not know.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, GetFieldAccess, Operator, ScalarUDF, ScalarUDFImpl, binary_expr, lit, when,
};
use datafusion::scalar::ScalarValue;
use millpond_catalog::{SqlType, SystemType};
use sqlparser::ast::BinaryOperator;

use crate::function::{IntervalKey, NumericDivide, NumericMultiply, RowFunction, TimestampDifference};

use super::literal;

/// Aggregates that tell of the window of a group.
const OF_WINDOW: [&str; 2] = ["window_revision", "is_final"];

/// Stands before the library's own planners.
#[derive(Debug)]
pub struct Operators;

impl ExprPlanner for Operators {
    /// The library takes no aggregate without an argument.
    fn plan_aggregate(&self, mut expr: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        if expr.args.is_empty() && OF_WINDOW.contains(&expr.func.name()) {
            expr.args.push(lit(true));
        }
        Ok(PlannerResult::Original(expr))
    }

    /// The vectors of system tables are counted from 0, arrays from 1.
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = access;
        let field_access = match (field_access, expr.to_field(schema)) {
            (GetFieldAccess::ListIndex { key }, Ok((_, field)))
                if matches!(
                    SqlType::of(&field),
                    SqlType::System(SystemType::Int2Vector | SystemType::OidVector)
                ) =>
            {
                GetFieldAccess::ListIndex {
                    key: Box::new(*key + lit(1_i64)),
                }
            }
            // The library counts from the end what is less than 1.
            (GetFieldAccess::ListIndex { key }, _) => GetFieldAccess::ListIndex {
                key: Box::new(at_least(*key, 1, Expr::Literal(ScalarValue::Int64(None), None))?),
            },
            (GetFieldAccess::ListRange { start, stop, stride }, _) => GetFieldAccess::ListRange {
                start: Box::new(at_least(*start, 1, lit(1_i64))?),
                stop: Box::new(at_least(*stop, 0, lit(0_i64))?),
                stride,
            },
            (other, _) => other,
        };
        Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr }))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(RowFunction::call("substr", args)))
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(RowFunction::call("strpos", args)))
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(RowFunction::call("overlay", args)))
    }

    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        }
        let (left, right) = (narrow(left), narrow(right));
        let (left, right) = type_literals(&op, left, right, schema);
        // The types of a deep expression take long to find, and only these operators need them.
        let types = match op {
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide => left.get_type(schema).ok().zip(right.get_type(schema).ok()),
            _ => None,
        };
        if let Some(operator) = comparison(&op)
            && let Ok(DataType::Interval(_)) = left.get_type(schema)
            && let Ok(DataType::Interval(_)) = right.get_type(schema)
        {
            let compared = binary_expr(IntervalKey::of(left), operator, IntervalKey::of(right));
            return Ok(PlannerResult::Planned(compared));
        }
        if let Some(planned) = of_arrays(&op, &left, &right, schema) {
            return Ok(PlannerResult::Planned(planned));
        }
        let (left, right, types) = as_typed(&op, left, right, types, schema);
        if let Some(planned) = types
            .as_ref()
            .and_then(|types| of_intervals(&op, &left, &right, types))
        {
            return Ok(PlannerResult::Planned(planned));
        }
        // A real beside another number than a real is a double.
        let (left, right) = match &types {
            Some((DataType::Float32, other)) | Some((other, DataType::Float32))
                if other.is_decimal() || other.is_integer() =>
            {
                let double = |expr: Expr| Expr::Cast(Cast::new(Box::new(expr), DataType::Float64));
                let planned = RawBinaryExpr {
                    op,
                    left: double(left),
                    right: double(right),
                };
                return Ok(PlannerResult::Original(planned));
            }
            _ => (left, right),
        };
        let planned = match (&op, types) {
            (BinaryOperator::Minus, Some((l, r))) if is_timestamp(&l) && is_timestamp(&r) => {
                Some(timestamp_difference(left.clone(), right.clone(), &l, &r))
            }
            (BinaryOperator::Divide, Some((l, r))) => {
                numerics(&left, &right, &l, &r).map(|operands| call(NumericDivide::default(), operands))
            }
            (BinaryOperator::Multiply, Some((DataType::Decimal128(p, s), DataType::Decimal128(q, t))))
                if NumericMultiply::scale((p, s), (q, t)).is_some() =>
            {
                Some(call(
                    NumericMultiply::default(),
                    vec![left.clone(), right.clone()],
                ))
            }
            (BinaryOperator::Minus, Some((DataType::Date32, DataType::Date32))) => {
                let days = |e: Expr| Expr::Cast(Cast::new(Box::new(e), DataType::Int32));
                Some(binary_expr(
                    days(left.clone()),
                    Operator::Minus,
                    days(right.clone()),
                ))
            }
            (BinaryOperator::Plus | BinaryOperator::Minus, Some((DataType::Date32, r))) if r.is_integer() => {
                Some(shift_date(left.clone(), &op, right.clone()))
            }
            (BinaryOperator::Plus, Some((l, DataType::Date32))) if l.is_integer() => {
                Some(shift_date(right.clone(), &op, left.clone()))
            }
            _ => None,
        };
        Ok(match planned {
            Some(expr) => PlannerResult::Planned(expr),
            None => PlannerResult::Original(RawBinaryExpr { op, left, right }),
        })
    }
}

/// A subscript, or `otherwise` where it is less than `least`. NULL stays NULL.
fn at_least(subscript: Expr, least: i64, otherwise: Expr) -> Result<Expr> {
    match &subscript {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) if *value >= least => Ok(subscript),
        _ => when(subscript.clone().lt(lit(least)), otherwise).otherwise(subscript),
    }
}

/// What arrays contain and share.
fn of_arrays(op: &BinaryOperator, left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (name, left, right) = match op {
        BinaryOperator::AtArrow => ("array_contains_all", left, right),
        BinaryOperator::ArrowAt => ("array_contains_all", right, left),
        BinaryOperator::PGOverlap => ("array_overlap", left, right),
        _ => return None,
    };
    let is_list = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::List(_)));
    (is_list(left) || is_list(right)).then(|| RowFunction::call(name, vec![left.clone(), right.clone()]))
}

/// Operands of the types that Postgres gives them. A day beside an interval or a time of the day, and one compared with a timestamp, is the timestamp of its beginning. The
/// library would let a day remain one, or count in nanoseconds.
fn as_typed(
    op: &BinaryOperator,
    left: Expr,
    right: Expr,
    types: Option<(DataType, DataType)>,
    schema: &DFSchema,
) -> (Expr, Expr, Option<(DataType, DataType)>) {
    let known = match (&types, comparison(op)) {
        (Some(types), _) => Some(types.clone()),
        (None, Some(_)) => left.get_type(schema).ok().zip(right.get_type(schema).ok()),
        (None, None) => None,
    };
    let Some((l, r)) = known else {
        return (left, right, types);
    };
    let cast = |expr: Expr, target: &DataType| Expr::Cast(Cast::new(Box::new(expr), target.clone()));
    let (timestamp, interval) = (SqlType::Timestamp.arrow(), SqlType::Interval.arrow());
    let arithmetic = matches!(op, BinaryOperator::Plus | BinaryOperator::Minus);
    let is_interval = |t: &DataType| matches!(t, DataType::Interval(_));
    let is_time = |t: &DataType| matches!(t, DataType::Time64(_));
    match (&l, &r) {
        (DataType::Date32, r) if arithmetic && (is_interval(r) || is_time(r)) => {
            let right = if is_time(r) { cast(right, &interval) } else { right };
            (cast(left, &timestamp), right, Some((timestamp, interval)))
        }
        (l, DataType::Date32) if *op == BinaryOperator::Plus && (is_interval(l) || is_time(l)) => {
            let left = if is_time(l) { cast(left, &interval) } else { left };
            (left, cast(right, &timestamp), Some((interval, timestamp)))
        }
        (DataType::Date32, DataType::Timestamp(_, zone)) if !arithmetic || *op == BinaryOperator::Minus => {
            let target = DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, zone.clone());
            (cast(left, &target), right, types.map(|_| (target.clone(), r)))
        }
        (DataType::Timestamp(_, zone), DataType::Date32) if !arithmetic || *op == BinaryOperator::Minus => {
            let target = DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, zone.clone());
            (left, cast(right, &target), types.map(|_| (l, target.clone())))
        }
        // A numeric beside a float is one: floats have more values.
        (l, DataType::Float32 | DataType::Float64) if comparison(op).is_some() && l.is_decimal() => {
            (cast(left, &DataType::Float64), right, types)
        }
        (DataType::Float32 | DataType::Float64, r) if comparison(op).is_some() && r.is_decimal() => {
            (left, cast(right, &DataType::Float64), types)
        }
        _ => (left, right, types),
    }
}

/// Multiples and parts of intervals.
fn of_intervals(
    op: &BinaryOperator,
    left: &Expr,
    right: &Expr,
    types: &(DataType, DataType),
) -> Option<Expr> {
    use crate::function::row::time::{DIVIDE, MULTIPLY};
    let is_interval = |t: &DataType| matches!(t, DataType::Interval(_));
    let call = |name, interval: &Expr, number: &Expr| {
        let number = Expr::Cast(Cast::new(Box::new(number.clone()), DataType::Float64));
        Some(RowFunction::call(name, vec![interval.clone(), number]))
    };
    match (op, types) {
        (BinaryOperator::Multiply, (l, r)) if is_interval(l) && r.is_numeric() => call(MULTIPLY, left, right),
        (BinaryOperator::Multiply, (l, r)) if l.is_numeric() && is_interval(r) => call(MULTIPLY, right, left),
        (BinaryOperator::Divide, (l, r)) if is_interval(l) && r.is_numeric() => call(DIVIDE, left, right),
        _ => None,
    }
}

fn comparison(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

/// An integer literal is `integer` where it fits.
fn narrow(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), metadata) => match i32::try_from(value) {
            Ok(value) => Expr::Literal(ScalarValue::Int32(Some(value)), metadata),
            Err(_) => Expr::Literal(ScalarValue::Int64(Some(value)), metadata),
        },
        Expr::Literal(ScalarValue::UInt64(Some(value)), metadata) => {
            Expr::Literal(ScalarValue::Decimal128(Some(i128::from(value)), 20, 0), metadata)
        }
        other => other,
    }
}

/// A string literal takes the type of the other operand; beside a date or time it is an interval to add.
fn type_literals(op: &BinaryOperator, left: Expr, right: Expr, schema: &DFSchema) -> (Expr, Expr) {
    use BinaryOperator as Op;
    let arithmetic = matches!(op, Op::Plus | Op::Minus | Op::Multiply | Op::Divide | Op::Modulo);
    let comparison = matches!(
        op,
        Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq | Op::Spaceship
    );
    if !arithmetic && !comparison {
        return (left, right);
    }
    let typed = |literal: Expr, other: &Expr| match literal::type_beside(other, schema) {
        Some(target) if arithmetic && target.data_type().is_temporal() => {
            literal::cast_literal(literal, &SqlType::Interval.arrow())
        }
        Some(target) => literal::cast_literal_to(literal, &target),
        None => literal,
    };
    match (
        literal::is_string_literal(&left),
        literal::is_string_literal(&right),
    ) {
        (true, false) => (typed(left, &right), right),
        (false, true) => {
            let right = typed(right, &left);
            (left, right)
        }
        _ => (left, right),
    }
}

fn is_timestamp(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _))
}

fn timestamp_difference(left: Expr, right: Expr, left_type: &DataType, right_type: &DataType) -> Expr {
    let zoned = |t: &DataType| matches!(t, DataType::Timestamp(_, Some(_)));
    let target = if zoned(left_type) || zoned(right_type) {
        SqlType::TimestampTz.arrow()
    } else {
        SqlType::Timestamp.arrow()
    };
    let cast = |e: Expr, from: &DataType| {
        if *from == target {
            e
        } else {
            Expr::Cast(Cast::new(Box::new(e), target.clone()))
        }
    };
    call(
        TimestampDifference::default(),
        vec![cast(left, left_type), cast(right, right_type)],
    )
}

/// The operands as numerics, where one side is a numeric and the other one or an integer.
fn numerics(left: &Expr, right: &Expr, left_type: &DataType, right_type: &DataType) -> Option<Vec<Expr>> {
    if !left_type.is_decimal() && !right_type.is_decimal() {
        return None;
    }
    let numeric = |expr: &Expr, data_type: &DataType| match data_type {
        DataType::Decimal128(..) => Some(expr.clone()),
        // Enough for each of them.
        _ if data_type.is_integer() => Some(Expr::Cast(Cast::new(
            Box::new(expr.clone()),
            DataType::Decimal128(20, 0),
        ))),
        _ => None,
    };
    Some(vec![numeric(left, left_type)?, numeric(right, right_type)?])
}

fn call(function: impl ScalarUDFImpl + 'static, operands: Vec<Expr>) -> Expr {
    let function = Arc::new(ScalarUDF::new_from_impl(function));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, operands))
}

/// Days are added as integers.
fn shift_date(date: Expr, op: &BinaryOperator, days: Expr) -> Expr {
    let int = |e: Expr| Expr::Cast(Cast::new(Box::new(e), DataType::Int32));
    let operator = if *op == BinaryOperator::Minus {
        Operator::Minus
    } else {
        Operator::Plus
    };
    let sum = binary_expr(int(date), operator, int(days));
    Expr::Cast(Cast::new(Box::new(sum), DataType::Date32))
}
