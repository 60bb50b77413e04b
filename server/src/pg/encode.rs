//! Arrow arrays to values on the wire, text and binary, exactly as Postgres prints them.
//!
//! Per batch each column is turned into a [`Writer`] once; per row only the writers run. A column whose Arrow type is
//! not the one its SQL type is stored in (a nanosecond timestamp out of a function, say) is cast first.

mod binary;
mod nested;
mod text;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use bytes::{BufMut, BytesMut};
use millpond_catalog::{SqlType, SystemType};
use millpond_sql::Settings;

use crate::error::{Error, Result};
use crate::pg::format::Format;

pub use interval::IntervalStyle;
pub use millpond_sql::TimeZone;
pub use millpond_sql::text_form::{datetime, interval, numeric};

/// Settings of a session that change how values print.
#[derive(Clone, Default)]
pub struct Style {
    pub zone: TimeZone,
    pub interval: IntervalStyle,
    pub bytea: ByteaOutput,
    /// Without it, values of the `reg` types print as numbers.
    pub names: Option<Arc<dyn IdentifierNames>>,
}

impl Style {
    /// As a session's settings say.
    pub fn of(settings: &Settings) -> Self {
        let get = |name| settings.get(name).unwrap_or_default();
        Self {
            zone: TimeZone::parse(settings.time_zone()).unwrap_or_default(),
            interval: IntervalStyle::parse(get("IntervalStyle")),
            bytea: if get("bytea_output") == "escape" {
                ByteaOutput::Escape
            } else {
                ByteaOutput::Hex
            },
            names: None,
        }
    }
}

/// How values of `regclass`, `regtype` and their like print: as the name of what they identify.
pub trait IdentifierNames: Send + Sync {
    /// `None` when nothing has this oid; the number is printed then.
    fn name_of(&self, kind: SystemType, oid: u32) -> Option<String>;
}

impl std::fmt::Debug for Style {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Style({:?}, {:?}, {:?})", self.zone, self.interval, self.bytea)
    }
}

/// The setting `bytea_output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByteaOutput {
    #[default]
    Hex,
    Escape,
}

/// Writes the value of one row, which is not NULL, without a length.
pub(crate) type Writer<'a> = Box<dyn Fn(usize, &mut BytesMut) + 'a>;

/// Encodes batches of one schema as DataRow messages.
#[derive(Debug, Clone)]
pub struct RowEncoder {
    columns: Vec<(SqlType, Format)>,
    style: Style,
}

impl RowEncoder {
    /// `formats` are as in [`Format::of_column`].
    pub fn new(types: impl IntoIterator<Item = SqlType>, formats: &[Format], style: Style) -> Self {
        let columns = types
            .into_iter()
            .enumerate()
            .map(|(i, t)| (t, Format::of_column(formats, i)))
            .collect();
        Self { columns, style }
    }

    /// Appends rows of `batch` until the range ends or `out` holds `bytes_max`; returns how many were written, at least
    /// one unless the range is empty.
    pub fn encode(
        &self,
        batch: &RecordBatch,
        rows: Range<usize>,
        bytes_max: usize,
        out: &mut BytesMut,
    ) -> Result<usize> {
        assert_eq!(
            batch.num_columns(),
            self.columns.len(),
            "a stream's batches have the stream's schema"
        );
        let arrays = batch
            .columns()
            .iter()
            .zip(&self.columns)
            .map(|(array, (sql_type, _))| normalise(array, sql_type))
            .collect::<Result<Vec<_>>>()?;
        let writers = arrays
            .iter()
            .zip(&self.columns)
            .map(|(array, (sql_type, format))| {
                Ok((
                    array.logical_nulls(),
                    writer(array, sql_type, *format, &self.style)?,
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        let count = i16::try_from(writers.len())
            .map_err(|_| Error::Bug("a result set has more columns than the protocol can count".into()))?;
        let (start, end) = (rows.start, rows.end);
        for row in rows {
            if row > start && out.len() >= bytes_max {
                return Ok(row - start);
            }
            out.put_u8(b'D');
            with_length(out, true, |out| {
                out.put_i16(count);
                for (nulls, write) in &writers {
                    if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                        out.put_i32(-1);
                    } else {
                        with_length(out, false, |out| write(row, out));
                    }
                }
            });
        }
        Ok(end - start)
    }
}

/// The text form of every value of `array`, NULL staying NULL: what a cast to `text` gives.
pub fn text_values(array: &ArrayRef, field: &Field, style: &Style) -> Result<StringArray> {
    let sql_type = SqlType::of(field);
    let array = normalise(array, &sql_type)?;
    let nulls = array.logical_nulls();
    let write = writer(&array, &sql_type, Format::Text, style)?;
    let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 8);
    let mut value = BytesMut::new();
    for row in 0..array.len() {
        if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            builder.append_null();
            continue;
        }
        value.clear();
        write(row, &mut value);
        builder.append_value(std::str::from_utf8(&value).expect("text forms are UTF-8"));
    }
    Ok(builder.finish())
}

/// Writes a length before what `body` writes; it counts itself when `inclusive`.
pub(crate) fn with_length(out: &mut BytesMut, inclusive: bool, body: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_i32(0);
    body(out);
    let length = out.len() - at - if inclusive { 0 } else { 4 };
    let length = i32::try_from(length).expect("a value is smaller than a batch, which is smaller than 2 GiB");
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// `array` in the Arrow type that the writers expect.
fn normalise(array: &ArrayRef, sql_type: &SqlType) -> Result<ArrayRef> {
    let wanted = sql_type.arrow();
    let actual = array.data_type();
    let direct = match actual {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => wanted == DataType::Utf8,
        DataType::Decimal128(_, _) | DataType::Decimal256(_, _) => {
            matches!(sql_type, SqlType::Numeric(_))
        }
        // Shown by Arrow's own formatter.
        DataType::Map(_, _) | DataType::Union(_, _) => true,
        DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _) => {
            matches!(sql_type, SqlType::Timestamp | SqlType::TimestampTz)
        }
        _ => actual.equals_datatype(&wanted),
    };
    if direct {
        return Ok(Arc::clone(array));
    }
    Ok(cast(array, &wanted)?)
}

/// The writer of a normalised column.
pub(crate) fn writer<'a>(
    array: &'a ArrayRef,
    sql_type: &SqlType,
    format: Format,
    style: &'a Style,
) -> Result<Writer<'a>> {
    match format {
        Format::Text => text::writer(array, sql_type, style),
        Format::Binary => binary::writer(array, sql_type, style),
    }
}

#[cfg(test)]
mod tests;
