//! Writers of the text form.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::{BufMut, BytesMut};
use millpond_catalog::{SqlType, SystemType};
use millpond_sql::float_text::{write_f32, write_f64};
use millpond_sql::text_form::{write_hex, write_integer};

use super::{ByteaOutput, Style, Writer, datetime, interval, nested, numeric};
use crate::error::{Error, Result};

pub fn writer<'a>(array: &'a ArrayRef, sql_type: &SqlType, style: &'a Style) -> Result<Writer<'a>> {
    Ok(match sql_type {
        SqlType::Bool => {
            let values = array.as_boolean();
            Box::new(|row, out| out.put_u8(if values.value(row) { b't' } else { b'f' }))
        }
        SqlType::Int2 => {
            let values = array.as_primitive::<Int16Type>().values();
            Box::new(|row, out| write_integer(i64::from(values[row]), out))
        }
        SqlType::Int4 => {
            let values = array.as_primitive::<Int32Type>().values();
            Box::new(|row, out| write_integer(i64::from(values[row]), out))
        }
        SqlType::Int8 => {
            let values = array.as_primitive::<Int64Type>().values();
            Box::new(|row, out| write_integer(values[row], out))
        }
        SqlType::Float4 => {
            let values = array.as_primitive::<Float32Type>().values();
            Box::new(|row, out| write_f32(values[row], out).expect("BytesMut grows"))
        }
        SqlType::Float8 => {
            let values = array.as_primitive::<Float64Type>().values();
            Box::new(|row, out| write_f64(values[row], out).expect("BytesMut grows"))
        }
        SqlType::Numeric(_) => numeric_writer(array)?,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Uuid | SqlType::Json | SqlType::Jsonb => {
            string_writer(array)?
        }
        SqlType::Bytea => {
            let values = array.as_binary::<i32>();
            match style.bytea {
                ByteaOutput::Hex => Box::new(|row, out| write_hex(values.value(row), out)),
                ByteaOutput::Escape => Box::new(|row, out| write_escape(values.value(row), out)),
            }
        }
        SqlType::Date => {
            let values = array.as_primitive::<Date32Type>().values();
            Box::new(|row, out| datetime::write_date(values[row], out))
        }
        SqlType::Time => {
            let values = array.as_primitive::<Time64MicrosecondType>().values();
            Box::new(|row, out| datetime::write_time(values[row], out))
        }
        SqlType::Timestamp => {
            let values = array.as_primitive::<TimestampMicrosecondType>().values();
            Box::new(|row, out| datetime::write_timestamp(values[row], out))
        }
        SqlType::TimestampTz => {
            let values = array.as_primitive::<TimestampMicrosecondType>().values();
            Box::new(|row, out| datetime::write_timestamptz(values[row], style.zone, out))
        }
        SqlType::Interval => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
            Box::new(|row, out| interval::write(values[row].into(), style.interval, out))
        }
        SqlType::Array(element) => nested::list_text(array, element, style)?,
        SqlType::Struct(fields) => nested::struct_text(array, fields, style)?,
        SqlType::System(system) => system_writer(array, *system, style)?,
    })
}

fn system_writer<'a>(array: &'a ArrayRef, system: SystemType, style: &'a Style) -> Result<Writer<'a>> {
    if matches!(system, SystemType::Int2Vector | SystemType::OidVector) {
        return nested::vector_text(array, system, style);
    }
    if !system.is_identifier() {
        return string_writer(array);
    }
    let values = array.as_primitive::<UInt32Type>().values();
    let names = style.names.as_ref().filter(|_| system.is_named_identifier());
    Ok(Box::new(move |row, out| {
        match names.and_then(|names| names.name_of(system, values[row])) {
            Some(name) => out.put_slice(name.as_bytes()),
            // Postgres shows the identifier of nothing as a dash.
            None if values[row] == 0 && system.is_named_identifier() => out.put_u8(b'-'),
            None => write_integer(i64::from(values[row]), out),
        }
    }))
}

fn numeric_writer(array: &ArrayRef) -> Result<Writer<'_>> {
    let zeros = numeric::Zeros::of(array.data_type());
    Ok(match array.data_type() {
        DataType::Decimal128(_, scale) => {
            let (values, scale) = (array.as_primitive::<Decimal128Type>().values(), *scale);
            Box::new(move |row, out| numeric::write_text(values[row], scale, zeros, out))
        }
        DataType::Decimal256(_, scale) => {
            let (values, scale) = (array.as_primitive::<Decimal256Type>().values(), *scale);
            Box::new(move |row, out| numeric::write_text(values[row], scale, zeros, out))
        }
        other => return Err(Error::Bug(format!("numeric is never stored as {other}"))),
    })
}

fn string_writer(array: &ArrayRef) -> Result<Writer<'_>> {
    Ok(match array.data_type() {
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(|row, out| out.put_slice(values.value(row).as_bytes()))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(|row, out| out.put_slice(values.value(row).as_bytes()))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            Box::new(|row, out| out.put_slice(values.value(row).as_bytes()))
        }
        _ => {
            const OPTIONS: FormatOptions<'static> = FormatOptions::new();
            let formatter = ArrayFormatter::try_new(array.as_ref(), &OPTIONS)?;
            // A value that cannot be formatted prints as its error, as Arrow does itself.
            Box::new(move |row, out| write!(out, "{}", formatter.value(row)).unwrap_or_default())
        }
    })
}

fn write_escape(bytes: &[u8], out: &mut BytesMut) {
    for byte in bytes {
        match byte {
            b'\\' => out.put_slice(b"\\\\"),
            0x20..=0x7e => out.put_u8(*byte),
            _ => write!(out, "\\{byte:03o}").expect("BytesMut grows"),
        }
    }
}
