//! Parameters from the wire, text and binary, to values.

mod binary;
mod text;

use arrow::array::{Array, ArrayRef, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;
use datafusion::scalar::ScalarValue;
use millpond_catalog::SqlType;

use std::sync::Arc;

use crate::error::{Error, Result, ValueError};
use crate::pg::format::Format;

/// Reads parameter `number` (from 1). `None` is NULL.
///
/// # Errors
/// [`ValueError`]: what the client sent is not a value of the type.
pub fn parameter(
    number: usize,
    value: Option<&[u8]>,
    format: Format,
    sql_type: &SqlType,
    time_zone: &str,
) -> Result<ScalarValue> {
    let Some(bytes) = value else { return null(sql_type) };
    match format {
        Format::Text => {
            let text = std::str::from_utf8(bytes).map_err(|_| ValueError::NotUtf8)?;
            if text.contains('\0') {
                return Err(ValueError::NotUtf8.into());
            }
            text::read(text, sql_type, time_zone)
        }
        Format::Binary => match binary::read(bytes, sql_type) {
            Err(Error::Value(ValueError::Binary(_))) => Err(ValueError::Binary(number).into()),
            other => other,
        },
    }
}

fn null(sql_type: &SqlType) -> Result<ScalarValue> {
    Ok(ScalarValue::try_from(&sql_type.arrow())?)
}

/// An array of one value: the list of `values`, all of type `element`.
fn list(element: &SqlType, values: Vec<ScalarValue>) -> Result<ScalarValue> {
    let array: ArrayRef = if values.is_empty() {
        arrow::array::new_empty_array(&element.arrow())
    } else {
        ScalarValue::iter_to_array(values)?
    };
    let field = Arc::new(Field::new_list_field(array.data_type().clone(), true));
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths([array.len()]), array, None)?;
    Ok(ScalarValue::List(Arc::new(list)))
}

/// The type that all elements of an array are read as: they need one scale, while a lone `numeric` keeps its own.
fn element_type(element: &SqlType) -> SqlType {
    match element {
        SqlType::Numeric(None) => SqlType::Numeric(Some((38, SqlType::NUMERIC_SCALE))),
        other => other.clone(),
    }
}

fn unsupported(sql_type: &SqlType) -> Error {
    crate::error::SessionError::Unsupported {
        message: format!("parameters of type {sql_type} are not supported"),
        hint: Some("Send the value as text and cast it in the statement.".into()),
    }
    .into()
}

#[cfg(test)]
mod tests;
