//! Values as text: as Postgres prints them, and as JSON that our own reader takes back.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use millpond_catalog::SqlType;

const TIMES: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));

/// Writes the values of one column.
pub struct Writer<'a> {
    array: &'a ArrayRef,
    sql_type: &'a SqlType,
    /// For what has no form of its own here.
    formatter: Option<ArrayFormatter<'a>>,
}

impl<'a> Writer<'a> {
    pub fn new(array: &'a ArrayRef, sql_type: &'a SqlType) -> Self {
        Writer {
            formatter: ArrayFormatter::try_new(array, &TIMES).ok(),
            array,
            sql_type,
        }
    }

    /// The text of a value, `None` for NULL.
    pub fn text(&self, row: usize) -> Option<String> {
        if self.array.is_null(row) {
            return None;
        }
        let array = self.array;
        Some(match self.sql_type {
            SqlType::Bool => if array.as_boolean().value(row) { "t" } else { "f" }.to_owned(),
            SqlType::Int2 => array.as_primitive::<Int16Type>().value(row).to_string(),
            SqlType::Int4 => array.as_primitive::<Int32Type>().value(row).to_string(),
            SqlType::Int8 => array.as_primitive::<Int64Type>().value(row).to_string(),
            SqlType::Float4 => float(array.as_primitive::<Float32Type>().value(row)),
            SqlType::Float8 => float(array.as_primitive::<Float64Type>().value(row)),
            SqlType::Numeric(_) => array.as_primitive::<Decimal128Type>().value_as_string(row),
            SqlType::Text | SqlType::Varchar(_) | SqlType::Uuid | SqlType::Json | SqlType::Jsonb => {
                array.as_string::<i32>().value(row).to_owned()
            }
            SqlType::Bytea => hexadecimal(array.as_binary::<i32>().value(row)),
            SqlType::Date => infinite(
                i64::from(array.as_primitive::<Date32Type>().value(row)),
                i32::MIN.into(),
                i32::MAX.into(),
            )
            .unwrap_or_else(|| self.formatted(row)),
            SqlType::Timestamp | SqlType::TimestampTz => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
                infinite(micros, i64::MIN, i64::MAX).unwrap_or_else(|| self.formatted(row))
            }
            SqlType::Array(_) | SqlType::Struct(_) => {
                let mut text = String::new();
                self.json(row, &mut text);
                text
            }
            SqlType::Time | SqlType::Interval | SqlType::System(_) => self.formatted(row),
        })
    }

    fn formatted(&self, row: usize) -> String {
        let formatter = self.formatter.as_ref();
        formatter
            .and_then(|formatter| formatter.value(row).try_to_string().ok())
            .unwrap_or_default()
    }

    /// Appends the value as JSON.
    pub fn json(&self, row: usize, output: &mut String) {
        if self.array.is_null(row) {
            output.push_str("null");
            return;
        }
        match self.sql_type {
            SqlType::Bool => output.push_str(if self.array.as_boolean().value(row) {
                "true"
            } else {
                "false"
            }),
            SqlType::Json | SqlType::Jsonb => {
                // A document may be written over several lines, a row may not.
                let document = self.array.as_string::<i32>().value(row);
                if document.contains('\n') {
                    output.extend(document.chars().map(|c| if c == '\n' { ' ' } else { c }));
                } else {
                    output.push_str(document);
                }
            }
            SqlType::Array(element) => {
                let elements = self.array.as_list::<i32>().value(row);
                let writer = Writer::new(&elements, element);
                output.push('[');
                for index in 0..elements.len() {
                    if index > 0 {
                        output.push(',');
                    }
                    writer.json(index, output);
                }
                output.push(']');
            }
            SqlType::Struct(fields) => {
                let values = self.array.as_struct();
                output.push('{');
                for (index, ((name, sql_type), column)) in fields.iter().zip(values.columns()).enumerate() {
                    if index > 0 {
                        output.push(',');
                    }
                    quoted(name, output);
                    output.push(':');
                    Writer::new(column, sql_type).json(row, output);
                }
                output.push('}');
            }
            number if number.is_number() => {
                let text = self.text(row).unwrap_or_default();
                if text.ends_with(|c: char| c.is_ascii_digit()) {
                    output.push_str(&text);
                } else {
                    // NaN and the infinities are no JSON numbers.
                    quoted(&text, output);
                }
            }
            _ => quoted(&self.text(row).unwrap_or_default(), output),
        }
    }
}

/// Appends `text` as a JSON string.
pub fn quoted(text: &str, output: &mut String) {
    output.push_str(&serde_json::Value::from(text).to_string());
}

fn float(value: impl Into<f64> + Copy + std::fmt::Display) -> String {
    let wide: f64 = value.into();
    if wide.is_nan() {
        "NaN".to_owned()
    } else if wide.is_infinite() {
        if wide > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        value.to_string()
    }
}

fn infinite(value: i64, least: i64, greatest: i64) -> Option<String> {
    match value {
        _ if value == least => Some("-infinity".to_owned()),
        _ if value == greatest => Some("infinity".to_owned()),
        _ => None,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    std::iter::once("\\x".to_owned()).chain(digits).collect()
}
