//! Writers of the text form.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::{BufMut, BytesMut};
use millpond_catalog::SqlType;

use super::{ByteaOutput, Style, Writer, datetime, float, interval, nested, numeric};
use crate::error::{Error, Result};
use crate::pg::types::{CatalogType, ElementType};

pub fn writer<'a>(array: &'a ArrayRef, element: &ElementType, style: &'a Style) -> Result<Writer<'a>> {
    match element {
        ElementType::Sql(sql_type) => sql_writer(array, sql_type, style),
        ElementType::Catalog(catalog_type) => catalog_writer(array, *catalog_type, style),
    }
}

fn sql_writer<'a>(array: &'a ArrayRef, sql_type: &SqlType, style: &'a Style) -> Result<Writer<'a>> {
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
            Box::new(|row, out| float::write_f32(values[row], out))
        }
        SqlType::Float8 => {
            let values = array.as_primitive::<Float64Type>().values();
            Box::new(|row, out| float::write_f64(values[row], out))
        }
        SqlType::Numeric(_) => numeric_writer(array)?,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Uuid | SqlType::Json | SqlType::Jsonb => string_writer(array)?,
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
        SqlType::Array(element) => nested::list_text(array, ElementType::Sql((**element).clone()), style)?,
        SqlType::Struct(fields) => nested::struct_text(array, fields, style)?,
    })
}

fn catalog_writer<'a>(array: &'a ArrayRef, catalog_type: CatalogType, style: &'a Style) -> Result<Writer<'a>> {
    match catalog_type {
        CatalogType::Oid | CatalogType::Xid => sql_writer(array, &SqlType::Int8, style),
        CatalogType::Char
        | CatalogType::Name
        | CatalogType::NodeTree
        | CatalogType::RegProc
        | CatalogType::RegClass
        | CatalogType::RegType
        | CatalogType::RegNamespace => string_writer(array),
        // The two vectors print without braces: `1 2 3`.
        CatalogType::Int2Vector | CatalogType::OidVector => nested::vector_text(array, catalog_type, style),
        CatalogType::CharArray
        | CatalogType::NameArray
        | CatalogType::OidArray
        | CatalogType::AclItemArray
        | CatalogType::RegTypeArray => {
            let element = catalog_type.element().expect("an array type has an element type");
            nested::list_text(array, element, style)
        }
    }
}

fn numeric_writer(array: &ArrayRef) -> Result<Writer<'_>> {
    Ok(match array.data_type() {
        DataType::Decimal128(_, scale) => {
            let (values, scale) = (array.as_primitive::<Decimal128Type>().values(), *scale);
            Box::new(move |row, out| numeric::write_text(values[row], scale, out))
        }
        DataType::Decimal256(_, scale) => {
            let (values, scale) = (array.as_primitive::<Decimal256Type>().values(), *scale);
            Box::new(move |row, out| numeric::write_text(values[row], scale, out))
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

fn write_escape(bytes: &[u8], out: &mut BytesMut) {
    for byte in bytes {
        match byte {
            b'\\' => out.put_slice(b"\\\\"),
            0x20..=0x7e => out.put_u8(*byte),
            _ => write!(out, "\\{byte:03o}").expect("BytesMut grows"),
        }
    }
}
