//! Functions of arrays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::functions_nested::cardinality::cardinality_udf;
use millpond_catalog::SqlType;

use super::{Kind, Overload, RowFunction, as_float, as_int, int4};
use crate::error::{Error, ErrorKind};

type Outcome<T> = std::result::Result<T, Error>;
type Result = Outcome<ScalarValue>;

pub fn list() -> Vec<RowFunction> {
    use Kind::{Element, Is, List};
    let f = RowFunction::new;
    let of = Overload::of;
    let int = || Is(SqlType::Int4);
    let ints = || Is(SqlType::Array(Box::new(SqlType::Int4)));
    let bool = || Is(SqlType::Bool);
    let floats = || Is(SqlType::Array(Box::new(SqlType::Float8)));
    vec![
        f(
            "cardinality",
            vec![of(vec![List], int(), |v| int4(leaves(&elements(&v[0])?)))],
        )
        .over(cardinality_udf()),
        f(
            "array_length",
            vec![of(vec![List, int()], int(), |v| {
                let mut elements = elements(&v[0])?;
                for _ in 1..as_int(&v[1]) {
                    elements = match elements.data_type() {
                        DataType::List(_) if !elements.is_empty() => elements.as_list::<i32>().value(0),
                        _ => return Ok(ScalarValue::Int32(None)),
                    };
                }
                if elements.is_empty() || as_int(&v[1]) < 1 {
                    return Ok(ScalarValue::Int32(None));
                }
                int4(elements.len())
            })],
        ),
        // What percentile_cont of several fractions makes of the values in order.
        f(
            "array_percentile_cont",
            vec![of(vec![floats(), floats()], floats(), percentile_cont)],
        ),
        f("array_ndims", vec![of(vec![List], int(), dimensions)]),
        f("trim_array", vec![of(vec![List, int()], List, trim)]),
        f(
            "array_position",
            vec![of(vec![List, Element], int(), position).with_nulls()],
        ),
        f(
            "array_positions",
            vec![of(vec![List, Element], ints(), positions).with_nulls()],
        ),
        f(
            "array_remove",
            vec![of(vec![List, Element], List, remove).with_nulls()],
        ),
        f(
            "array_replace",
            vec![of(vec![List, Element, Element], List, replace).with_nulls()],
        ),
        // What `@>` and `&&` are.
        f(
            "array_contains_all",
            vec![of(vec![List, List], bool(), |v| contains(&v[0], &v[1]))],
        ),
        f("array_overlap", vec![of(vec![List, List], bool(), overlap)]),
    ]
}

fn elements(list: &ScalarValue) -> Outcome<ArrayRef> {
    match list {
        ScalarValue::List(list) => Ok(list.value(0)),
        other => unreachable!("an array, not {other:?}"),
    }
}

fn values(list: &ScalarValue) -> Outcome<Vec<ScalarValue>> {
    let elements = elements(list)?;
    (0..elements.len())
        .map(|i| ScalarValue::try_from_array(&elements, i).map_err(bug))
        .collect()
}

fn bug(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}

/// An array with the element type of `like`.
fn array(like: &ScalarValue, values: Vec<ScalarValue>) -> Result {
    let element = elements(like)?.data_type().clone();
    list_of(&element, values)
}

fn list_of(element: &DataType, values: Vec<ScalarValue>) -> Result {
    let values = if values.is_empty() {
        new_empty_array(element)
    } else {
        ScalarValue::iter_to_array(values).map_err(bug)?
    };
    let field = Arc::new(Field::new_list_field(element.clone(), true));
    let list =
        ListArray::try_new(field, OffsetBuffer::from_lengths([values.len()]), values, None).map_err(bug)?;
    Ok(ScalarValue::List(Arc::new(list)))
}

/// Elements of all dimensions.
fn leaves(elements: &ArrayRef) -> usize {
    match elements.data_type() {
        DataType::List(_) => {
            let lists = elements.as_list::<i32>();
            (0..lists.len())
                .filter(|i| lists.is_valid(*i))
                .map(|i| leaves(&lists.value(i)))
                .sum()
        }
        _ => elements.len(),
    }
}

/// An empty array has none.
fn dimensions(v: &[ScalarValue]) -> Result {
    let mut elements = elements(&v[0])?;
    let mut count = 1;
    if elements.is_empty() {
        return Ok(ScalarValue::Int32(None));
    }
    while let DataType::List(_) = elements.data_type() {
        count += 1;
        elements = elements.as_list::<i32>().value(0);
    }
    int4(count)
}

fn trim(v: &[ScalarValue]) -> Result {
    let mut kept = values(&v[0])?;
    let Some(length) = usize::try_from(as_int(&v[1]))
        .ok()
        .and_then(|n| kept.len().checked_sub(n))
    else {
        let message = format!("number of elements to trim must be between 0 and {}", kept.len());
        return Err(Error::new(ErrorKind::InvalidParameterValue, message));
    };
    kept.truncate(length);
    array(&v[0], kept)
}

/// NULL is like NULL in the functions that look for elements.
fn places(v: &[ScalarValue]) -> Outcome<Vec<i64>> {
    let values = values(&v[0])?;
    let found = values.iter().enumerate().filter(|(_, value)| alike(value, &v[1]));
    Ok(found.map(|(i, _)| i as i64 + 1).collect())
}

fn alike(left: &ScalarValue, right: &ScalarValue) -> bool {
    left == right || (left.is_null() && right.is_null())
}

fn position(v: &[ScalarValue]) -> Result {
    if v[0].is_null() {
        return Ok(ScalarValue::Int32(None));
    }
    places(v)?
        .first()
        .map_or(Ok(ScalarValue::Int32(None)), |place| int4(*place))
}

fn positions(v: &[ScalarValue]) -> Result {
    if v[0].is_null() {
        return Ok(ScalarValue::Null);
    }
    let places = places(v)?.into_iter().map(int4).collect::<Outcome<_>>()?;
    list_of(&DataType::Int32, places)
}

fn remove(v: &[ScalarValue]) -> Result {
    if v[0].is_null() {
        return Ok(ScalarValue::Null);
    }
    let mut kept = values(&v[0])?;
    kept.retain(|value| !alike(value, &v[1]));
    array(&v[0], kept)
}

fn replace(v: &[ScalarValue]) -> Result {
    if v[0].is_null() {
        return Ok(ScalarValue::Null);
    }
    let mut changed = values(&v[0])?;
    for value in changed.iter_mut().filter(|value| alike(value, &v[1])) {
        *value = v[2].clone();
    }
    array(&v[0], changed)
}

/// Every element of the second array is one of the first; NULL is none of them.
fn contains(all: &ScalarValue, some: &ScalarValue) -> Result {
    let (all, some) = (values(all)?, values(some)?);
    let inside = |value: &ScalarValue| !value.is_null() && all.contains(value);
    Ok(ScalarValue::Boolean(Some(some.iter().all(inside))))
}

fn overlap(v: &[ScalarValue]) -> Result {
    let (left, right) = (values(&v[0])?, values(&v[1])?);
    let inside = |value: &ScalarValue| !value.is_null() && right.contains(value);
    Ok(ScalarValue::Boolean(Some(left.iter().any(inside))))
}

fn fraction(value: f64) -> Outcome<f64> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    let message = format!("percentile value {value} is not between 0 and 1");
    Err(Error::new(ErrorKind::NumericOutOfRange, message))
}

/// Values between the ordered ones, one for each fraction.
fn percentile_cont(v: &[ScalarValue]) -> Result {
    let floats = |list: &ScalarValue| -> Outcome<Vec<Option<f64>>> {
        let float = |value: &ScalarValue| (!value.is_null()).then(|| as_float(value));
        Ok(values(list)?.iter().map(float).collect())
    };
    let ordered: Vec<f64> = floats(&v[0])?.into_iter().flatten().collect();
    if ordered.is_empty() {
        return Ok(ScalarValue::Null);
    }
    let mut found = Vec::new();
    for wanted in floats(&v[1])? {
        found.push(ScalarValue::Float64(match wanted {
            Some(wanted) => {
                let place = fraction(wanted)? * (ordered.len() - 1) as f64;
                let (low, high) = (ordered[place.floor() as usize], ordered[place.ceil() as usize]);
                Some(if low == high {
                    low
                } else {
                    low + (place - place.floor()) * (high - low)
                })
            }
            None => None,
        }));
    }
    list_of(&DataType::Float64, found)
}
