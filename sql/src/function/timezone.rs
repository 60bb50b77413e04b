//! `time AT TIME ZONE zone`, which is `timezone(zone, time)`: the local time of an instant, or the instant of a local time.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{
    DataType, IntervalMonthDayNanoType, IntervalUnit, TimeUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::error::{Error, ErrorKind};
use crate::time_zone::TimeZone;

/// Takes a zone (a name or an interval to the east) and a time. A `timestamptz` becomes the `timestamp` that clocks in
/// the zone show; a `timestamp` is taken for what they show and becomes a `timestamptz`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct AtTimeZone {
    signature: Signature,
}

impl AtTimeZone {
    pub const NAME: &'static str = "timezone";
}

impl Default for AtTimeZone {
    fn default() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

fn refuse<T>(error: Error) -> Result<T> {
    Err(DataFusionError::External(Box::new(error)))
}

fn instant_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn local_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let undefined = |what: &str| {
            refuse(Error::new(ErrorKind::UndefinedFunction, what).with_hint("timezone(zone, timestamp)"))
        };
        let [zone, time] = arguments else {
            return undefined("timezone takes a zone and a time");
        };
        let zone = match zone {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => DataType::Utf8,
            DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            _ => return undefined("a time zone is a text or an interval"),
        };
        let time = match time {
            DataType::Timestamp(_, None) => local_type(),
            DataType::Timestamp(_, Some(_)) | DataType::Date32 | DataType::Null | DataType::Utf8 => {
                instant_type()
            }
            DataType::LargeUtf8 | DataType::Utf8View => instant_type(),
            _ => return undefined("only a timestamp has a time zone"),
        };
        Ok(vec![zone, time])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match &arguments[1] {
            DataType::Timestamp(_, None) => instant_type(),
            _ => local_type(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let to_local = matches!(args.return_type(), DataType::Timestamp(_, None));
        let data_type = args.return_type().clone();
        let zones = Zones::of(&args.args[0])?;
        let times = args.args[1].to_array(args.number_rows)?;
        let times = times.as_primitive::<TimestampMicrosecondType>();
        let mut moved = Vec::with_capacity(times.len());
        for row in 0..times.len() {
            let zone = zones.at(row)?;
            moved.push(match zone.filter(|_| times.is_valid(row)) {
                None => None,
                Some(zone) => {
                    let time = times.value(row);
                    let time = if to_local {
                        zone.local_us(time)
                    } else {
                        zone.instant_us(time)
                    };
                    match time {
                        None => {
                            return refuse(Error::new(ErrorKind::DatetimeOverflow, "timestamp out of range"));
                        }
                        time => time,
                    }
                }
            });
        }
        let moved = TimestampMicrosecondArray::from(moved).with_data_type(data_type);
        Ok(ColumnarValue::Array(Arc::new(moved)))
    }
}

/// The zone of each row.
enum Zones {
    /// The same for all; `None` is NULL.
    One(Option<TimeZone>),
    Names(StringArray),
    /// Microseconds to the east.
    Offsets(Int64Array),
}

impl Zones {
    fn of(argument: &ColumnarValue) -> Result<Self> {
        let array = match argument {
            ColumnarValue::Array(array) => Arc::clone(array),
            ColumnarValue::Scalar(scalar) => scalar.to_array()?,
        };
        let zones = match array.as_string_opt::<i32>() {
            Some(names) => Self::Names(names.clone()),
            None => {
                let intervals = array.as_primitive::<IntervalMonthDayNanoType>();
                let mut offsets = Vec::with_capacity(intervals.len());
                for interval in intervals {
                    offsets.push(match interval {
                        Some(interval) if interval.months != 0 || interval.days != 0 => {
                            return refuse(Error::new(
                                ErrorKind::InvalidParameterValue,
                                "an interval that is a time zone must not have months or days",
                            ));
                        }
                        other => other.map(|interval| interval.nanoseconds / 1000),
                    });
                }
                Self::Offsets(Int64Array::from(offsets))
            }
        };
        match argument {
            ColumnarValue::Array(_) => Ok(zones),
            ColumnarValue::Scalar(_) => Ok(Self::One(zones.at(0)?)),
        }
    }

    fn at(&self, row: usize) -> Result<Option<TimeZone>> {
        match self {
            Self::One(zone) => Ok(*zone),
            Self::Names(names) if names.is_valid(row) => {
                let name = names.value(row);
                match TimeZone::parse_posix(name) {
                    Some(zone) => Ok(Some(zone)),
                    None => refuse(Error::new(
                        ErrorKind::InvalidParameterValue,
                        format!("time zone \"{name}\" not recognized"),
                    )),
                }
            }
            Self::Offsets(offsets) if offsets.is_valid(row) => {
                let seconds = i32::try_from(offsets.value(row) / 1_000_000).ok();
                match seconds.filter(|seconds| seconds.abs() < 86_400) {
                    Some(seconds) => Ok(Some(TimeZone::Fixed(seconds))),
                    None => refuse(Error::new(
                        ErrorKind::InvalidParameterValue,
                        "a time zone is less than a day from UTC",
                    )),
                }
            }
            _ => Ok(None),
        }
    }
}
