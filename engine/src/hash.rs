//! The hash of a row over some of its columns: it names the worker where equal rows meet.
//!
//! Exchange and restore both use it, so state written by one worker finds the worker that will see the same key again.
//! Equal values have equal hashes in the sense of GROUP BY: all NULLs are one value, as are all NaNs, and 0.0 and -0.0.
//! Nothing here depends on the process, the machine or the number of rows in a batch.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, downcast_primitive_array,
};
use arrow::datatypes::{ArrowNativeType, DataType, Float32Type, Float64Type, ToByteSlice};
use arrow::row::{RowConverter, SortField};

use crate::error::{Error, Result};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const NULL: u64 = 0xa076_1d64_78bd_642f;
const MULTIPLIER: u64 = 0xe703_7ed1_a0b4_28db;

/// One hash per row over `columns`, into `hashes`, which is overwritten. Without columns all rows have one hash.
pub fn hash_rows(columns: &[ArrayRef], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
    start(rows, hashes);
    for column in columns {
        hash_column(&canonical(column), hashes)?;
    }
    Ok(())
}

/// Like [`hash_rows`], over columns that are canonical.
pub(crate) fn hash_canonical_rows(columns: &[ArrayRef], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
    start(rows, hashes);
    columns.iter().try_for_each(|column| hash_column(column, hashes))
}

fn start(rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(rows, SEED);
}

/// The worker among `workers` that rows with this hash belong to.
pub fn worker_of(hash: u64, workers: usize) -> usize {
    // The high bits decide, so that the low ones stay evenly spread for hash tables on that worker.
    ((u128::from(hash) * workers as u128) >> 64) as usize
}

/// The column with one form for all NaNs and for both zeros, so that equal keys are equal bits.
pub(crate) fn canonical(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            Arc::new(values.unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v + 0.0 }))
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            Arc::new(values.unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v + 0.0 }))
        }
        _ => Arc::clone(column),
    }
}

/// The error for a column that cannot be compared for equality.
pub(crate) fn not_a_key(data_type: &DataType) -> Error {
    Error::Unsupported {
        message: format!("values of type {data_type} cannot be compared, so they cannot be grouped"),
        hint: Some("Group by a text form of the value instead, for example CAST(x AS text).".to_owned()),
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

fn combine(hash: u64, value: u64) -> u64 {
    mix(hash ^ value, MULTIPLIER)
}

/// Mixes `column`, which is canonical, into the hash of every row.
fn hash_column(column: &ArrayRef, hashes: &mut [u64]) -> Result<()> {
    let array: &dyn Array = column.as_ref();
    downcast_primitive_array!(
        array => hash_primitive(array, hashes),
        DataType::Boolean => hash_boolean(column.as_boolean(), hashes),
        DataType::Utf8 => {
            let strings = column.as_string::<i32>();
            hash_bytes(column, hashes, |row| strings.value(row).as_bytes());
        }
        DataType::LargeUtf8 => {
            let strings = column.as_string::<i64>();
            hash_bytes(column, hashes, |row| strings.value(row).as_bytes());
        }
        DataType::Utf8View => {
            let strings = column.as_string_view();
            hash_bytes(column, hashes, |row| strings.value(row).as_bytes());
        }
        DataType::Binary => {
            let bytes = column.as_binary::<i32>();
            hash_bytes(column, hashes, |row| bytes.value(row));
        }
        DataType::LargeBinary => {
            let bytes = column.as_binary::<i64>();
            hash_bytes(column, hashes, |row| bytes.value(row));
        }
        DataType::BinaryView => {
            let bytes = column.as_binary_view();
            hash_bytes(column, hashes, |row| bytes.value(row));
        }
        DataType::Null => hashes.iter_mut().for_each(|hash| *hash = combine(*hash, NULL)),
        data_type => {
            let fields = vec![SortField::new(data_type.clone())];
            let converter = RowConverter::new(fields).map_err(|_| not_a_key(data_type))?;
            let encoded = converter.convert_columns(std::slice::from_ref(column))?;
            for (hash, row) in hashes.iter_mut().zip(&encoded) {
                *hash = hash_slice(*hash, row.as_ref());
            }
        }
    );
    Ok(())
}

fn hash_primitive<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, hashes: &mut [u64]) {
    let values = array.values();
    match array.nulls() {
        None => {
            for (hash, value) in hashes.iter_mut().zip(values.iter()) {
                *hash = hash_native(*hash, *value);
            }
        }
        Some(nulls) => {
            for ((hash, value), valid) in hashes.iter_mut().zip(values.iter()).zip(nulls.iter()) {
                *hash = if valid {
                    hash_native(*hash, *value)
                } else {
                    combine(*hash, NULL)
                };
            }
        }
    }
}

/// The size is known when compiling, so that only one arm remains.
fn hash_native<N: ArrowNativeType>(hash: u64, value: N) -> u64 {
    let bytes = value.to_byte_slice();
    let mut word = [0; 8];
    match size_of::<N>() {
        size @ 1..=8 => {
            word[..size].copy_from_slice(bytes);
            combine(hash, u64::from_le_bytes(word))
        }
        _ => bytes.chunks_exact(8).fold(hash, |hash, chunk| {
            word.copy_from_slice(chunk);
            combine(hash, u64::from_le_bytes(word))
        }),
    }
}

fn hash_boolean(array: &BooleanArray, hashes: &mut [u64]) {
    for (row, hash) in hashes.iter_mut().enumerate() {
        *hash = combine(
            *hash,
            if array.is_null(row) {
                NULL
            } else {
                array.value(row).into()
            },
        );
    }
}

fn hash_bytes<'a>(array: &ArrayRef, hashes: &mut [u64], value: impl Fn(usize) -> &'a [u8]) {
    for (row, hash) in hashes.iter_mut().enumerate() {
        *hash = if array.is_null(row) {
            combine(*hash, NULL)
        } else {
            hash_slice(*hash, value(row))
        };
    }
}

fn hash_slice(hash: u64, bytes: &[u8]) -> u64 {
    let mut hash = combine(hash, bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = combine(hash, u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = combine(hash, u64::from_le_bytes(last));
    }
    hash
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringArray};

    use super::*;

    fn hashes(columns: &[ArrayRef]) -> Vec<u64> {
        let mut hashes = Vec::new();
        hash_rows(columns, columns[0].len(), &mut hashes).unwrap();
        hashes
    }

    #[test]
    fn equal_group_keys_have_equal_hashes() {
        let negative_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
        let floats = Float64Array::from(vec![
            Some(0.0),
            Some(-0.0),
            Some(f64::NAN),
            Some(negative_nan),
            None,
            Some(1.0),
        ]);
        let h = hashes(&[Arc::new(floats)]);
        assert_eq!(h[0], h[1]);
        assert_eq!(h[2], h[3]);
        assert_eq!(h.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    }

    #[test]
    fn a_sliced_batch_hashes_like_the_whole() {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter((0..100).map(|i| (i % 7 != 0).then_some(i))));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..100).map(|i| format!("key {i}")),
        ));
        let whole = hashes(&[ints.clone(), texts.clone()]);
        assert_eq!(hashes(&[ints.slice(13, 50), texts.slice(13, 50)]), whole[13..63]);
    }

    #[test]
    fn small_integers_spread_over_workers() {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(0..30_000));
        let mut counts = [0; 3];
        for hash in hashes(&[ints]) {
            counts[worker_of(hash, 3)] += 1;
        }
        assert!(counts.iter().all(|n| (9_500..10_500).contains(n)), "{counts:?}");
    }
}
