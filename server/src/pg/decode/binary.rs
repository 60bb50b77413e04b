//! Values in the binary form.

use bytes::Buf;
use datafusion::scalar::ScalarValue;
use millpond_catalog::{SqlType, SystemType};

use super::{list, unsupported};
use crate::error::{Error, Result, ValueError};
use crate::pg::encode::datetime::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_US};
use crate::pg::encode::numeric;

/// More dimensions than Postgres allows.
const DIMENSIONS_MAX: usize = 6;
const NUMERIC_PRECISION: u8 = 38;

/// The caller puts in the parameter's number.
fn bad() -> Error {
    ValueError::Binary(0).into()
}

pub fn read(bytes: &[u8], sql_type: &SqlType) -> Result<ScalarValue> {
    Ok(match sql_type {
        SqlType::Bool => match bytes {
            [value] => ScalarValue::Boolean(Some(*value != 0)),
            _ => return Err(bad()),
        },
        SqlType::Int2 => ScalarValue::Int16(Some(i16::from_be_bytes(exactly(bytes)?))),
        SqlType::Int4 => ScalarValue::Int32(Some(i32::from_be_bytes(exactly(bytes)?))),
        SqlType::Int8 => ScalarValue::Int64(Some(i64::from_be_bytes(exactly(bytes)?))),
        SqlType::Float4 => ScalarValue::Float32(Some(f32::from_be_bytes(exactly(bytes)?))),
        SqlType::Float8 => ScalarValue::Float64(Some(f64::from_be_bytes(exactly(bytes)?))),
        SqlType::Numeric(parameters) => numeric(bytes, *parameters)?,
        SqlType::Text | SqlType::Varchar(_) => ScalarValue::Utf8(Some(utf8(bytes)?.to_owned())),
        SqlType::Json => super::text::json(utf8(bytes)?, sql_type)?,
        SqlType::Jsonb => match bytes {
            [1, text @ ..] => super::text::json(utf8(text)?, sql_type)?,
            _ => return Err(bad()),
        },
        SqlType::Bytea => ScalarValue::Binary(Some(bytes.to_vec())),
        SqlType::Date => ScalarValue::Date32(Some(match i32::from_be_bytes(exactly(bytes)?) {
            infinity @ (i32::MAX | i32::MIN) => infinity,
            days => days.checked_add(POSTGRES_EPOCH_DAYS).ok_or_else(bad)?,
        })),
        SqlType::Time => {
            let us = i64::from_be_bytes(exactly(bytes)?);
            if !(0..=crate::pg::encode::datetime::DAY_US).contains(&us) {
                return Err(bad());
            }
            ScalarValue::Time64Microsecond(Some(us))
        }
        SqlType::Timestamp => ScalarValue::TimestampMicrosecond(Some(timestamp(bytes)?), None),
        SqlType::TimestampTz => {
            ScalarValue::TimestampMicrosecond(Some(timestamp(bytes)?), Some("UTC".into()))
        }
        SqlType::Interval => {
            let mut bytes: &[u8] = &exactly::<16>(bytes)?;
            let (us, days, months) = (bytes.get_i64(), bytes.get_i32(), bytes.get_i32());
            let nanos = us.checked_mul(1000).ok_or_else(bad)?;
            ScalarValue::new_interval_mdn(months, days, nanos)
        }
        SqlType::Uuid => {
            let uuid = uuid::Uuid::from_bytes(exactly(bytes)?);
            ScalarValue::Utf8(Some(uuid.hyphenated().to_string()))
        }
        SqlType::Array(element) => array(bytes, element)?,
        SqlType::System(system) => match system {
            SystemType::Int2Vector => array(bytes, &SqlType::Int2)?,
            SystemType::OidVector => array(bytes, &SqlType::System(SystemType::Oid))?,
            system if system.is_identifier() => {
                ScalarValue::UInt32(Some(u32::from_be_bytes(exactly(bytes)?)))
            }
            _ => ScalarValue::Utf8(Some(utf8(bytes)?.to_owned())),
        },
        SqlType::Struct(_) => return Err(unsupported(sql_type)),
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| bad())
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|_| ValueError::NotUtf8)?;
    if text.contains('\0') {
        Err(ValueError::NotUtf8.into())
    } else {
        Ok(text)
    }
}

fn timestamp(bytes: &[u8]) -> Result<i64> {
    match i64::from_be_bytes(exactly(bytes)?) {
        infinity @ (i64::MAX | i64::MIN) => Ok(infinity),
        us => us.checked_add(POSTGRES_EPOCH_US).ok_or_else(bad),
    }
}

fn numeric(bytes: &[u8], parameters: Option<(u8, i8)>) -> Result<ScalarValue> {
    // Without a declared scale the value keeps its own, which is the last of the four header fields.
    let own_scale = bytes.get(6..8).map(|s| u16::from_be_bytes([s[0], s[1]]));
    let (precision, scale) = match parameters {
        Some(parameters) => parameters,
        None => {
            let scale = own_scale
                .and_then(|s| i8::try_from(s).ok())
                .filter(|s| *s <= NUMERIC_PRECISION as i8);
            (NUMERIC_PRECISION, scale.unwrap_or(SqlType::NUMERIC_SCALE))
        }
    };
    let value = numeric::read_binary(bytes, scale).ok_or_else(bad)?;
    checked_decimal(value, precision, scale)
}

/// A decimal that has no more digits than its precision.
fn checked_decimal(value: i128, precision: u8, scale: i8) -> Result<ScalarValue> {
    let limit = 10u128.checked_pow(u32::from(precision));
    if limit.is_none_or(|limit| value.unsigned_abs() >= limit) {
        let sql_type = SqlType::Numeric(Some((precision, scale))).to_string();
        return Err(ValueError::OutOfRange {
            sql_type,
            text: value.to_string(),
        }
        .into());
    }
    Ok(ScalarValue::Decimal128(Some(value), precision, scale))
}

fn array(mut bytes: &[u8], element: &SqlType) -> Result<ScalarValue> {
    if bytes.len() < 12 {
        return Err(bad());
    }
    let (dimensions, _has_nulls, oid) = (bytes.get_i32(), bytes.get_i32(), bytes.get_u32());
    let dimensions = usize::try_from(dimensions)
        .ok()
        .filter(|d| *d <= DIMENSIONS_MAX)
        .ok_or_else(bad)?;
    let element = &super::element_type(element);
    // The client may send a type that is read alike: text for varchar.
    let element = match SqlType::from_oid(oid) {
        Some(sent) if super::element_type(&sent).arrow() == element.arrow() => element,
        _ => return Err(bad()),
    };
    if dimensions == 0 {
        return if bytes.is_empty() {
            list(element, Vec::new())
        } else {
            Err(bad())
        };
    }
    if dimensions > 1 {
        return Err(unsupported(&SqlType::Array(Box::new(SqlType::Array(Box::new(
            element.clone(),
        ))))));
    }
    if bytes.len() < 8 {
        return Err(bad());
    }
    let (length, _lower_bound) = (bytes.get_i32(), bytes.get_i32());
    // Each element takes at least its four bytes of length.
    let length = usize::try_from(length)
        .ok()
        .filter(|n| *n <= bytes.len() / 4)
        .ok_or_else(bad)?;
    let mut values = Vec::with_capacity(length);
    for _ in 0..length {
        if bytes.len() < 4 {
            return Err(bad());
        }
        values.push(match bytes.get_i32() {
            -1 => super::null(element)?,
            size => {
                let size = usize::try_from(size)
                    .ok()
                    .filter(|n| *n <= bytes.len())
                    .ok_or_else(bad)?;
                let (value, rest) = bytes.split_at(size);
                bytes = rest;
                read(value, element)?
            }
        });
    }
    if bytes.is_empty() {
        list(element, values)
    } else {
        Err(bad())
    }
}
