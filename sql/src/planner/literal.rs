//! Literals as Postgres reads them.
//!
//! A quoted literal has no type of its own: it takes that of its place. So a string literal compared with a typed
//! expression is cast to that type here, before the library would compare texts; and a cast of a literal is carried out
//! while planning, by Postgres' rules for text (`infinity`, zones, blanks around numbers), where a wrong text is an error
//! of the statement and not of a row.

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{Between, Case, InList, ScalarFunction};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, Operator};
use millpond_catalog::{SqlType, SystemType};

use crate::error::{Error, ErrorKind, Result};
use crate::function::{FloatCast, FromText, RowFunction, ToText, row};
use crate::text_form;

use super::typed::{change_expressions, visit_expressions};

mod array;
mod datetime;
pub mod interval;

/// Types string literals by their places and carries out casts of literals, everywhere in `plan`.
///
/// # Errors
/// A text that is no value of its type.
pub fn fold(plan: LogicalPlan, time_zone: &str) -> DataFusionResult<LogicalPlan> {
    change_expressions(plan, |expr, schema| {
        fold_expr(type_literals(expr, schema), time_zone)
    })
}

/// Carries out casts of literals in one expression.
pub fn fold_constant(expr: Expr, time_zone: &str) -> DataFusionResult<Expr> {
    expr.transform_up(|expr| fold_expr(expr, time_zone))
        .map(|transformed| transformed.data)
}

/// True for types that a string literal is not one of already.
fn takes_literal(data_type: &DataType) -> bool {
    !matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Null
            | DataType::LargeList(_)
            | DataType::FixedSizeList(_, _)
            | DataType::Struct(_)
            | DataType::Map(_, _)
            | DataType::Dictionary(_, _)
    )
}

pub fn is_string_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _))
}

/// The type that a string literal takes beside `expr`, if any.
pub fn type_beside(expr: &Expr, schema: &DFSchema) -> Option<FieldRef> {
    let (_, field) = expr.to_field(schema).ok()?;
    (takes_literal(field.data_type()) || SqlType::of(&field) == SqlType::Uuid).then_some(field)
}

/// A cast to the type of a field, which [`fold`] will carry out.
pub fn cast_literal_to(expr: Expr, field: &FieldRef) -> Expr {
    match SqlType::of(field) {
        uuid @ SqlType::Uuid => Expr::Cast(Cast {
            expr: Box::new(expr),
            field: std::sync::Arc::new(uuid.field("", true)),
        }),
        _ => cast_literal(expr, field.data_type()),
    }
}

/// A cast, which [`fold`] will carry out.
pub fn cast_literal(expr: Expr, data_type: &DataType) -> Expr {
    let microseconds = match data_type {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        other => other.clone(),
    };
    Expr::Cast(Cast::new(Box::new(expr), microseconds))
}

/// String literals in BETWEEN and IN take the type of the expression on the left; a cast to an integer rounds.
fn type_literals(expr: Expr, schema: &DFSchema) -> Expr {
    let target = |expr: &Expr| type_beside(expr, schema);
    if let Expr::Cast(cast) = &expr
        && cast.field.data_type().is_signed_integer()
        && !is_round(&cast.expr)
        && let Ok(from) = cast.expr.get_type(schema)
        && (from.is_floating() || from.is_decimal())
    {
        // The library cuts the fraction off. Postgres takes the even neighbour of a float, and of a numeric the one
        // further from zero.
        let value = cast.expr.as_ref().clone();
        let rounded = match from {
            DataType::Float32 | DataType::Float64 => FloatCast::half_even(value),
            _ => datafusion::functions::math::expr_fn::round(vec![value]),
        };
        return Expr::Cast(Cast {
            expr: Box::new(rounded),
            field: cast.field.clone(),
        });
    }
    if let Some(replaced) = replacement(&expr, schema) {
        return replaced;
    }
    if let Expr::ScalarFunction(function) = &expr
        && function.func.name() == "round"
        && let [value] = function.args.as_slice()
        && is_float(value, schema)
    {
        return FloatCast::half_even(value.clone());
    }
    let cast = |expr: Expr, target: &FieldRef| {
        if is_string_literal(&expr) {
            cast_literal_to(expr, target)
        } else {
            expr
        }
    };
    match expr {
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => match target(&expr) {
            Some(target) => Expr::Between(Between {
                low: Box::new(cast(*low, &target)),
                high: Box::new(cast(*high, &target)),
                expr,
                negated,
            }),
            None => Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            }),
        },
        Expr::InList(InList { expr, list, negated }) => match target(&expr) {
            Some(target) => Expr::InList(InList {
                list: list.into_iter().map(|e| cast(e, &target)).collect(),
                expr,
                negated,
            }),
            None => Expr::InList(InList { expr, list, negated }),
        },
        other => other,
    }
}

/// What stands in place of an expression that means something else in the library.
fn replacement(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    if let Expr::Cast(cast) = expr {
        return other_cast(cast, schema);
    }
    if let Expr::ScalarFunction(function) = expr
        && ["concat", "concat_ws"].contains(&function.func.name())
    {
        return Some(with_texts(function.clone(), schema));
    }
    if let Expr::ScalarFunction(function) = expr
        && function.func.name() == "date_trunc"
        && let [unit @ Expr::Literal(ScalarValue::Utf8(Some(text)), _), value] = function.args.as_slice()
        && [
            "week",
            "month",
            "quarter",
            "year",
            "decade",
            "century",
            "millennium",
        ]
        .contains(&text.trim().to_ascii_lowercase().as_str())
        && matches!(value.get_type(schema), Ok(DataType::Timestamp(_, None)))
    {
        return Some(RowFunction::call(
            row::time::TRUNCATE,
            vec![unit.clone(), value.clone()],
        ));
    }
    if let Expr::Negative(value) = expr
        && !matches!(**value, Expr::Literal(..))
        && is_float(value, schema)
    {
        return Some(RowFunction::call("float_negative", vec![value.as_ref().clone()]));
    }
    None
}

/// What stands in place of a cast that the library lacks or carries out in another way. Literals are read while planning.
fn other_cast(cast: &Cast, schema: &DFSchema) -> Option<Expr> {
    let value = || cast.expr.as_ref().clone();
    let (_, from) = cast.expr.to_field(schema).ok()?;
    let (from_type, target) = (from.data_type(), cast.field.data_type());
    match (from_type, target) {
        (DataType::Time64(_), DataType::Interval(_)) => {
            return Some(RowFunction::call(row::time::OF_TIME, vec![value()]));
        }
        (DataType::Interval(_), DataType::Time64(_)) => {
            return Some(RowFunction::call(row::time::TO_TIME, vec![value()]));
        }
        _ if matches!(*cast.expr, Expr::Literal(..)) => return None,
        _ => {}
    }
    let (from_sql, sql_type) = (SqlType::of(&from), SqlType::of(&cast.field));
    if from_type == target && from_sql == sql_type {
        // The library would keep it, and may take its result for nullable later only.
        return Some(value());
    }
    if *target == DataType::Utf8 && !from_type.is_string() {
        return text_form::is_known(from_type).then(|| ToText::of(value()));
    }
    let is_text = from_type.is_string() && !matches!(from_sql, SqlType::System(_)) && from_sql != sql_type;
    // The library reads numbers.
    let read = matches!(
        sql_type,
        SqlType::Bool
            | SqlType::Bytea
            | SqlType::Date
            | SqlType::Time
            | SqlType::Timestamp
            | SqlType::TimestampTz
            | SqlType::Interval
            | SqlType::Uuid
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Array(_)
    );
    let stored = sql_type.arrow() == *target;
    (is_text && read && stored).then(|| FromText::of(value(), &cast.field))
}

/// `concat` takes values of any type: a boolean is one letter there.
fn with_texts(mut function: ScalarFunction, schema: &DFSchema) -> Expr {
    for argument in &mut function.args {
        let value = std::mem::replace(argument, Expr::Literal(ScalarValue::Null, None));
        *argument = match value.get_type(schema) {
            Ok(DataType::Boolean) => {
                let text = |text: &str| Expr::Literal(ScalarValue::Utf8(Some(text.to_owned())), None);
                let null = Expr::Literal(ScalarValue::Utf8(None), None);
                let branches = vec![
                    (Box::new(value.clone()), Box::new(text("t"))),
                    (Box::new(Expr::Not(Box::new(value))), Box::new(text("f"))),
                ];
                Expr::Case(Case::new(None, branches, Some(Box::new(null))))
            }
            Ok(other) if !other.is_string() && !other.is_null() && text_form::is_known(&other) => {
                ToText::of(value)
            }
            _ => value,
        };
    }
    Expr::ScalarFunction(function)
}

fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Float32 | DataType::Float64))
}

fn is_round(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(function) if ["round", FloatCast::HALF_EVEN].contains(&function.func.name()))
}

fn fold_expr(expr: Expr, time_zone: &str) -> DataFusionResult<Transformed<Expr>> {
    let expr = match expr {
        // BETWEEN and IN were given casts just now; their children were visited before.
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => Expr::Between(Between {
            expr,
            negated,
            low: Box::new(fold_cast(*low, time_zone)?),
            high: Box::new(fold_cast(*high, time_zone)?),
        }),
        Expr::InList(InList { expr, list, negated }) => Expr::InList(InList {
            expr,
            negated,
            list: list
                .into_iter()
                .map(|e| fold_cast(e, time_zone))
                .collect::<DataFusionResult<_>>()?,
        }),
        Expr::Literal(ScalarValue::UInt64(Some(value)), metadata) => {
            Expr::Literal(ScalarValue::Decimal128(Some(i128::from(value)), 20, 0), metadata)
        }
        other => {
            check_overflow(&other).map_err(|error| DataFusionError::External(Box::new(error)))?;
            fold_cast(other, time_zone)?
        }
    };
    Ok(Transformed::yes(expr))
}

/// Fails where an operator between integer constants overflows: the library would wrap around when it computes them.
pub fn check_overflows(plan: &LogicalPlan) -> DataFusionResult<()> {
    visit_expressions(plan, |expr, _| {
        check_overflow(expr).map_err(|error| DataFusionError::External(Box::new(error)))
    })
}

/// Integers fail instead of wrapping around, which they do where the library computes constants.
fn check_overflow(expr: &Expr) -> Result<()> {
    let (sql_type, fits) = match constant(expr) {
        Some((value, DataType::Int16)) => (SqlType::Int2, i16::try_from(value).is_ok()),
        Some((value, DataType::Int32)) => (SqlType::Int4, i32::try_from(value).is_ok()),
        Some((value, DataType::Int64)) => (SqlType::Int8, i64::try_from(value).is_ok()),
        Some(_) | None => return Ok(()),
    };
    if fits {
        Ok(())
    } else {
        Err(out_of_range(&sql_type))
    }
}

/// The value of an operator between integer literals of one type, and that type.
fn constant(expr: &Expr) -> Option<(i128, DataType)> {
    match expr {
        Expr::Literal(ScalarValue::Int16(Some(value)), _) => Some((i128::from(*value), DataType::Int16)),
        Expr::Literal(ScalarValue::Int32(Some(value)), _) => Some((i128::from(*value), DataType::Int32)),
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => Some((i128::from(*value), DataType::Int64)),
        Expr::Cast(cast) if cast.field.data_type().is_signed_integer() => {
            constant(&cast.expr).map(|(value, _)| (value, cast.field.data_type().clone()))
        }
        Expr::Negative(inner) => constant(inner).map(|(value, data_type)| (-value, data_type)),
        Expr::BinaryExpr(binary) => {
            let ((left, data_type), (right, other)) = (constant(&binary.left)?, constant(&binary.right)?);
            let value = match binary.op {
                Operator::Plus => left.checked_add(right)?,
                Operator::Minus => left.checked_sub(right)?,
                Operator::Multiply => left.checked_mul(right)?,
                _ => return None,
            };
            (data_type == other).then_some((value, data_type))
        }
        _ => None,
    }
}

fn fold_cast(expr: Expr, time_zone: &str) -> DataFusionResult<Expr> {
    let Expr::Cast(Cast { expr: inner, field }) = expr else {
        return Ok(expr);
    };
    match *inner {
        Expr::Literal(value, _) if !value.is_null() => {
            let folded = cast_scalar(&value, &field, time_zone);
            match folded.map_err(|error| DataFusionError::External(Box::new(error)))? {
                Some(folded) => Ok(Expr::Literal(folded, metadata(&field))),
                None => Ok(Expr::Cast(Cast {
                    expr: Box::new(Expr::Literal(value, None)),
                    field,
                })),
            }
        }
        inner => Ok(Expr::Cast(Cast {
            expr: Box::new(inner),
            field,
        })),
    }
}

/// The SQL type, where the Arrow type does not tell it.
fn metadata(field: &FieldRef) -> Option<FieldMetadata> {
    let plain = Field::new("", field.data_type().clone(), true);
    (SqlType::of(field) != SqlType::of(&plain)).then(|| FieldMetadata::from(field.as_ref()))
}

/// A literal as a value of another type; `None` where only running can tell.
///
/// # Errors
/// A text that is no value of the type.
pub fn cast_scalar(value: &ScalarValue, field: &Field, time_zone: &str) -> Result<Option<ScalarValue>> {
    let sql_type = SqlType::of(field);
    if let ScalarValue::Utf8(Some(text))
    | ScalarValue::LargeUtf8(Some(text))
    | ScalarValue::Utf8View(Some(text)) = value
    {
        return cast_text(text, &sql_type, field.data_type(), time_zone);
    }
    if *field.data_type() == DataType::Utf8
        && let Some(text) = ToText::of_scalar(value, time_zone)
    {
        return Ok(Some(ScalarValue::Utf8(Some(text))));
    }
    if field.data_type().is_floating()
        && let Some(text) = decimal_text(value)
    {
        // The digits decide: the library would multiply and divide, and be off by a little.
        return cast_text(&text, &sql_type, field.data_type(), time_zone);
    }
    match value.cast_to(field.data_type()) {
        Ok(cast) if cast.is_null() => Err(out_of_range(&sql_type)),
        Ok(cast) => Ok(Some(cast)),
        Err(_) if value.data_type().is_numeric() && field.data_type().is_numeric() => {
            Err(out_of_range(&sql_type))
        }
        Err(_) => Ok(None),
    }
}

fn decimal_text(value: &ScalarValue) -> Option<String> {
    match value {
        ScalarValue::Decimal128(Some(value), _, scale) => Some(format!("{value}e{}", -i32::from(*scale))),
        ScalarValue::Decimal256(Some(value), _, scale) => Some(format!("{value}e{}", -i32::from(*scale))),
        _ => None,
    }
}

/// A text as a value of a type, as a literal in its place would be read: what a client sends for a parameter.
///
/// # Errors
/// A text that is no value of the type; a type that has no text form here.
pub fn read_text(text: &str, sql_type: &SqlType, time_zone: &str) -> Result<ScalarValue> {
    cast_text(text, sql_type, &sql_type.arrow(), time_zone)?
        .ok_or_else(|| Error::unsupported(format!("text cannot be read as {sql_type}")))
}

fn out_of_range(sql_type: &SqlType) -> Error {
    match sql_type {
        SqlType::Numeric(Some((precision, scale))) => {
            Error::new(ErrorKind::NumericOutOfRange, "numeric field overflow").with_detail(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than 10^{}.",
                i16::from(*precision) - i16::from(*scale)
            ))
        }
        other => Error::new(ErrorKind::NumericOutOfRange, format!("{other} out of range")),
    }
}

fn invalid_text(sql_type: &SqlType, text: &str) -> Error {
    let name = match sql_type {
        SqlType::Numeric(_) => "numeric".to_owned(),
        other => other.to_string(),
    };
    Error::new(
        ErrorKind::InvalidTextRepresentation,
        format!("invalid input syntax for type {name}: \"{text}\""),
    )
}

fn cast_text(
    text: &str,
    sql_type: &SqlType,
    data_type: &DataType,
    time_zone: &str,
) -> Result<Option<ScalarValue>> {
    let trimmed = text.trim();
    let value = match sql_type {
        SqlType::Timestamp => ScalarValue::TimestampMicrosecond(Some(datetime::timestamp(text)?), None),
        SqlType::TimestampTz => {
            let us = datetime::timestamp_tz(text, time_zone)?;
            ScalarValue::TimestampMicrosecond(Some(us), Some("UTC".into()))
        }
        SqlType::Date => ScalarValue::Date32(Some(datetime::date(text)?)),
        SqlType::Time => ScalarValue::Time64Microsecond(Some(datetime::time(text)?)),
        SqlType::Interval => ScalarValue::IntervalMonthDayNano(Some(datetime::interval(text)?)),
        SqlType::Bool => match crate::settings::boolean(trimmed) {
            Some(value) => ScalarValue::Boolean(Some(value)),
            None => return Err(invalid_text(sql_type, text)),
        },
        SqlType::Uuid => ScalarValue::Utf8(Some(uuid(text)?)),
        SqlType::Bytea => ScalarValue::Binary(Some(bytea(text).ok_or_else(|| invalid_text(sql_type, text))?)),
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            let number: i128 = trimmed.parse().map_err(|_| invalid_text(sql_type, text))?;
            let overflow = || {
                Error::new(
                    ErrorKind::NumericOutOfRange,
                    format!("value \"{trimmed}\" is out of range for type {sql_type}"),
                )
            };
            match sql_type {
                SqlType::Int2 => ScalarValue::Int16(Some(i16::try_from(number).map_err(|_| overflow())?)),
                SqlType::Int4 => ScalarValue::Int32(Some(i32::try_from(number).map_err(|_| overflow())?)),
                _ => ScalarValue::Int64(Some(i64::try_from(number).map_err(|_| overflow())?)),
            }
        }
        SqlType::Float4 | SqlType::Float8 => {
            let number: f64 = trimmed.parse().map_err(|_| invalid_text(sql_type, text))?;
            if *sql_type == SqlType::Float4 {
                ScalarValue::Float32(Some(trimmed.parse().map_err(|_| invalid_text(sql_type, text))?))
            } else {
                ScalarValue::Float64(Some(number))
            }
        }
        SqlType::Numeric(_) => {
            if trimmed.parse::<f64>().is_err() || trimmed.to_ascii_lowercase().contains(['n', 'i']) {
                return Err(invalid_text(sql_type, text));
            }
            match ScalarValue::Utf8(Some(trimmed.to_owned())).cast_to(data_type) {
                Ok(value) if !value.is_null() => value,
                _ => return Err(out_of_range(sql_type)),
            }
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Json | SqlType::Jsonb => {
            if matches!(sql_type, SqlType::Json | SqlType::Jsonb) {
                check_json(text, sql_type)?;
            }
            match ScalarValue::Utf8(Some(text.to_owned())).cast_to(data_type) {
                Ok(value) => value,
                Err(_) => return Ok(None),
            }
        }
        SqlType::System(system) if system.is_identifier() => {
            ScalarValue::UInt32(Some(trimmed.parse().map_err(|_| invalid_text(sql_type, text))?))
        }
        SqlType::System(system) if system.arrow() == DataType::Utf8 => {
            ScalarValue::Utf8(Some(text.to_owned()))
        }
        SqlType::Array(element) => array::cast_array(text, element, time_zone)?,
        SqlType::System(vector @ (SystemType::Int2Vector | SystemType::OidVector)) => {
            array::cast_vector(text, *vector, time_zone)?
        }
        SqlType::Struct(_) | SqlType::System(_) => return Ok(None),
    };
    // The library may ask for another unit than ours.
    if value.data_type() == *data_type {
        Ok(Some(value))
    } else {
        Ok(value.cast_to(data_type).ok())
    }
}

/// # Errors
/// A text that is no JSON.
pub fn check_json(text: &str, sql_type: &SqlType) -> Result<()> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(
            ErrorKind::InvalidTextRepresentation,
            format!("invalid input syntax for type {sql_type}"),
        )
        .with_detail(error.to_string())),
    }
}

/// The canonical text of a uuid.
///
/// # Errors
/// A text that is none.
pub fn uuid(text: &str) -> Result<String> {
    canonical_uuid(text.trim()).ok_or_else(|| invalid_text(&SqlType::Uuid, text))
}

/// Lower case with dashes, from any form that Postgres reads.
fn canonical_uuid(text: &str) -> Option<String> {
    let text = text
        .strip_prefix('{')
        .map_or(Some(text), |t| t.strip_suffix('}'))?;
    let digits: String = text
        .chars()
        .filter(|c| *c != '-')
        .collect::<String>()
        .to_ascii_lowercase();
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let parts = [
        &digits[0..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..32],
    ];
    Some(parts.join("-"))
}

/// `\x` and hexadecimal digits, or the escape format.
fn bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        return digits
            .chunks(2)
            .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
            .collect();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => {
                bytes.push(b'\\');
                rest = tail;
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            (b'\\', _) => return None,
            (other, tail) => {
                bytes.push(*other);
                rest = tail;
            }
        }
    }
    Some(bytes)
}
