//! Arrays and records.

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use bytes::BufMut;
use millpond_catalog::{SqlType, SystemType};
use millpond_sql::text_form::array::{backslashed, is_space, needs_quotes, quoted};

use super::{Style, Writer, with_length, writer};
use crate::error::{Error, Result};
use crate::pg::format::Format;

/// Binary flag of an array that has NULLs.
const HAS_NULLS: i32 = 1;
const LOWER_BOUND: i32 = 1;

fn as_list(array: &ArrayRef) -> Result<&ListArray> {
    array
        .as_list_opt::<i32>()
        .ok_or_else(|| Error::Bug(format!("an array is never stored as {}", array.data_type())))
}

/// `{a,"b c",NULL}`; an array of arrays has braces within braces.
pub fn list_text<'a>(array: &'a ArrayRef, element: &SqlType, style: &'a Style) -> Result<Writer<'a>> {
    let list = as_list(array)?;
    let nested = matches!(element, SqlType::Array(_));
    let write = writer(list.values(), element, Format::Text, style)?;
    let (values, offsets) = (list.values(), list.value_offsets());
    Ok(Box::new(move |row, out| {
        out.put_u8(b'{');
        let start = offsets[row] as usize;
        for i in start..offsets[row + 1] as usize {
            if i > start {
                out.put_u8(b',');
            }
            if values.is_null(i) {
                out.put_slice(b"NULL");
            } else if nested {
                write(i, out);
            } else {
                quoted(out, needs_quotes, backslashed, |out| write(i, out));
            }
        }
        out.put_u8(b'}');
    }))
}

/// `1 2 3`, the text of `int2vector` and `oidvector`.
pub fn vector_text<'a>(array: &'a ArrayRef, vector: SystemType, style: &'a Style) -> Result<Writer<'a>> {
    let list = as_list(array)?;
    let element = if vector == SystemType::Int2Vector {
        SqlType::Int2
    } else {
        SqlType::System(SystemType::Oid)
    };
    let write = writer(list.values(), &element, Format::Text, style)?;
    let offsets = list.value_offsets();
    Ok(Box::new(move |row, out| {
        let start = offsets[row] as usize;
        for i in start..offsets[row + 1] as usize {
            if i > start {
                out.put_u8(b' ');
            }
            write(i, out);
        }
    }))
}

/// `(a,"b c",)`.
pub fn struct_text<'a>(
    array: &'a ArrayRef,
    fields: &[(String, SqlType)],
    style: &'a Style,
) -> Result<Writer<'a>> {
    let columns = struct_columns(array, fields, Format::Text, style)?;
    Ok(Box::new(move |row, out| {
        out.put_u8(b'(');
        for (i, (column, _, write)) in columns.iter().enumerate() {
            if i > 0 {
                out.put_u8(b',');
            }
            if !column.is_null(row) {
                quoted(out, record_needs_quotes, doubled, |out| write(row, out));
            }
        }
        out.put_u8(b')');
    }))
}

pub fn struct_binary<'a>(
    array: &'a ArrayRef,
    fields: &[(String, SqlType)],
    style: &'a Style,
) -> Result<Writer<'a>> {
    let columns = struct_columns(array, fields, Format::Binary, style)?;
    Ok(Box::new(move |row, out| {
        out.put_i32(columns.len() as i32);
        for (column, oid, write) in &columns {
            out.put_u32(*oid);
            if column.is_null(row) {
                out.put_i32(-1);
            } else {
                with_length(out, false, |out| write(row, out));
            }
        }
    }))
}

type StructColumn<'a> = (&'a ArrayRef, u32, Writer<'a>);

fn struct_columns<'a>(
    array: &'a ArrayRef,
    fields: &[(String, SqlType)],
    format: Format,
    style: &'a Style,
) -> Result<Vec<StructColumn<'a>>> {
    let columns = array.as_struct().columns();
    columns
        .iter()
        .zip(fields)
        .map(|(column, (_, sql_type))| {
            let write = writer(column, sql_type, format, style)?;
            Ok((column, sql_type.oid(), write))
        })
        .collect()
}

/// Dimensions, then the elements of all of them in row-major order.
pub fn list_binary<'a>(array: &'a ArrayRef, element: &SqlType, style: &'a Style) -> Result<Writer<'a>> {
    let list = as_list(array)?;
    // The levels of nesting, outermost first, and the array of the elements themselves.
    let mut levels = vec![list];
    let (mut values, mut element) = (list.values(), element);
    while let SqlType::Array(inner) = element {
        let inner_list = as_list(values)?;
        levels.push(inner_list);
        (values, element) = (inner_list.values(), inner);
    }
    let element_oid = element.oid();
    let write = writer(values, element, Format::Binary, style)?;
    Ok(Box::new(move |row, out| {
        let mut range = row..row + 1;
        let mut dimensions = Vec::with_capacity(levels.len());
        for level in &levels {
            let lists = range.len().max(1);
            let offsets = level.value_offsets();
            range = offsets[range.start] as usize..offsets[range.end] as usize;
            dimensions.push((range.len() / lists) as i32);
        }
        if range.is_empty() {
            dimensions.clear();
        }
        out.put_i32(dimensions.len() as i32);
        out.put_i32(if range.clone().any(|i| values.is_null(i)) {
            HAS_NULLS
        } else {
            0
        });
        out.put_u32(element_oid);
        for length in dimensions {
            out.put_i32(length);
            out.put_i32(LOWER_BOUND);
        }
        for i in range {
            if values.is_null(i) {
                out.put_i32(-1);
            } else {
                with_length(out, false, |out| write(i, out));
            }
        }
    }))
}

fn record_needs_quotes(value: &[u8]) -> bool {
    value.is_empty()
        || value
            .iter()
            .any(|b| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*b))
}

fn doubled(byte: u8) -> Option<u8> {
    matches!(byte, b'"' | b'\\').then_some(byte)
}
