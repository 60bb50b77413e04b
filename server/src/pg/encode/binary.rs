//! Writers of the binary form: big-endian, with times counted from 2000-01-01.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use bytes::{BufMut, BytesMut};
use millpond_catalog::{SqlType, SystemType};

use super::datetime::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_US};
use super::interval::Parts;
use super::{Style, Writer, nested, numeric, text};
use crate::error::{Error, Result};

const JSONB_VERSION: u8 = 1;

pub fn writer<'a>(array: &'a ArrayRef, sql_type: &SqlType, style: &'a Style) -> Result<Writer<'a>> {
    Ok(match sql_type {
        SqlType::Bool => {
            let values = array.as_boolean();
            Box::new(|row, out| out.put_u8(u8::from(values.value(row))))
        }
        SqlType::Int2 => {
            let values = array.as_primitive::<Int16Type>().values();
            Box::new(|row, out| out.put_i16(values[row]))
        }
        SqlType::Int4 => {
            let values = array.as_primitive::<Int32Type>().values();
            Box::new(|row, out| out.put_i32(values[row]))
        }
        SqlType::Int8 => {
            let values = array.as_primitive::<Int64Type>().values();
            Box::new(|row, out| out.put_i64(values[row]))
        }
        SqlType::Float4 => {
            let values = array.as_primitive::<Float32Type>().values();
            Box::new(|row, out| out.put_f32(values[row]))
        }
        SqlType::Float8 => {
            let values = array.as_primitive::<Float64Type>().values();
            Box::new(|row, out| out.put_f64(values[row]))
        }
        SqlType::Numeric(_) => numeric_writer(array)?,
        // The text is the binary form.
        SqlType::Text | SqlType::Varchar(_) | SqlType::Json => text::writer(array, &SqlType::Text, style)?,
        SqlType::Jsonb => {
            let write = text::writer(array, &SqlType::Text, style)?;
            Box::new(move |row, out| {
                out.put_u8(JSONB_VERSION);
                write(row, out);
            })
        }
        SqlType::Uuid => {
            let write = text::writer(array, &SqlType::Text, style)?;
            Box::new(move |row, out| write_uuid(&*write, row, out))
        }
        SqlType::Bytea => {
            let values = array.as_binary::<i32>();
            Box::new(|row, out| out.put_slice(values.value(row)))
        }
        SqlType::Date => {
            let values = array.as_primitive::<Date32Type>().values();
            Box::new(|row, out| out.put_i32(postgres_date(values[row])))
        }
        SqlType::Time => {
            let values = array.as_primitive::<Time64MicrosecondType>().values();
            Box::new(|row, out| out.put_i64(values[row]))
        }
        SqlType::Timestamp | SqlType::TimestampTz => {
            let values = array.as_primitive::<TimestampMicrosecondType>().values();
            Box::new(|row, out| out.put_i64(postgres_timestamp(values[row])))
        }
        SqlType::Interval => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
            Box::new(|row, out| {
                let Parts { months, days, micros } = values[row].into();
                out.put_i64(micros);
                out.put_i32(days);
                out.put_i32(months);
            })
        }
        SqlType::Array(element) => nested::list_binary(array, element, style)?,
        SqlType::System(system) => system_writer(array, *system, style)?,
        SqlType::Struct(fields) => nested::struct_binary(array, fields, style)?,
    })
}

fn system_writer<'a>(array: &'a ArrayRef, system: SystemType, style: &'a Style) -> Result<Writer<'a>> {
    if system.is_identifier() {
        let values = array.as_primitive::<UInt32Type>().values();
        return Ok(Box::new(|row, out| out.put_u32(values[row])));
    }
    match system {
        SystemType::Int2Vector => nested::list_binary(array, &SqlType::Int2, style),
        SystemType::OidVector => nested::list_binary(array, &SqlType::System(SystemType::Oid), style),
        _ => text::writer(array, &SqlType::Text, style),
    }
}

fn numeric_writer(array: &ArrayRef) -> Result<Writer<'_>> {
    let zeros = numeric::Zeros::of(array.data_type());
    Ok(match array.data_type() {
        DataType::Decimal128(_, scale) => {
            let (values, scale) = (array.as_primitive::<Decimal128Type>().values(), *scale);
            Box::new(move |row, out| numeric::write_binary(values[row], scale, zeros, out))
        }
        DataType::Decimal256(_, scale) => {
            let (values, scale) = (array.as_primitive::<Decimal256Type>().values(), *scale);
            Box::new(move |row, out| numeric::write_binary(values[row], scale, zeros, out))
        }
        other => return Err(Error::Bug(format!("numeric is never stored as {other}"))),
    })
}

fn value_text(write: &dyn Fn(usize, &mut BytesMut), row: usize) -> String {
    let mut value = BytesMut::new();
    write(row, &mut value);
    String::from_utf8_lossy(&value).into_owned()
}

/// A uuid is kept as text; one that is not a uuid (which no cast makes) becomes the nil uuid.
fn write_uuid(write: &dyn Fn(usize, &mut BytesMut), row: usize, out: &mut BytesMut) {
    let uuid = uuid::Uuid::try_parse(&value_text(write, row)).unwrap_or_default();
    out.put_slice(uuid.as_bytes());
}

/// Days since 2000-01-01; the infinities stay what they are.
fn postgres_date(days: i32) -> i32 {
    if days == i32::MAX || days == i32::MIN {
        days
    } else {
        days.saturating_sub(POSTGRES_EPOCH_DAYS)
    }
}

/// Microseconds since 2000-01-01; the infinities stay what they are.
fn postgres_timestamp(us: i64) -> i64 {
    if us == i64::MAX || us == i64::MIN {
        us
    } else {
        us.saturating_sub(POSTGRES_EPOCH_US)
    }
}
