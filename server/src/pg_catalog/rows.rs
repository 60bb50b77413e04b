//! Builds the rows of a system table from named values.
//!
//! A row names only the columns that say something; the others are NULL, or the zero of their type where the definition
//! says not null. Values are plain text, numbers or lists, turned into the column's Arrow type at the end.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, ListBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondBuilder, UInt32Builder, new_null_array,
};
use arrow::datatypes::{DataType, TimeUnit};
use millpond_catalog::Column;

use super::definition::SystemTable;

/// A value of a system table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// Every integer type, oids and times (microseconds since 1970) included.
    Int(i64),
    Float(f64),
    Text(String),
    /// Of integers, oids or texts.
    List(Vec<Value>),
}

macro_rules! value_from {
    ($($source:ty => $variant:ident),*) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}

value_from!(bool => Bool, i16 => Int, i32 => Int, u32 => Int, i64 => Int, f64 => Float, &str => Text, &String => Text, String => Text);

impl From<char> for Value {
    fn from(value: char) -> Self {
        Value::Text(value.to_string())
    }
}

/// Counts of rows and bytes: saturating, as no client reads numbers beyond the range of bigint.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::from(value as u64)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

/// The rows of one table, in the making.
pub struct Rows {
    table: &'static SystemTable,
    positions: HashMap<&'static str, usize>,
    columns: Vec<Vec<Value>>,
}

impl Rows {
    pub fn new(table: &'static SystemTable) -> Self {
        let positions = table
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| (c.name.as_str(), i))
            .collect();
        Self {
            table,
            positions,
            columns: vec![Vec::new(); table.columns.len()],
        }
    }

    /// Adds a row. Values for columns that the table does not have are left out, so that tables which show the same
    /// things with different columns can share the code that fills them.
    pub fn add<const N: usize>(&mut self, values: [(&str, Value); N]) {
        let mut row: Vec<Option<Value>> = vec![None; self.columns.len()];
        for (name, value) in values {
            if let Some(&position) = self.positions.get(name) {
                row[position] = Some(value);
            }
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value.unwrap_or(Value::Null));
        }
    }

    pub fn finish(self) -> RecordBatch {
        let rows = self.columns.first().map_or(0, Vec::len);
        let arrays = self
            .table
            .columns
            .iter()
            .zip(&self.columns)
            .map(|(c, values)| array(c, values))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.table.arrow.clone(), arrays, &options)
            .expect("arrays were built for the columns of this table")
    }
}

impl Value {
    /// This value, or the zero of the column's type in place of a NULL that it cannot hold.
    fn or_zero(&self, column: &Column) -> Value {
        match self {
            Value::Null if !column.nullable => match column.sql_type.arrow() {
                DataType::Boolean => Value::Bool(false),
                DataType::Utf8 => Value::Text(String::new()),
                DataType::List(_) => Value::List(Vec::new()),
                _ => Value::Int(0),
            },
            other => other.clone(),
        }
    }

    fn int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            Value::Int(n) => Some(*n as f64),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Value::Text(s) => Some(s),
            _ => None,
        }
    }
}

fn array(column: &Column, values: &[Value]) -> ArrayRef {
    let values: Vec<Value> = values.iter().map(|v| v.or_zero(column)).collect();
    let data_type = column.sql_type.arrow();
    match &data_type {
        DataType::List(element) => list_array(element.data_type(), &values),
        _ => flat_array(&data_type, &values),
    }
}

/// Appends each value, converted by `$get`, to a builder.
macro_rules! build {
    ($builder:expr, $values:expr, $get:expr) => {{
        let mut builder = $builder;
        for value in $values {
            builder.append_option($get(value));
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

fn narrow<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    value.int().and_then(|n| T::try_from(n).ok())
}

fn flat_array(data_type: &DataType, values: &[Value]) -> ArrayRef {
    match data_type {
        DataType::Boolean => build!(BooleanBuilder::new(), values, |v: &Value| match v {
            Value::Bool(b) => Some(*b),
            _ => None,
        }),
        DataType::Int16 => build!(Int16Builder::new(), values, narrow::<i16>),
        DataType::Int32 => build!(Int32Builder::new(), values, narrow::<i32>),
        DataType::Int64 => build!(Int64Builder::new(), values, Value::int),
        DataType::UInt32 => build!(UInt32Builder::new(), values, narrow::<u32>),
        DataType::Float32 => build!(Float32Builder::new(), values, |v: &Value| v
            .float()
            .map(|x| x as f32)),
        DataType::Float64 => build!(Float64Builder::new(), values, Value::float),
        DataType::Utf8 => build!(StringBuilder::new(), values, Value::text),
        DataType::Binary => build!(BinaryBuilder::new(), values, |v| Value::text(v)
            .map(str::as_bytes)),
        DataType::Date32 => build!(Date32Builder::new(), values, narrow::<i32>),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let builder = TimestampMicrosecondBuilder::new().with_timezone_opt(zone.clone());
            build!(builder, values, Value::int)
        }
        other => new_null_array(other, values.len()),
    }
}

/// Appends each list of values to a list builder over `$builder`.
macro_rules! build_list {
    ($builder:expr, $values:expr, $get:expr) => {{
        let mut builder = ListBuilder::new($builder);
        for value in $values {
            match value {
                Value::List(elements) => {
                    for element in elements {
                        builder.values().append_option($get(element));
                    }
                    builder.append(true);
                }
                _ => builder.append(false),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

fn list_array(element: &DataType, values: &[Value]) -> ArrayRef {
    match element {
        DataType::Int16 => build_list!(Int16Builder::new(), values, narrow::<i16>),
        DataType::Int32 => build_list!(Int32Builder::new(), values, narrow::<i32>),
        DataType::UInt32 => build_list!(UInt32Builder::new(), values, narrow::<u32>),
        DataType::Utf8 => build_list!(StringBuilder::new(), values, Value::text),
        other => new_null_array(&DataType::new_list(other.clone(), true), values.len()),
    }
}
