//! Functions of numbers.

use datafusion::common::ScalarValue;
use millpond_catalog::SqlType;

use super::{Overload, RowFunction, as_float, as_int, int4, text};
use crate::error::{Error, ErrorKind};

type Result = std::result::Result<ScalarValue, Error>;

const INT4: SqlType = SqlType::Int4;
const INT8: SqlType = SqlType::Int8;
const FLOAT8: SqlType = SqlType::Float8;

pub fn list() -> Vec<RowFunction> {
    let f = RowFunction::new;
    let new = Overload::new;
    vec![
        f(
            "to_hex",
            vec![
                new(&[INT4], SqlType::Text, |v| {
                    text(format!("{:x}", as_int(&v[0]) as i32))
                }),
                new(&[INT8], SqlType::Text, |v| text(format!("{:x}", as_int(&v[0])))),
            ],
        ),
        f(
            "width_bucket",
            vec![new(&[FLOAT8, FLOAT8, FLOAT8, INT4], INT4, width_bucket)],
        ),
        f(
            "gcd",
            vec![
                new(&[INT4, INT4], INT4, |v| int4(gcd(as_int(&v[0]), as_int(&v[1])))),
                new(&[INT8, INT8], INT8, |v| int8(gcd(as_int(&v[0]), as_int(&v[1])))),
            ],
        ),
        f(
            "lcm",
            vec![
                new(&[INT4, INT4], INT4, |v| int4(lcm(as_int(&v[0]), as_int(&v[1])))),
                new(&[INT8, INT8], INT8, |v| int8(lcm(as_int(&v[0]), as_int(&v[1])))),
            ],
        ),
        f(
            "sign",
            vec![
                new(&[SqlType::Numeric(None)], SqlType::Numeric(None), sign),
                new(&[FLOAT8], FLOAT8, |v| match as_float(&v[0]) {
                    // NaN is above every number, and has no sign.
                    value if value.is_nan() || value == 0.0 => Ok(ScalarValue::Float64(Some(0.0))),
                    value => Ok(ScalarValue::Float64(Some(value.signum()))),
                }),
            ],
        ),
        f(
            "min_scale",
            vec![new(&[SqlType::Numeric(None)], INT4, |v| {
                let (mut digits, mut scale) = decimal(&v[0]);
                while scale > 0 && digits % 10 == 0 {
                    (digits, scale) = (digits / 10, scale - 1);
                }
                int4(scale)
            })],
        ),
        // A value has no zeros at its end here.
        f(
            "trim_scale",
            vec![new(&[SqlType::Numeric(None)], SqlType::Numeric(None), |v| {
                Ok(v[0].clone())
            })],
        ),
        // The negation of a float: there is one NaN, and it has no sign.
        f(
            "float_negative",
            vec![
                new(&[SqlType::Float4], SqlType::Float4, |v| match v[0] {
                    ScalarValue::Float32(Some(value)) if !value.is_nan() => {
                        Ok(ScalarValue::Float32(Some(-value)))
                    }
                    _ => Ok(v[0].clone()),
                }),
                new(&[FLOAT8], FLOAT8, |v| match v[0] {
                    ScalarValue::Float64(Some(value)) if !value.is_nan() => {
                        Ok(ScalarValue::Float64(Some(-value)))
                    }
                    _ => Ok(v[0].clone()),
                }),
            ],
        ),
    ]
}

fn int8(value: i128) -> Result {
    let value =
        i64::try_from(value).map_err(|_| Error::new(ErrorKind::NumericOutOfRange, "bigint out of range"))?;
    Ok(ScalarValue::Int64(Some(value)))
}

/// The greatest common divisor, by Euclid.
fn gcd(left: i64, right: i64) -> i128 {
    let (mut left, mut right) = (i128::from(left).abs(), i128::from(right).abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

fn lcm(left: i64, right: i64) -> i128 {
    match gcd(left, right) {
        0 => 0,
        common => (i128::from(left) / common * i128::from(right)).abs(),
    }
}

/// The digits of a numeric, and how many of them stand behind the point.
fn decimal(value: &ScalarValue) -> (i128, u32) {
    match value {
        ScalarValue::Decimal128(Some(digits), _, scale) => (*digits, u32::from(scale.unsigned_abs())),
        _ => (0, 0),
    }
}

fn sign(v: &[ScalarValue]) -> Result {
    let ScalarValue::Decimal128(Some(value), precision, scale) = v[0] else {
        unreachable!("cast to a numeric");
    };
    let one = 10_i128.pow(u32::from(scale.unsigned_abs()));
    Ok(ScalarValue::Decimal128(
        Some(value.signum() * one),
        precision,
        scale,
    ))
}

/// The number of the bucket of `count` equal ones between two bounds; those in any order.
fn width_bucket(v: &[ScalarValue]) -> Result {
    let wrong = |message: &str| Err(Error::new(ErrorKind::InvalidParameterValue, message));
    let (value, low, high, count) = (as_float(&v[0]), as_float(&v[1]), as_float(&v[2]), as_int(&v[3]));
    if count <= 0 {
        return wrong("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return wrong("operand, lower bound, and upper bound cannot be NaN");
    }
    if !low.is_finite() || !high.is_finite() {
        return wrong("lower and upper bounds must be finite");
    }
    let (before, after) = if low < high {
        (value < low, value >= high)
    } else {
        (value > low, value <= high)
    };
    if low == high {
        return wrong("lower bound cannot equal upper bound");
    }
    if before {
        return int4(0);
    }
    if after {
        return int4(count + 1);
    }
    let place = (value - low) / (high - low) * count as f64;
    int4((place as i64).min(count - 1) + 1)
}
