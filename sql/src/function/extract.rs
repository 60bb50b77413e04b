//! `EXTRACT(field FROM ..)` as numeric and `date_part(field, ..)` as double, with Postgres' fields.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array};
use arrow::datatypes::{
    DataType, Date32Type, Field, FieldRef, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType,
};
use chrono::{DateTime, Datelike};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::{Error, ErrorKind};
use crate::time_zone::TimeZone;

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;
/// The Julian day of 1970-01-01.
const JULIAN_1970: i64 = 2_440_588;

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Extract {
    /// `extract` rather than `date_part`.
    numeric: bool,
    signature: Signature,
}

/// What is taken out of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    IsoYear,
    Decade,
    Century,
    Millennium,
    Dow,
    IsoDow,
    Doy,
    Epoch,
    Julian,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

const PARTS: &[(&str, Part)] = &[
    ("microseconds", Part::Microseconds),
    ("microsecond", Part::Microseconds),
    ("us", Part::Microseconds),
    ("milliseconds", Part::Milliseconds),
    ("millisecond", Part::Milliseconds),
    ("ms", Part::Milliseconds),
    ("second", Part::Second),
    ("seconds", Part::Second),
    ("sec", Part::Second),
    ("s", Part::Second),
    ("minute", Part::Minute),
    ("minutes", Part::Minute),
    ("min", Part::Minute),
    ("hour", Part::Hour),
    ("hours", Part::Hour),
    ("h", Part::Hour),
    ("day", Part::Day),
    ("days", Part::Day),
    ("d", Part::Day),
    ("week", Part::Week),
    ("weeks", Part::Week),
    ("month", Part::Month),
    ("months", Part::Month),
    ("mon", Part::Month),
    ("quarter", Part::Quarter),
    ("year", Part::Year),
    ("years", Part::Year),
    ("y", Part::Year),
    ("isoyear", Part::IsoYear),
    ("decade", Part::Decade),
    ("decades", Part::Decade),
    ("century", Part::Century),
    ("centuries", Part::Century),
    ("millennium", Part::Millennium),
    ("millenniums", Part::Millennium),
    ("dow", Part::Dow),
    ("isodow", Part::IsoDow),
    ("doy", Part::Doy),
    ("epoch", Part::Epoch),
    ("julian", Part::Julian),
    ("timezone", Part::Timezone),
    ("timezone_hour", Part::TimezoneHour),
    ("timezone_minute", Part::TimezoneMinute),
];

impl Part {
    fn parse(name: &str) -> Option<Self> {
        let found = PARTS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
        found.map(|(_, part)| *part)
    }

    /// Digits behind the point.
    fn scale(self) -> i8 {
        match self {
            Part::Second | Part::Epoch => 6,
            Part::Milliseconds => 3,
            Part::Julian => 20,
            _ => 0,
        }
    }
}

/// A time, whole and in the parts that a calendar gives it.
struct Time {
    /// Microseconds since 1970 as the clock on the wall shows them, or of the time of day or interval.
    us: i64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Date,
    Timestamp,
    /// Seconds east of Greenwich.
    TimestampTz(i64),
    TimeOfDay,
    /// Months and days beside the microseconds.
    Interval(i64, i64),
}

impl Extract {
    pub const EXTRACT: &'static str = "extract";

    pub fn functions() -> impl Iterator<Item = Self> {
        [true, false].into_iter().map(|numeric| Self {
            numeric,
            signature: Signature::user_defined(Volatility::Stable),
        })
    }

    fn field(&self, part: Option<Part>) -> DataType {
        match self.numeric {
            true => DataType::Decimal128(38, part.map_or(6, Part::scale)),
            false => DataType::Float64,
        }
    }
}

impl ScalarUDFImpl for Extract {
    fn name(&self) -> &str {
        if self.numeric { Self::EXTRACT } else { "date_part" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.field(None))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let name = args.scalar_arguments.first().copied().flatten();
        let part = match name.and_then(|name| name.try_as_str().flatten()) {
            Some(name) => Some(Part::parse(name).ok_or_else(|| unknown(name))?),
            None => None,
        };
        Ok(Arc::new(Field::new(self.name(), self.field(part), true)))
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [_, value] = arguments else {
            return plan_err!("{} takes a field and a time", self.name());
        };
        let value = match value {
            DataType::Timestamp(_, zone) => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into()))
            }
            DataType::Date32 | DataType::Date64 => DataType::Date32,
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
            DataType::Interval(_) | DataType::Duration(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            DataType::Null => DataType::Timestamp(TimeUnit::Microsecond, None),
            other => {
                return plan_err!(
                    "No function matches the given name and argument types '{}(Utf8, {other})'.",
                    self.name()
                );
            }
        };
        Ok(vec![DataType::Utf8, value])
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = TimeZone::of_session(&args.config_options);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [names, values] = arrays.as_slice() else {
            return exec_err!("{} takes a field and a time", self.name());
        };
        let names = names.as_string::<i32>();
        let mut results = Vec::with_capacity(values.len());
        for row in 0..values.len() {
            if names.is_null(row) || values.is_null(row) {
                results.push(None);
                continue;
            }
            let name = names.value(row);
            let part = Part::parse(name).ok_or_else(|| unknown(name))?;
            let time = time_at(values, row, zone)?;
            results.push(match time.is_infinite() {
                true => time.infinite(part, self.numeric),
                false => Some(Value::Exact(time.part(part, name)?, part.scale())),
            });
        }
        let array: ArrayRef = match args.return_field.data_type() {
            DataType::Decimal128(precision, scale) => {
                let values = results
                    .into_iter()
                    .map(|value| value.map(|value| value.scaled(*scale)));
                let numbers: Decimal128Array = values.map(Option::flatten).collect();
                Arc::new(numbers.with_precision_and_scale(*precision, *scale)?)
            }
            _ => {
                let values = results.into_iter().map(|value| value.map(Value::float));
                Arc::new(values.collect::<Float64Array>())
            }
        };
        Ok(ColumnarValue::Array(array))
    }
}

enum Value {
    /// A number and how many of its digits stand behind the point.
    Exact(i128, i8),
    Infinite(f64),
}

impl Value {
    fn scaled(self, scale: i8) -> Option<i128> {
        match self {
            Value::Exact(value, from) if from <= scale => {
                value.checked_mul(10_i128.checked_pow((scale - from) as u32)?)
            }
            Value::Exact(value, from) => Some(value / 10_i128.checked_pow((from - scale) as u32)?),
            // A numeric holds no infinity.
            Value::Infinite(_) => None,
        }
    }

    fn float(self) -> f64 {
        match self {
            Value::Exact(value, scale) => value as f64 / 10_f64.powi(i32::from(scale)),
            Value::Infinite(value) => value,
        }
    }
}

fn unknown(name: &str) -> DataFusionError {
    DataFusionError::External(Box::new(Error::new(
        ErrorKind::InvalidParameterValue,
        format!("unit \"{name}\" not recognized"),
    )))
}

fn time_at(values: &ArrayRef, row: usize, zone: TimeZone) -> Result<Time> {
    Ok(match values.data_type() {
        DataType::Date32 => {
            let days = values.as_primitive::<Date32Type>().value(row);
            let us = match days {
                i32::MAX => i64::MAX,
                i32::MIN => i64::MIN,
                days => i64::from(days) * DAY_US,
            };
            Time { us, kind: Kind::Date }
        }
        DataType::Timestamp(_, zoned) => {
            let us = values.as_primitive::<TimestampMicrosecondType>().value(row);
            match zoned {
                None => Time {
                    us,
                    kind: Kind::Timestamp,
                },
                Some(_) => Time {
                    us: zone.local_us(us).unwrap_or(us),
                    kind: Kind::TimestampTz(i64::from(zone.offset_at(us))),
                },
            }
        }
        DataType::Time64(_) => Time {
            us: values.as_primitive::<Time64MicrosecondType>().value(row),
            kind: Kind::TimeOfDay,
        },
        DataType::Interval(_) => {
            let value = values.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Time {
                us: value.nanoseconds / 1000,
                kind: Kind::Interval(i64::from(value.months), i64::from(value.days)),
            }
        }
        other => return exec_err!("no field can be taken out of {other}"),
    })
}

impl Time {
    fn is_infinite(&self) -> bool {
        let has_infinity = !matches!(self.kind, Kind::TimeOfDay | Kind::Interval(..));
        has_infinity && (self.us == i64::MAX || self.us == i64::MIN)
    }

    /// Infinity has fields that grow for ever, and no others.
    fn infinite(&self, part: Part, numeric: bool) -> Option<Value> {
        let grows = matches!(
            part,
            Part::Year
                | Part::IsoYear
                | Part::Decade
                | Part::Century
                | Part::Millennium
                | Part::Epoch
                | Part::Julian
        );
        let infinity = if self.us > 0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        };
        (grows && !numeric).then_some(Value::Infinite(infinity))
    }

    /// In units of the part's last digit.
    fn part(&self, part: Part, name: &str) -> Result<i128> {
        let unsupported = || {
            DataFusionError::External(Box::new(Error::unsupported(format!(
                "unit \"{name}\" not supported for this type"
            ))))
        };
        if let Kind::Interval(months, days) = self.kind {
            return self.interval_part(part, months, days).ok_or_else(unsupported);
        }
        if self.kind == Kind::Date && is_below_a_day(part) {
            return Err(unsupported());
        }
        let of_day = self.us.rem_euclid(DAY_US);
        let clock = match part {
            Part::Microseconds | Part::Milliseconds | Part::Second => Some(of_day % (60 * SECOND_US)),
            Part::Minute => Some(of_day / (60 * SECOND_US) % 60),
            Part::Hour => Some(of_day / (3600 * SECOND_US)),
            _ => None,
        };
        if let Some(clock) = clock {
            return Ok(clock.into());
        }
        let epoch = match self.kind {
            Kind::TimestampTz(offset) => self.us - offset * SECOND_US,
            _ => self.us,
        };
        match (part, self.kind) {
            (Part::Epoch, _) => return Ok(epoch.into()),
            (_, Kind::TimeOfDay) => return Err(unsupported()),
            (Part::Timezone, Kind::TimestampTz(offset)) => return Ok(offset.into()),
            (Part::TimezoneHour, Kind::TimestampTz(offset)) => return Ok((offset / 3600).into()),
            (Part::TimezoneMinute, Kind::TimestampTz(offset)) => return Ok((offset / 60 % 60).into()),
            (Part::Timezone | Part::TimezoneHour | Part::TimezoneMinute, _) => return Err(unsupported()),
            (Part::Julian, _) => {
                let day = self.us.div_euclid(DAY_US) + JULIAN_1970;
                let fraction = i128::from(of_day) * 10_i128.pow(20) / i128::from(DAY_US);
                return Ok(i128::from(day) * 10_i128.pow(20) + fraction);
            }
            _ => {}
        }
        let Some(date) = DateTime::from_timestamp_micros(self.us).map(|time| time.date_naive()) else {
            return exec_err!("timestamp out of range");
        };
        Ok(calendar_part(part, date).into())
    }

    fn interval_part(&self, part: Part, months: i64, days: i64) -> Option<i128> {
        let (years, of_year) = (months / 12, months % 12);
        let us = i128::from(self.us);
        let second = i128::from(SECOND_US);
        Some(match part {
            Part::Microseconds | Part::Milliseconds | Part::Second => us % (60 * second),
            Part::Minute => us / (60 * second) % 60,
            Part::Hour => us / (3600 * second),
            Part::Day => days.into(),
            Part::Month => of_year.into(),
            Part::Quarter => (of_year / 3 + 1).into(),
            Part::Year => years.into(),
            Part::Decade => (years / 10).into(),
            Part::Century => (years / 100).into(),
            Part::Millennium => (years / 1000).into(),
            // A year is 365.25 days, a month 30.
            Part::Epoch => {
                let seconds = i128::from(years) * 31_557_600
                    + i128::from(of_year) * 2_592_000
                    + i128::from(days) * 86_400;
                seconds * second + us
            }
            _ => return None,
        })
    }
}

fn is_below_a_day(part: Part) -> bool {
    matches!(
        part,
        Part::Microseconds | Part::Milliseconds | Part::Second | Part::Minute | Part::Hour
    )
}

/// Parts of a date. Years before Christ have negative numbers and there is no year 0.
fn calendar_part(part: Part, date: chrono::NaiveDate) -> i64 {
    let shown = |year: i64| if year <= 0 { year - 1 } else { year };
    let year = i64::from(date.year());
    let period = |years: i64| match year > 0 {
        true => (year + years - 1) / years,
        false => -((years - 1 - (year - 1)) / years),
    };
    match part {
        Part::Day => date.day().into(),
        Part::Week => date.iso_week().week().into(),
        Part::Month => date.month().into(),
        Part::Quarter => (date.month0() / 3 + 1).into(),
        Part::Year => shown(year),
        Part::IsoYear => shown(date.iso_week().year().into()),
        Part::Decade => year.div_euclid(10),
        Part::Century => period(100),
        Part::Millennium => period(1000),
        Part::Dow => date.weekday().num_days_from_sunday().into(),
        Part::IsoDow => date.weekday().number_from_monday().into(),
        _ => date.ordinal().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_dates_and_intervals() {
        let date = |y, m, d| chrono::NaiveDate::from_ymd_opt(y, m, d).unwrap();
        assert_eq!(calendar_part(Part::Century, date(2000, 12, 31)), 20);
        assert_eq!(calendar_part(Part::Century, date(2001, 1, 1)), 21);
        assert_eq!(calendar_part(Part::Millennium, date(2001, 1, 1)), 3);
        assert_eq!(calendar_part(Part::IsoYear, date(2021, 1, 1)), 2020);
        assert_eq!(calendar_part(Part::Year, date(0, 1, 1)), -1);
        let interval = Time {
            us: 90 * 60 * SECOND_US,
            kind: Kind::Interval(14, 3),
        };
        assert_eq!(interval.part(Part::Year, "year").unwrap(), 1);
        assert_eq!(interval.part(Part::Month, "month").unwrap(), 2);
        assert_eq!(interval.part(Part::Minute, "minute").unwrap(), 30);
        assert!(interval.part(Part::Dow, "dow").is_err());
    }
}
