//! Conditions on `now()` that a row meets for one span of time: the row appears or goes when the clock says so.
//!
//! The side with `now()` must be a step-by-step copy of the clock, `now()` itself, its date, and fixed intervals added. With
//! `f(T)` for its value at time T, a row with value v meets `v > f` until the first T with `f(T) >= v`, and `v >= f` until
//! the first with `f(T) > v`; `<` and `<=` are met from there on.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, Operator, cast};
use datafusion::scalar::ScalarValue;

use crate::dataflow::{Distribution, Edge, NodeKind, Properties};
use crate::error::Result;
use crate::expression::PROCESSING_TIME;
use crate::lower::Lowering;
use crate::lower::join_times::{INTERVAL_LENGTH, TIMESTAMP_DIFFERENCE, duration};
use crate::lower::stream::Stream;
use crate::operator::spec::{OperatorSpec, Rounding, TemporalBound, TemporalSpec, Turn};

const DAY_US: i64 = 86_400_000_000;

/// A condition as bounds: the value of the row, and when it appears or goes.
pub(super) struct Condition {
    value: Expr,
    turns: Vec<(Turn, Rounding, i64)>,
}

/// The side with the clock: what it gives at time T.
#[derive(Clone, Copy)]
enum Clock {
    /// T plus so many microseconds.
    Time(i64),
    /// The day of T plus microseconds, and so many days more.
    Day { shift_us: i64, days: i64 },
}

/// What a conjunct says of a row's span; empty for one that is no such condition.
pub(super) fn conditions(predicate: &Expr) -> Vec<Condition> {
    match predicate {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => condition(left, *op, right).into_iter().collect(),
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) => {
            let both = [
                condition(expr, Operator::GtEq, low),
                condition(expr, Operator::LtEq, high),
            ];
            // A bound without the clock is a plain filter, so such a BETWEEN is left as it is.
            both.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn condition(left: &Expr, op: Operator, right: &Expr) -> Option<Condition> {
    if let Some(condition) = age(left, op, right).or_else(|| age(right, op.swap()?, left)) {
        return Some(condition);
    }
    let (value, op, clock) = match (clock(left), clock(right)) {
        (None, Some(clock)) => (left, op, clock),
        (Some(clock), None) => (right, op.swap()?, clock),
        _ => return None,
    };
    of_clock(value, op, clock)
}

/// `now() - ts < INTERVAL '1 hour'` and `ts - now() < ..`.
fn age(difference: &Expr, op: Operator, interval: &Expr) -> Option<Condition> {
    let (Expr::ScalarFunction(call), Expr::Literal(interval, _)) =
        (length_of(difference), length_of(interval))
    else {
        return None;
    };
    let [from, to] = call.args.as_slice() else {
        return None;
    };
    let us = duration(interval).and_then(|(least, most)| (least == most).then_some(least))?;
    if call.name() != TIMESTAMP_DIFFERENCE {
        return None;
    }
    match (clock(from), clock(to)) {
        (Some(Clock::Time(shift)), None) => of_clock(to, op.swap()?, Clock::Time(shift.checked_sub(us)?)),
        (None, Some(Clock::Time(shift))) => of_clock(from, op, Clock::Time(shift.checked_add(us)?)),
        _ => None,
    }
}

/// The interval whose length is compared.
fn length_of(expr: &Expr) -> &Expr {
    match expr {
        Expr::ScalarFunction(call) if call.name() == INTERVAL_LENGTH && call.args.len() == 1 => &call.args[0],
        other => other,
    }
}

/// `value op clock`.
fn of_clock(value: &Expr, op: Operator, clock: Clock) -> Option<Condition> {
    if reads_clock(value) {
        return None;
    }
    // When f reaches v, and when it passes v.
    let (reaches, passes) = match clock {
        Clock::Time(us) => ((Rounding::None, us.checked_neg()?), (Rounding::None, 1 - us)),
        Clock::Day { shift_us, days } => (
            (Rounding::Up, days.checked_mul(-DAY_US)?.checked_sub(shift_us)?),
            (
                Rounding::Down,
                (1 - days).checked_mul(DAY_US)?.checked_sub(shift_us)?,
            ),
        ),
    };
    let turn = |turn: Turn, (rounding, offset): (Rounding, i64)| (turn, rounding, offset);
    let turns = match op {
        Operator::Gt => vec![turn(Turn::Goes, reaches)],
        Operator::GtEq => vec![turn(Turn::Goes, passes)],
        Operator::Lt => vec![turn(Turn::Appears, passes)],
        Operator::LtEq => vec![turn(Turn::Appears, reaches)],
        Operator::Eq => vec![turn(Turn::Appears, reaches), turn(Turn::Goes, passes)],
        _ => return None,
    };
    Some(Condition {
        value: value.clone(),
        turns,
    })
}

fn reads_clock(expr: &Expr) -> bool {
    use datafusion::common::tree_node::TreeNode;
    let is_clock = |expr: &Expr| matches!(expr, Expr::ScalarFunction(call) if call.name() == PROCESSING_TIME);
    expr.exists(|expr| Ok(is_clock(expr))).unwrap_or(true)
}

fn clock(expr: &Expr) -> Option<Clock> {
    match expr {
        Expr::ScalarFunction(call) if call.name() == PROCESSING_TIME => Some(Clock::Time(0)),
        Expr::Alias(alias) => clock(&alias.expr),
        Expr::Cast(Cast { expr, field }) => match (clock(expr), field.data_type()) {
            (Some(clock), DataType::Timestamp(..)) => Some(clock),
            (Some(Clock::Time(shift_us)), DataType::Date32) => Some(Clock::Day { shift_us, days: 0 }),
            (Some(clock @ Clock::Day { .. }), DataType::Date32) => Some(clock),
            // Days are added to a date as integers.
            (None, DataType::Date32) => shifted_day(expr),
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (inner, literal, sign) = match (op, left.as_ref(), right.as_ref()) {
                (Operator::Plus, inner, Expr::Literal(literal, _))
                | (Operator::Plus, Expr::Literal(literal, _), inner) => (inner, literal, 1),
                (Operator::Minus, inner, Expr::Literal(literal, _)) => (inner, literal, -1),
                _ => return None,
            };
            // A month is no fixed time.
            let (least, most) = duration(literal)?;
            match clock(inner)? {
                Clock::Time(us) if least == most => Some(Clock::Time(us.checked_add(sign * least)?)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `CAST(day AS int) + n`.
fn shifted_day(expr: &Expr) -> Option<Clock> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return None;
    };
    let sign = match op {
        Operator::Plus => 1,
        Operator::Minus => -1,
        _ => return None,
    };
    let days = match right.as_ref() {
        Expr::Literal(ScalarValue::Int32(Some(days)), _) => i64::from(*days),
        Expr::Literal(ScalarValue::Int64(Some(days)), _) => *days,
        _ => return None,
    };
    match left.as_ref() {
        Expr::Cast(Cast { expr, .. }) => match clock(expr)? {
            Clock::Day {
                shift_us,
                days: before,
            } => Some(Clock::Day {
                shift_us,
                days: before.checked_add(sign * days)?,
            }),
            Clock::Time(_) => None,
        },
        _ => None,
    }
}

/// The time or day below casts between such types, which the comparison needed.
fn uncast<'a>(value: &'a Expr, schema: &DFSchema) -> Result<&'a Expr> {
    if let Expr::Cast(Cast { expr, field }) = value
        && matches!(field.data_type(), DataType::Timestamp(..))
        && matches!(
            expr.get_type(schema)?,
            DataType::Timestamp(TimeUnit::Microsecond, _) | DataType::Date32
        )
    {
        return uncast(expr, schema);
    }
    Ok(value)
}

impl Lowering<'_> {
    /// The operator that shows rows while all conditions hold.
    pub(super) fn show_in_time(&mut self, stream: Stream, conditions: Vec<Condition>) -> Result<Stream> {
        let logical = Arc::clone(&stream.schema);
        let mut keys = Vec::with_capacity(conditions.len());
        for condition in &conditions {
            let value = uncast(&condition.value, &logical)?;
            keys.push(match value.get_type(&logical)? {
                DataType::Timestamp(TimeUnit::Microsecond, _) | DataType::Date32 => value.clone(),
                _ => cast(value.clone(), DataType::Timestamp(TimeUnit::Microsecond, None)),
            });
        }
        let side = self.with_keys(stream, &keys)?;
        let mut bounds = Vec::new();
        for (condition, column) in conditions.iter().zip(&side.keys) {
            let turns = condition.turns.iter();
            bounds.extend(turns.map(|(turn, rounding, offset_us)| TemporalBound {
                column: *column,
                rounding: *rounding,
                offset_us: *offset_us,
                turn: *turn,
            }));
        }
        let append_only = side.stream.append_only && bounds.iter().all(|bound| bound.turn == Turn::Appears);
        let spec = TemporalSpec {
            input: Arc::clone(&side.stream.real),
            bounds,
        };
        let properties = Properties {
            append_only,
            state_bound: Some("rows that the clock has still to show or to take back".to_owned()),
            ..Properties::default()
        };
        let edge = Edge {
            from: side.stream.node,
            distribution: Distribution::Hash(side.keys),
        };
        let schema = Arc::clone(&side.stream.schema);
        let kind = NodeKind::Operator(OperatorSpec::Temporal(spec));
        let node = self.add(kind, vec![edge], Arc::clone(schema.inner()), properties);
        // The clock decides when a row comes, so no watermark of the input bounds its times any more.
        let times = vec![None; schema.fields().len()];
        let stream = Stream::of_node(node, &schema, times, append_only);
        let columns: Vec<Expr> = logical.columns().into_iter().map(Expr::Column).collect();
        self.project(stream, &columns, &logical)
    }
}
