//! Values of system tables and catalog functions: plain text, numbers and lists, on their way from and to Arrow.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, Date32Builder, Float32Builder, Float64Builder,
    Int16Builder, Int32Builder, Int64Builder, IntervalMonthDayNanoBuilder, ListBuilder, StringBuilder,
    TimestampMicrosecondBuilder, UInt32Builder, new_null_array,
};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalUnit, TimeUnit, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// A value of a system table or of a function over them.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// Every integer type, oids and times (microseconds since 1970) included.
    Int(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// Microseconds.
    Interval(i64),
    /// Of integers, oids or texts.
    List(Vec<Value>),
}

macro_rules! value_from {
    ($($source:ty => $variant:ident),*) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}

value_from!(bool => Bool, i16 => Int, i32 => Int, u32 => Int, i64 => Int, f64 => Float, &str => Text, &String => Text, String => Text);

impl From<char> for Value {
    fn from(value: char) -> Self {
        Value::Text(value.to_string())
    }
}

/// Counts of rows and bytes: saturating, as no client reads numbers beyond the range of bigint.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::from(value as u64)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl Value {
    /// The value at `row`. Types that have no variant of their own become text.
    pub fn read(array: &dyn Array, row: usize) -> Value {
        if array.is_null(row) {
            return Value::Null;
        }
        let natural = |n: u64| Value::from(n);
        match array.data_type() {
            DataType::Null => Value::Null,
            DataType::Boolean => array.as_boolean().value(row).into(),
            DataType::Int8 => i16::from(array.as_primitive::<Int8Type>().value(row)).into(),
            DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
            DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
            DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
            DataType::UInt8 => natural(array.as_primitive::<UInt8Type>().value(row).into()),
            DataType::UInt16 => natural(array.as_primitive::<UInt16Type>().value(row).into()),
            DataType::UInt32 => natural(array.as_primitive::<UInt32Type>().value(row).into()),
            DataType::UInt64 => natural(array.as_primitive::<UInt64Type>().value(row)),
            DataType::Float32 => f64::from(array.as_primitive::<Float32Type>().value(row)).into(),
            DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
            DataType::Utf8 => array.as_string::<i32>().value(row).into(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
            DataType::Utf8View => array.as_string_view().value(row).into(),
            DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                array.as_primitive::<TimestampMicrosecondType>().value(row).into()
            }
            DataType::List(_) => {
                let elements = array.as_list::<i32>().value(row);
                Value::List((0..elements.len()).map(|i| Value::read(&elements, i)).collect())
            }
            _ => match ArrayFormatter::try_new(array, &FormatOptions::default()) {
                Ok(formatter) => formatter.value(row).to_string().into(),
                Err(_) => Value::Null,
            },
        }
    }

    /// This value, or the zero of the type.
    fn or_zero(&self, data_type: &DataType) -> Value {
        match self {
            Value::Null => match data_type {
                DataType::Boolean => Value::Bool(false),
                DataType::Utf8 => Value::Text(String::new()),
                DataType::Binary => Value::Bytes(Vec::new()),
                DataType::List(_) => Value::List(Vec::new()),
                _ => Value::Int(0),
            },
            other => other.clone(),
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    pub fn float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            Value::Int(n) => Some(*n as f64),
            _ => None,
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    fn interval(&self) -> Option<IntervalMonthDayNano> {
        match self {
            Value::Interval(us) => Some(IntervalMonthDayNano::new(0, 0, us.saturating_mul(1000))),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(s) => Some(s),
            _ => None,
        }
    }
}

/// An array of the type; where it cannot hold NULL, zeros stand in its place.
pub fn array(data_type: &DataType, nullable: bool, values: &[Value]) -> ArrayRef {
    let zeroed: Vec<Value>;
    let values = if nullable {
        values
    } else {
        zeroed = values.iter().map(|v| v.or_zero(data_type)).collect();
        &zeroed
    };
    match data_type {
        DataType::List(element) => list_array(element.data_type(), values),
        _ => flat_array(data_type, values),
    }
}

/// Appends each value, converted by `$get`, to a builder.
macro_rules! build {
    ($builder:expr, $values:expr, $get:expr) => {{
        let mut builder = $builder;
        for value in $values {
            builder.append_option($get(value));
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

/// A function that reads a value as this integer type; what lies beyond its range becomes its nearest end.
macro_rules! narrow {
    ($integer:ty) => {
        |value: &Value| {
            let within = |n: i64| n.clamp(<$integer>::MIN.into(), <$integer>::MAX.into()) as $integer;
            value.int().map(within)
        }
    };
}

fn flat_array(data_type: &DataType, values: &[Value]) -> ArrayRef {
    match data_type {
        DataType::Boolean => build!(BooleanBuilder::new(), values, |v: &Value| match v {
            Value::Bool(b) => Some(*b),
            _ => None,
        }),
        DataType::Int16 => build!(Int16Builder::new(), values, narrow!(i16)),
        DataType::Int32 => build!(Int32Builder::new(), values, narrow!(i32)),
        DataType::Int64 => build!(Int64Builder::new(), values, Value::int),
        DataType::UInt32 => build!(UInt32Builder::new(), values, narrow!(u32)),
        DataType::Float32 => build!(Float32Builder::new(), values, |v: &Value| v
            .float()
            .map(|x| x as f32)),
        DataType::Float64 => build!(Float64Builder::new(), values, Value::float),
        DataType::Utf8 => build!(StringBuilder::new(), values, Value::text),
        DataType::Binary => build!(BinaryBuilder::new(), values, Value::bytes),
        DataType::Date32 => build!(Date32Builder::new(), values, narrow!(i32)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let builder = TimestampMicrosecondBuilder::new().with_timezone_opt(zone.clone());
            build!(builder, values, Value::int)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            build!(IntervalMonthDayNanoBuilder::new(), values, Value::interval)
        }
        other => new_null_array(other, values.len()),
    }
}

/// Appends each list of values to a list builder over `$builder`.
macro_rules! build_list {
    ($builder:expr, $values:expr, $get:expr) => {{
        let mut builder = ListBuilder::new($builder);
        for value in $values {
            match value {
                Value::List(elements) => {
                    for element in elements {
                        builder.values().append_option($get(element));
                    }
                    builder.append(true);
                }
                _ => builder.append(false),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

fn list_array(element: &DataType, values: &[Value]) -> ArrayRef {
    match element {
        DataType::Int16 => build_list!(Int16Builder::new(), values, narrow!(i16)),
        DataType::Int32 => build_list!(Int32Builder::new(), values, narrow!(i32)),
        DataType::Int64 => build_list!(Int64Builder::new(), values, Value::int),
        DataType::UInt32 => build_list!(UInt32Builder::new(), values, narrow!(u32)),
        DataType::Utf8 => build_list!(StringBuilder::new(), values, Value::text),
        other => new_null_array(&DataType::new_list(other.clone(), true), values.len()),
    }
}
