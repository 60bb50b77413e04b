//! `to_json(value)` and `row_to_json(row)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use bytes::BytesMut;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use millpond_catalog::SqlType;

use crate::function::text_cast::texts_of;
use crate::text_form;
use crate::time_zone::TimeZone;

/// A value as JSON: a row as an object of its columns, NULLs included, and times as ISO 8601 has them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ToJson {
    name: &'static str,
    signature: Signature,
}

impl ToJson {
    pub fn functions() -> impl Iterator<Item = Self> {
        ["to_json", "row_to_json"].into_iter().map(|name| Self {
            name,
            signature: Signature::any(1, Volatility::Stable),
        })
    }
}

impl ScalarUDFImpl for ToJson {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Struct(_)] => {}
            _ if self.name == "row_to_json" => return exec_err!("row_to_json takes a row"),
            _ => {}
        }
        Ok(SqlType::Json.arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        self.return_type(&types)?;
        Ok(Arc::new(SqlType::Json.field(self.name, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [array] = &ColumnarValue::values_to_arrays(&args.args)?[..] else {
            return exec_err!("{} takes one value", self.name);
        };
        let zone = TimeZone::of_session(&args.config_options);
        let writer = Writer::new(array, &args.arg_fields[0], zone)?;
        Ok(ColumnarValue::Array(texts_of(array, |row, out| {
            writer.write(row, out)
        })))
    }
}

/// Writes the values of one array.
struct Writer {
    array: ArrayRef,
    zone: TimeZone,
    form: Form,
}

enum Form {
    /// The text of the value is JSON: numbers, booleans, documents.
    Bare,
    /// The text of the value is the content of a JSON text.
    Quoted,
    /// As quoted, with `T` between day and time and whole minutes in the offset.
    Time,
    Array(Box<Writer>),
    /// The names, quoted.
    Object(Vec<(String, Writer)>),
}

impl Writer {
    fn new(array: &ArrayRef, field: &Field, zone: TimeZone) -> Result<Self> {
        let form = match (SqlType::of(field), array.data_type()) {
            (SqlType::Struct(_), DataType::Struct(fields)) => {
                let columns = array.as_struct().columns();
                let writers = fields
                    .iter()
                    .zip(columns)
                    .map(|(field, column)| Ok((quoted(field.name()), Self::new(column, field, zone)?)));
                Form::Object(writers.collect::<Result<_>>()?)
            }
            (SqlType::Array(_), DataType::List(element)) => Form::Array(Box::new(Self::new(
                array.as_list::<i32>().values(),
                element,
                zone,
            )?)),
            (SqlType::Bool | SqlType::Json | SqlType::Jsonb, _) => Form::Bare,
            (number, _) if number.is_number() => Form::Bare,
            (SqlType::Timestamp | SqlType::TimestampTz, _) => Form::Time,
            _ => Form::Quoted,
        };
        let array = match form {
            Form::Array(_) | Form::Object(_) => Arc::clone(array),
            _ => cast(array, &text_form::written_as(array.data_type()))?,
        };
        Ok(Self { array, zone, form })
    }

    fn write(&self, row: usize, out: &mut BytesMut) {
        if self.array.is_null(row) {
            out.extend_from_slice(b"null");
            return;
        }
        match &self.form {
            Form::Bare => match self.array.data_type() {
                DataType::Boolean => {
                    let value = self.array.as_boolean().value(row);
                    out.extend_from_slice(if value { b"true" } else { b"false" });
                }
                _ => {
                    let text = self.text(row);
                    // What JSON has no number for.
                    let text = match text.as_str() {
                        "NaN" | "Infinity" | "-Infinity" => quoted(&text),
                        _ => text,
                    };
                    out.extend_from_slice(text.as_bytes());
                }
            },
            Form::Quoted => out.extend_from_slice(quoted(&self.text(row)).as_bytes()),
            Form::Time => {
                let mut text = self.text(row).replacen(' ', "T", 1);
                if is_zoned(self.array.data_type()) && text.len() >= 3 && is_hours(&text[text.len() - 3..]) {
                    text.push_str(":00");
                }
                out.extend_from_slice(quoted(&text).as_bytes());
            }
            Form::Array(elements) => {
                let offsets = self.array.as_list::<i32>().value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                let first = range.start;
                out.extend_from_slice(b"[");
                for element in range {
                    if element > first {
                        out.extend_from_slice(b",");
                    }
                    elements.write(element, out);
                }
                out.extend_from_slice(b"]");
            }
            Form::Object(members) => {
                out.extend_from_slice(b"{");
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.extend_from_slice(b",");
                    }
                    out.extend_from_slice(name.as_bytes());
                    out.extend_from_slice(b":");
                    value.write(row, out);
                }
                out.extend_from_slice(b"}");
            }
        }
    }

    fn text(&self, row: usize) -> String {
        let mut text = BytesMut::new();
        text_form::write(&self.array, row, self.zone, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn is_zoned(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// `+05`, without the minutes that ISO 8601 wants.
fn is_hours(end: &str) -> bool {
    end.starts_with(['+', '-']) && end[1..].bytes().all(|b| b.is_ascii_digit())
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
