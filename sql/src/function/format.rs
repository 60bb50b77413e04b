//! `to_char`, `to_date`, `to_timestamp` and `to_number` with Postgres' patterns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, FieldRef, Float64Type, IntervalMonthDayNanoType,
    IntervalUnit, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use millpond_catalog::SqlType;

use super::text_cast::array_of;
use crate::error::Error;
use crate::time_zone::TimeZone;

mod moment;
mod number;
mod pattern;
mod read;

use moment::Moment;
use number::NumberPattern;
use pattern::Pattern;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Char,
    Date,
    Timestamp,
    Number,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Formatted {
    direction: Direction,
    signature: Signature,
}

impl Formatted {
    /// All four functions.
    pub fn functions() -> impl Iterator<Item = Self> {
        [
            Direction::Char,
            Direction::Date,
            Direction::Timestamp,
            Direction::Number,
        ]
        .into_iter()
        .map(|direction| Self {
            direction,
            signature: Signature::user_defined(Volatility::Stable),
        })
    }

    fn no_function(&self, arguments: &[DataType]) -> DataFusionError {
        let types: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        DataFusionError::Plan(format!(
            "No function matches the given name and argument types '{}({})'.",
            self.name(),
            types.join(", ")
        ))
    }
}

fn timestamp(zone: bool) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zone.then(|| "UTC".into()))
}

impl ScalarUDFImpl for Formatted {
    fn name(&self) -> &str {
        match self.direction {
            Direction::Char => "to_char",
            Direction::Date => "to_date",
            Direction::Timestamp => "to_timestamp",
            Direction::Number => "to_number",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.direction {
            Direction::Char => DataType::Utf8,
            Direction::Date => DataType::Date32,
            Direction::Timestamp => timestamp(true),
            Direction::Number => DataType::Decimal128(38, NUMBER_SCALE),
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(match self.direction {
            // Without a scale: as many digits are shown as there are.
            Direction::Number => SqlType::Numeric(None).field(self.name(), true),
            _ => {
                let types: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
                Field::new(self.name(), self.return_type(&types)?, true)
            }
        }))
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let text = DataType::Utf8;
        match (self.direction, arguments) {
            (Direction::Char, [value, _]) => {
                let value = match value {
                    DataType::Timestamp(_, zone) => timestamp(zone.is_some()),
                    DataType::Date32 | DataType::Date64 => DataType::Date32,
                    DataType::Interval(_) | DataType::Duration(_) | DataType::Time64(_) => {
                        DataType::Interval(IntervalUnit::MonthDayNano)
                    }
                    DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
                    DataType::Decimal128(precision, scale) => DataType::Decimal128(*precision, *scale),
                    integer if integer.is_integer() => DataType::Decimal128(20, 0),
                    DataType::Null => timestamp(true),
                    _ => return Err(self.no_function(arguments)),
                };
                Ok(vec![value, text])
            }
            (Direction::Timestamp, [seconds]) if seconds.is_numeric() || *seconds == DataType::Null => {
                Ok(vec![DataType::Float64])
            }
            (Direction::Date | Direction::Timestamp | Direction::Number, [value, _])
                if value.is_string() || *value == DataType::Null =>
            {
                Ok(vec![text.clone(), text])
            }
            _ => Err(self.no_function(arguments)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = TimeZone::of_session(&args.config_options);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let result = match (self.direction, arrays.as_slice()) {
            (Direction::Timestamp, [seconds]) => epoch(seconds)?,
            (Direction::Char, [values, patterns]) => to_char(values, patterns.as_string(), zone)?,
            (_, [texts, patterns]) => self.read(texts.as_string(), patterns.as_string(), zone)?,
            _ => return exec_err!("{} takes two arguments", self.name()),
        };
        Ok(ColumnarValue::Array(result))
    }
}

/// Digits behind the point that `to_number` keeps.
const NUMBER_SCALE: i8 = 16;

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Seconds since 1970 to an instant.
fn epoch(seconds: &ArrayRef) -> Result<ArrayRef> {
    let seconds = seconds.as_primitive::<Float64Type>();
    let instants = seconds.try_unary::<_, TimestampMicrosecondType, DataFusionError>(|seconds| {
        let us = (seconds * 1e6).round();
        if seconds == f64::INFINITY {
            Ok(i64::MAX)
        } else if seconds == f64::NEG_INFINITY {
            Ok(i64::MIN)
        } else if us.is_nan() || us.abs() >= 9.2e18 {
            Err(external(Error::new(
                crate::error::ErrorKind::DatetimeOverflow,
                format!("timestamp out of range: \"{seconds}\""),
            )))
        } else {
            Ok(us as i64)
        }
    })?;
    Ok(Arc::new(instants.with_timezone("UTC")))
}

fn to_char(values: &ArrayRef, patterns: &StringArray, zone: TimeZone) -> Result<ArrayRef> {
    let mut texts = StringBuilder::with_capacity(values.len(), values.len() * 16);
    let mut cache: Option<(String, Pattern)> = None;
    let is_number = values.data_type().is_numeric();
    for row in 0..values.len() {
        if values.is_null(row) || patterns.is_null(row) {
            texts.append_null();
            continue;
        }
        let written = patterns.value(row);
        if is_number {
            let pattern = NumberPattern::parse(written).map_err(external)?;
            texts.append_value(pattern.format(&number_text(values, row, &pattern)?));
            continue;
        }
        if cache.as_ref().is_none_or(|(text, _)| text != written) {
            cache = Some((written.to_owned(), Pattern::parse(written)));
        }
        let Some((_, pattern)) = &cache else { continue };
        match moment_of(values, row, zone)? {
            Some(moment) => texts.append_value(pattern.format(&moment)),
            // As Postgres: infinity has no text.
            None => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// `None` for infinity.
fn moment_of(values: &ArrayRef, row: usize, zone: TimeZone) -> Result<Option<Moment>> {
    Ok(match values.data_type() {
        DataType::Date32 => {
            let days = values.as_primitive::<Date32Type>().value(row);
            Moment::of_local(i64::from(days).saturating_mul(86_400_000_000))
        }
        DataType::Timestamp(_, None) => {
            Moment::of_local(values.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(_, Some(_)) => {
            Moment::of_instant(values.as_primitive::<TimestampMicrosecondType>().value(row), zone)
        }
        DataType::Interval(_) => {
            let value = values.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Some(Moment::of_interval(value))
        }
        other => return plan_err!("to_char does not take {other}"),
    })
}

/// A number in decimal digits, with as many places as the pattern shows.
fn number_text(values: &ArrayRef, row: usize, pattern: &NumberPattern) -> Result<String> {
    Ok(match values.data_type() {
        DataType::Float64 => {
            let value = values.as_primitive::<Float64Type>().value(row);
            if value.is_finite() {
                format!("{value:.*}", pattern.digits_needed())
            } else {
                value.to_string()
            }
        }
        _ => values.as_primitive::<Decimal128Type>().value_as_string(row),
    })
}

impl Formatted {
    fn read(&self, texts: &StringArray, patterns: &StringArray, zone: TimeZone) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(texts.len());
        for row in 0..texts.len() {
            if texts.is_null(row) || patterns.is_null(row) {
                values.push(self.null()?);
                continue;
            }
            let (text, pattern) = (texts.value(row), patterns.value(row));
            values.push(match self.direction {
                Direction::Number => {
                    let digits = number::read(text, pattern).map_err(external)?;
                    let array: ArrayRef = Arc::new(StringArray::from(vec![digits]));
                    let number = cast(&array, &DataType::Decimal128(38, NUMBER_SCALE))?;
                    ScalarValue::try_from_array(&number, 0)?
                }
                Direction::Date => {
                    let read = read::read(&Pattern::parse(pattern), text).map_err(external)?;
                    ScalarValue::Date32(Some(read.days().map_err(external)?))
                }
                _ => {
                    let read = read::read(&Pattern::parse(pattern), text).map_err(external)?;
                    let us = read.instant_us(zone).map_err(external)?;
                    ScalarValue::TimestampMicrosecond(Some(us), Some("UTC".into()))
                }
            });
        }
        array_of(values, &self.return_type(&[])?)
    }

    fn null(&self) -> Result<ScalarValue> {
        ScalarValue::try_from(&self.return_type(&[])?)
    }
}
