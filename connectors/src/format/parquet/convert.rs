//! From the types of a file to the declared ones.
//!
//! Whether a column can be read at all depends on the types alone ([`check`]): wider ones, other units and other names of
//! the same thing are fine, text as a number is not. A value that the declared type does not have is a flaw of its row.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, ListArray, PrimitiveArray, StringArray, StringBuilder,
    StructArray, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast, cast_with_options, max, min};
use arrow::datatypes::{
    DataType, Date32Type, Field, Float32Type, Float64Type, Time64MicrosecondType, Time64NanosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::util::display::array_value_to_string;
use millpond_catalog::SqlType;

use crate::literal;

/// The rows that something is wrong with, and the first thing that was found in each.
#[derive(Default)]
pub struct Flaws(BTreeMap<usize, String>);

/// Where the flaws of one column go.
pub struct ColumnFlaws<'a> {
    flaws: &'a mut Flaws,
    column: &'a str,
}

impl Flaws {
    pub fn of_column<'a>(&'a mut self, column: &'a str) -> ColumnFlaws<'a> {
        ColumnFlaws { flaws: self, column }
    }

    /// Rows with a flaw, ascending.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.0.keys().copied()
    }

    pub fn error_of(&self, row: usize) -> String {
        self.0.get(&row).cloned().unwrap_or_default()
    }
}

impl ColumnFlaws<'_> {
    fn add(&mut self, row: usize, error: &str) {
        let column = self.column;
        let flaw = self.flaws.0.entry(row);
        flaw.or_insert_with(|| format!("column \"{column}\": {error}"));
    }

    /// Each NULL of a NOT NULL column.
    pub fn add_nulls(&mut self, array: &ArrayRef) {
        if array.null_count() == 0 {
            return;
        }
        for row in 0..array.len() {
            if array.is_null(row) {
                self.add(row, "a NOT NULL column has no value");
            }
        }
    }
}

/// Values of type `from` can be read as `to`.
pub fn check(from: &DataType, to: &SqlType) -> Result<(), String> {
    let whole = |from: &DataType| {
        from.is_integer()
            || matches!(
                from,
                DataType::Decimal32(_, 0)
                    | DataType::Decimal64(_, 0)
                    | DataType::Decimal128(_, 0)
                    | DataType::Decimal256(_, 0)
            )
    };
    let text = |from: &DataType| {
        from.is_string()
            || matches!(
                from,
                DataType::Binary | DataType::LargeBinary | DataType::BinaryView
            )
    };
    let fits = match to {
        _ if *from == DataType::Null => true,
        SqlType::Bool => *from == DataType::Boolean,
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => whole(from),
        SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) => from.is_numeric(),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Json | SqlType::Jsonb => text(from),
        SqlType::Uuid => from.is_string() || *from == DataType::FixedSizeBinary(16),
        SqlType::Bytea => from.is_binary(),
        SqlType::Date => matches!(from, DataType::Date32 | DataType::Date64),
        SqlType::Time => matches!(from, DataType::Time32(_) | DataType::Time64(_)),
        SqlType::Timestamp | SqlType::TimestampTz => {
            matches!(
                from,
                DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64
            )
        }
        SqlType::Interval => matches!(from, DataType::Interval(_)),
        SqlType::Array(element) => match from {
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                return check(field.data_type(), element);
            }
            _ => false,
        },
        SqlType::Struct(fields) => {
            let DataType::Struct(found) = from else {
                return Err(mismatch(from, to));
            };
            for (name, sql_type) in fields {
                if let Some(field) = found.iter().find(|field| field.name() == name) {
                    check(field.data_type(), sql_type)
                        .map_err(|error| format!("field \"{name}\": {error}"))?;
                }
            }
            true
        }
        SqlType::System(_) => false,
    };
    if fits { Ok(()) } else { Err(mismatch(from, to)) }
}

fn mismatch(from: &DataType, to: &SqlType) -> String {
    format!(
        "the file has {}, which cannot be read as {to}",
        SqlType::of(&Field::new("", from.clone(), true))
    )
}

/// `array` as values of `to`; what does not fit is NULL and a flaw. The types were checked.
pub fn convert(array: &ArrayRef, to: &SqlType, flaws: &mut ColumnFlaws<'_>) -> Result<ArrayRef, String> {
    let target = to.arrow();
    if *array.data_type() == DataType::Null {
        return Ok(new_null_array(&target, array.len()));
    }
    match to {
        SqlType::Text | SqlType::Varchar(_) | SqlType::Json | SqlType::Jsonb | SqlType::Uuid => {
            texts(array, to, flaws)
        }
        SqlType::Timestamp | SqlType::TimestampTz => {
            let micros = timestamps(array)?;
            note_lost(array, &micros, to, flaws);
            Ok(Arc::new(micros.with_data_type(target)))
        }
        SqlType::Time if *array.data_type() == DataType::Time64(TimeUnit::Nanosecond) => {
            let nanos = array.as_primitive::<Time64NanosecondType>();
            Ok(Arc::new(
                nanos.unary::<_, Time64MicrosecondType>(|nanos| nanos / 1000),
            ))
        }
        SqlType::Array(element) => lists(array, element, flaws),
        SqlType::Struct(fields) => structs(array, fields, flaws),
        _ if *array.data_type() == target => Ok(array.clone()),
        _ => {
            let options = CastOptions {
                safe: true,
                ..CastOptions::default()
            };
            let converted = cast_with_options(array, &target, &options).map_err(|error| error.to_string())?;
            let converted = match to {
                SqlType::Float4 => finite(array, &converted)?,
                _ => converted,
            };
            note_lost(array, &converted, to, flaws);
            Ok(converted)
        }
    }
}

/// A flaw for each value that became NULL.
fn note_lost(before: &ArrayRef, after: &dyn Array, to: &SqlType, flaws: &mut ColumnFlaws<'_>) {
    if before.null_count() == after.null_count() {
        return;
    }
    for row in 0..before.len() {
        if after.is_null(row) && !before.is_null(row) {
            let value = array_value_to_string(before, row).unwrap_or_default();
            let error = format!(
                "value \"{}\" is out of range for type {to}",
                literal::shortened(&value)
            );
            flaws.add(row, &error);
        }
    }
}

/// NULL for what became infinite only by being narrowed.
fn finite(before: &ArrayRef, narrowed: &ArrayRef) -> Result<ArrayRef, String> {
    let wide = cast(before, &DataType::Float64).map_err(|error| error.to_string())?;
    let wide = wide.as_primitive::<Float64Type>();
    let narrowed = narrowed.as_primitive::<Float32Type>();
    let kept = narrowed.iter().zip(wide).map(|(narrow, wide)| {
        narrow.filter(|narrow| narrow.is_finite() || !wide.is_some_and(f64::is_finite))
    });
    Ok(Arc::new(kept.collect::<PrimitiveArray<Float32Type>>()))
}

/// Microseconds since 1970; what is beyond them is NULL.
fn timestamps(array: &ArrayRef) -> Result<PrimitiveArray<TimestampMicrosecondType>, String> {
    const DAY_US: i64 = 86_400_000_000;
    fn multiplied<T: ArrowPrimitiveType<Native = i64>>(
        array: &ArrayRef,
        by: i64,
    ) -> PrimitiveArray<TimestampMicrosecondType> {
        let times = array.as_primitive::<T>();
        let fits = |time: i64| time.checked_mul(by).is_some();
        // Checked by its extremes, the whole is one loop over plain numbers.
        if [min(times), max(times)].into_iter().flatten().all(fits) {
            times.unary(|time| time.wrapping_mul(by))
        } else {
            times.unary_opt(|time| time.checked_mul(by))
        }
    }
    Ok(match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => multiplied::<TimestampSecondType>(array, 1_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => multiplied::<TimestampMillisecondType>(array, 1_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => array.as_primitive().clone(),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = array.as_primitive::<TimestampNanosecondType>();
            nanos.unary(|nanos| nanos.div_euclid(1_000))
        }
        _ => {
            let days = cast(array, &DataType::Date32).map_err(|error| error.to_string())?;
            let days = days.as_primitive::<Date32Type>();
            days.unary_opt(|days| i64::from(days).checked_mul(DAY_US))
        }
    })
}

/// Text that fits the type.
fn texts(array: &ArrayRef, to: &SqlType, flaws: &mut ColumnFlaws<'_>) -> Result<ArrayRef, String> {
    if let Some(fixed) = array.as_fixed_size_binary_opt() {
        let values = (0..fixed.len()).map(|row| fixed.is_valid(row).then(|| hyphenated(fixed.value(row))));
        return Ok(Arc::new(values.collect::<StringArray>()));
    }
    if matches!(to, SqlType::Text | SqlType::Varchar(None)) && is_good_text(array) {
        return Ok(array.clone());
    }
    // Text and bytes are alike in memory.
    let bytes = cast(array, &DataType::Binary).map_err(|error| error.to_string())?;
    let mut builder = StringBuilder::with_capacity(array.len(), array.get_buffer_memory_size());
    for (row, bytes) in bytes.as_binary::<i32>().iter().enumerate() {
        match bytes.map(|bytes| text(bytes, to)) {
            Some(Ok(text)) => builder.append_value(text),
            Some(Err(error)) => {
                builder.append_null();
                flaws.add(row, &error);
            }
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// The reader has checked that a column of text is UTF-8, so only zero bytes are left to look for, in all rows at once.
fn is_good_text(array: &ArrayRef) -> bool {
    array.as_string_opt::<i32>().is_some_and(|texts| {
        let offsets = texts.value_offsets();
        let (first, last) = (offsets[0] as usize, offsets[texts.len()] as usize);
        memchr::memchr(0, &texts.value_data()[first..last]).is_none()
    })
}

fn text<'a>(bytes: &'a [u8], to: &SqlType) -> Result<std::borrow::Cow<'a, str>, String> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| "invalid byte sequence for encoding \"UTF8\"".to_owned())?;
    if memchr::memchr(0, bytes).is_some() {
        return Err("invalid byte sequence for encoding \"UTF8\": 0x00".to_owned());
    }
    match to {
        SqlType::Varchar(Some(length)) => literal::varchar(text, *length).map(Into::into),
        SqlType::Json | SqlType::Jsonb => literal::json(text).map(Into::into),
        SqlType::Uuid => literal::uuid(text).map(Into::into),
        _ => Ok(text.into()),
    }
}

/// The 16 bytes of a UUID as Postgres writes them.
fn hyphenated(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

fn lists(array: &ArrayRef, element: &SqlType, flaws: &mut ColumnFlaws<'_>) -> Result<ArrayRef, String> {
    let (DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _)) =
        array.data_type()
    else {
        return Err(mismatch(
            array.data_type(),
            &SqlType::Array(Box::new(element.clone())),
        ));
    };
    let list = cast(array, &DataType::List(field.clone())).map_err(|error| error.to_string())?;
    let list = list.as_list::<i32>();
    let offsets = list.value_offsets();
    let (first, last) = (offsets[0], offsets[list.len()]);
    let values = list.values().slice(first as usize, (last - first) as usize);
    let mut inner = Flaws::default();
    let values = convert(&values, element, &mut inner.of_column("element"))?;
    let lengths: Vec<usize> = offsets
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as usize)
        .collect();
    for index in inner.rows() {
        let row = offsets.partition_point(|offset| (*offset - first) as usize <= index) - 1;
        flaws.add(row, &inner.error_of(index));
    }
    let DataType::List(field) = SqlType::Array(Box::new(element.clone())).arrow() else {
        unreachable!("an array is stored as a list")
    };
    Ok(Arc::new(ListArray::new(
        field,
        OffsetBuffer::from_lengths(lengths),
        values,
        list.nulls().cloned(),
    )))
}

fn structs(
    array: &ArrayRef,
    fields: &[(String, SqlType)],
    flaws: &mut ColumnFlaws<'_>,
) -> Result<ArrayRef, String> {
    let found = array.as_struct();
    let mut columns = Vec::with_capacity(fields.len());
    for (name, sql_type) in fields {
        columns.push(match found.column_by_name(name) {
            Some(column) => {
                let mut inner = Flaws::default();
                let converted = convert(column, sql_type, &mut inner.of_column(name))?;
                for row in inner.rows().filter(|row| found.is_valid(*row)) {
                    flaws.add(row, &inner.error_of(row));
                }
                converted
            }
            None => new_null_array(&sql_type.arrow(), array.len()),
        });
    }
    let DataType::Struct(fields) = SqlType::Struct(fields.to_vec()).arrow() else {
        unreachable!("a struct is stored as one")
    };
    StructArray::try_new_with_length(fields, columns, found.nulls().cloned(), array.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| error.to_string())
}
