//! The text of a value, as Postgres prints it: what clients are sent, and what a cast to `text` gives.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use bytes::{BufMut, BytesMut};
use millpond_catalog::SqlType;

use crate::float_text::{write_f32, write_f64};
use crate::time_zone::TimeZone;

pub mod array;
pub mod datetime;
pub mod interval;
pub mod numeric;

/// Whether a value of the Arrow type has a text form here. Records and the types of system tables have one only on the wire.
pub fn is_known(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Interval(_) => true,
        DataType::List(element) => is_known(element.data_type()),
        _ => false,
    }
}

/// Writes the value in a row that is not NULL; the array is of a type that [`is_known`], in microseconds.
pub fn write(values: &ArrayRef, row: usize, zone: TimeZone, out: &mut BytesMut) {
    match values.data_type() {
        DataType::Boolean => out.put_slice(if values.as_boolean().value(row) {
            b"true"
        } else {
            b"false"
        }),
        DataType::Int16 => write_integer(i64::from(values.as_primitive::<Int16Type>().value(row)), out),
        DataType::Int32 => write_integer(i64::from(values.as_primitive::<Int32Type>().value(row)), out),
        DataType::Int64 => write_integer(values.as_primitive::<Int64Type>().value(row), out),
        DataType::Float32 => {
            write_f32(values.as_primitive::<Float32Type>().value(row), out).expect("BytesMut grows");
        }
        DataType::Float64 => {
            write_f64(values.as_primitive::<Float64Type>().value(row), out).expect("BytesMut grows");
        }
        DataType::Decimal128(_, scale) => {
            let value = values.as_primitive::<Decimal128Type>().value(row);
            numeric::write_text(value, *scale, numeric::Zeros::of(values.data_type()), out);
        }
        DataType::Binary => write_hex(values.as_binary::<i32>().value(row), out),
        DataType::Date32 => datetime::write_date(values.as_primitive::<Date32Type>().value(row), out),
        DataType::Time64(_) => {
            datetime::write_time(values.as_primitive::<Time64MicrosecondType>().value(row), out);
        }
        DataType::Timestamp(_, None) => {
            datetime::write_timestamp(values.as_primitive::<TimestampMicrosecondType>().value(row), out);
        }
        DataType::Timestamp(_, Some(_)) => {
            let instant = values.as_primitive::<TimestampMicrosecondType>().value(row);
            datetime::write_timestamptz(instant, zone, out);
        }
        DataType::Interval(_) => {
            let value = values.as_primitive::<IntervalMonthDayNanoType>().value(row);
            interval::write(value.into(), interval::IntervalStyle::Postgres, out);
        }
        DataType::List(_) => write_list(values, row, zone, out),
        _ => out.put_slice(values.as_string::<i32>().value(row).as_bytes()),
    }
}

fn write_list(values: &ArrayRef, row: usize, zone: TimeZone, out: &mut BytesMut) {
    let elements = values.as_list::<i32>().value(row);
    out.put_u8(b'{');
    for i in 0..elements.len() {
        if i > 0 {
            out.put_u8(b',');
        }
        match elements.data_type() {
            _ if elements.is_null(i) => out.put_slice(b"NULL"),
            DataType::List(_) => write(&elements, i, zone, out),
            DataType::Boolean => out.put_u8(if elements.as_boolean().value(i) {
                b't'
            } else {
                b'f'
            }),
            _ => array::quoted(out, array::needs_quotes, array::backslashed, |out| {
                write(&elements, i, zone, out)
            }),
        }
    }
    out.put_u8(b'}');
}

pub fn write_integer(value: i64, out: &mut BytesMut) {
    if value < 0 {
        out.put_u8(b'-');
    }
    datetime::write_padded(value, 1, out);
}

pub fn write_hex(bytes: &[u8], out: &mut BytesMut) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.put_slice(b"\\x");
    for byte in bytes {
        out.put_u8(DIGITS[usize::from(byte >> 4)]);
        out.put_u8(DIGITS[usize::from(byte & 15)]);
    }
}

/// The Arrow type that a value has before it is written.
pub fn written_as(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(_, None) => SqlType::Timestamp.arrow(),
        DataType::Timestamp(_, Some(_)) => SqlType::TimestampTz.arrow(),
        DataType::Time64(_) => SqlType::Time.arrow(),
        DataType::Interval(_) => SqlType::Interval.arrow(),
        other => other.clone(),
    }
}
