//! Files of many shapes under one declaration.

use std::io::Write;

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float64Array, Int32Array, Int64Array, ListArray, StringArray, StructArray, TimestampMillisecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int32Type};
use arrow::util::display::array_value_to_string;
use millpond_catalog::SqlType::*;

use super::*;
use crate::memory_notes::{column, options};

fn file_of(batch: &RecordBatch, group_rows: usize) -> File {
    let file = tempfile::tempfile().unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let mut writer =
        ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file
}

fn format(columns: &[Column], entries: &[(&str, &str)]) -> Arc<dyn BlockFormat> {
    let options = options(entries);
    let mut reader = OptionReader::new("format \"parquet\"", &options);
    match crate::format::open("parquet", &mut reader, columns).unwrap() {
        Format::Blocks(format) => format,
        Format::Records(_) => panic!("Parquet is a format of blocks"),
    }
}

/// Rows as text and errors, all columns read from all of the file.
fn read(columns: &[Column], entries: &[(&str, &str)], batch: &RecordBatch) -> Result<Read, String> {
    let all: Vec<usize> = (0..columns.len()).collect();
    read_part(
        &*format(columns, entries),
        &all,
        &file_of(batch, 1000),
        0..u64::MAX,
    )
}

type Read = (Vec<String>, Vec<(u64, String)>);

fn read_part(
    format: &dyn BlockFormat,
    projection: &[usize],
    file: &File,
    part: Range<u64>,
) -> Result<Read, String> {
    let wanted = Wanted {
        projection,
        from_path: &[],
        header: None,
    };
    let text = |error| match error {
        BlockError::Bad(error) => error,
        other => panic!("{other:?}"),
    };
    let file = file.try_clone().unwrap();
    let mut reader = format.open("file", file, part, &wanted).map_err(text)?;
    let (mut batches, mut bad) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next().map_err(text)? {
        bad.extend(block.bad_rows.into_iter().map(|bad| (bad.number, bad.error)));
        batches.push(block.rows);
    }
    let Some(first) = batches.first() else {
        return Ok((Vec::new(), bad));
    };
    let rows = concat_batches(&first.schema(), &batches).unwrap();
    let value = |array: &ArrayRef, row| match array.is_null(row) {
        true => "-".to_owned(),
        false => array_value_to_string(array, row).unwrap(),
    };
    let row = |row| {
        let values: Vec<_> = rows.columns().iter().map(|array| value(array, row)).collect();
        values.join("|")
    };
    Ok(((0..rows.num_rows()).map(row).collect(), bad))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

#[test]
fn columns_by_name_missing_ones_null_and_wider_types() {
    let columns = [
        column("id", Int8),
        column("a", Text),
        column("b", Numeric(Some((12, 2)))),
    ];
    let old = batch(vec![
        ("b", Arc::new(Int32Array::from(vec![10, 20])) as ArrayRef),
        ("ID", Arc::new(Int32Array::from(vec![Some(1), None]))),
        ("extra", Arc::new(BooleanArray::from(vec![true, false]))),
    ]);
    assert_eq!(read(&columns, &[], &old).unwrap().0, ["1|-|10.00", "-|-|20.00"]);
    let new = batch(vec![
        ("id", Arc::new(UInt64Array::from(vec![3, u64::MAX])) as ArrayRef),
        ("a", Arc::new(BinaryArray::from_vec(vec![b"text", b"\xff"]))),
        ("b", Arc::new(Float64Array::from(vec![0.125, 1e30]))),
    ]);
    let (rows, bad) = read(&columns, &[], &new).unwrap();
    assert_eq!(rows, ["3|text|0.13"]);
    let error = "column \"id\": value \"18446744073709551615\" is out of range for type bigint";
    assert_eq!(bad, [(2, error.to_owned())]);
    // Only what is read can be bad.
    let (rows, bad) = read(&columns[1..2], &[], &new).unwrap();
    assert_eq!(
        (rows.len(), &*bad[0].1),
        (1, "column \"a\": invalid byte sequence for encoding \"UTF8\"")
    );
}

#[test]
fn a_column_of_another_kind_is_the_files_fault() {
    let texts = batch(vec![
        ("a", Arc::new(StringArray::from(vec!["1"])) as ArrayRef),
        ("b", Arc::new(Int32Array::from(vec![5]))),
    ]);
    let columns = [column("a", Int4), column("b", Int4)];
    let error = read(&columns, &[], &texts).unwrap_err();
    assert_eq!(
        error,
        "column \"a\": the file has text, which cannot be read as integer"
    );
    assert_eq!(read(&columns[1..], &[], &texts).unwrap().0, ["5"]);
    assert_eq!(
        read(&columns, &[("mode", "permissive")], &texts).unwrap().0,
        ["-|5"]
    );
    let mut not_null = column("c", Int4);
    not_null.nullable = false;
    let error = read(&[not_null], &[], &texts).unwrap_err();
    assert_eq!(error, "the file has no column \"c\", which is NOT NULL");

    let mut damaged = tempfile::tempfile().unwrap();
    damaged.write_all(b"PAR1 this is not what it says PAR1").unwrap();
    let error = read_part(&*format(&columns, &[]), &[0], &damaged, 0..100).unwrap_err();
    assert!(error.starts_with("the file is not valid Parquet"), "{error}");
}

#[test]
fn every_policy_for_bad_rows() {
    let values = batch(vec![(
        "a",
        Arc::new(Int64Array::from(vec![1, 1 << 40, 3])) as ArrayRef,
    )]);
    let columns = [column("a", Int4), column("raw", Text)];
    let corrupt = ("column_name_of_corrupt_record", "raw");
    let (rows, bad) = read(&columns, &[("mode", "permissive"), corrupt], &values).unwrap();
    assert_eq!(rows, ["1|-", "-|{\"a\":1099511627776}", "3|-"]);
    assert!(bad.is_empty());
    let (rows, bad) = read(&columns, &[("on_bad_row", "drop")], &values).unwrap();
    assert_eq!((rows.len(), bad.len()), (2, 0));
    let (rows, bad) = read(&columns, &[], &values).unwrap();
    assert_eq!((rows.len(), bad.len()), (2, 1));
    let mut not_null = column("a", Int8);
    not_null.nullable = false;
    let holes = batch(vec![(
        "a",
        Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef,
    )]);
    let (rows, bad) = read(&[not_null], &[], &holes).unwrap();
    assert_eq!(rows, ["1"]);
    assert_eq!(
        bad,
        [(2, "column \"a\": a NOT NULL column has no value".to_owned())]
    );
}

#[test]
fn times_in_every_unit() {
    let columns = [
        column("n", Timestamp),
        column("m", TimestampTz),
        column("d", Timestamp),
    ];
    let values = batch(vec![
        (
            "n",
            Arc::new(TimestampNanosecondArray::from(vec![-1, 1_500])) as ArrayRef,
        ),
        (
            "m",
            Arc::new(TimestampMillisecondArray::from(vec![1, i64::MAX]).with_timezone("UTC")),
        ),
        ("d", Arc::new(Date32Array::from(vec![1, 2]))),
    ]);
    let (rows, bad) = read(&columns, &[], &values).unwrap();
    assert_eq!(
        rows,
        ["1969-12-31T23:59:59.999999|1970-01-01T00:00:00.001Z|1970-01-02T00:00:00"]
    );
    assert_eq!(bad.len(), 1);
}

#[test]
fn nested_columns_with_their_own_drift() {
    let inner = Struct(vec![("x".to_owned(), Int8), ("y".to_owned(), Text)]);
    let columns = [column("l", Array(Box::new(Int2))), column("s", inner)];
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![Some(70_000)]),
    ]);
    let structs = StructArray::from(vec![(
        Arc::new(Field::new("x", DataType::Int32, true)),
        Arc::new(Int32Array::from(vec![7, 8, 9])) as ArrayRef,
    )]);
    let values = batch(vec![("l", Arc::new(lists) as ArrayRef), ("s", Arc::new(structs))]);
    let (rows, bad) = read(&columns, &[], &values).unwrap();
    assert_eq!(rows, ["[1, ]|{x: 7, y: }", "-|{x: 8, y: }"]);
    let error = "column \"l\": column \"element\": value \"70000\" is out of range for type smallint";
    assert_eq!(bad, [(3, error.to_owned())]);
}

#[test]
fn texts_of_special_types() {
    let columns = [
        column("u", Uuid),
        column("j", Jsonb),
        column("v", Varchar(Some(2))),
        column("p", Numeric(None)),
    ];
    let bytes = FixedSizeBinaryArray::try_from_iter([[0xab_u8; 16], [1; 16]].iter()).unwrap();
    let decimals = Decimal128Array::from(vec![12_345, -1])
        .with_precision_and_scale(10, 3)
        .unwrap();
    let values = batch(vec![
        ("u", Arc::new(bytes) as ArrayRef),
        ("j", Arc::new(StringArray::from(vec!["{}", "[1]"]))),
        ("v", Arc::new(StringArray::from(vec!["ab  ", "abc"]))),
        ("p", Arc::new(decimals)),
    ]);
    let (rows, bad) = read(&columns, &[], &values).unwrap();
    assert_eq!(
        rows,
        ["abababab-abab-abab-abab-abababababab|{}|ab|12.345000000000000"]
    );
    assert_eq!(
        bad[0].1,
        "column \"v\": value too long for type character varying(2)"
    );
}

#[test]
fn parts_hold_each_row_group_once_wherever_they_are_cut() {
    let values = batch(vec![(
        "a",
        Arc::new(Int64Array::from_iter_values(0..1000)) as ArrayRef,
    )]);
    let file = file_of(&values, 70);
    let size = file.metadata().unwrap().len();
    let format = format(&[column("a", Int8)], &[]);
    let everything: Vec<String> = (0..1000).map(|value| value.to_string()).collect();
    for step in [1, 50, 333, size / 2, size] {
        let mut rows = Vec::new();
        for start in (0..size).step_by(step as usize) {
            rows.extend(read_part(&*format, &[0], &file, start..start + step).unwrap().0);
        }
        assert_eq!(rows, everything, "parts of {step} bytes");
    }
    // A part of a block has its share of the rows.
    let blocks = format.blocks("file", file.try_clone().unwrap(), &[0]).unwrap();
    assert_eq!(blocks.len(), 15);
    assert!(blocks.iter().all(|block| block.bytes > 0));
    let middle = (blocks[0].start + blocks[1].start) / 2;
    let half = read_part(&*format, &[0], &file, 0..middle).unwrap().0;
    assert!((30..40).contains(&half.len()), "{} of 70 rows", half.len());
    // No column wanted: the rows count.
    let wanted = Wanted {
        projection: &[],
        from_path: &[],
        header: None,
    };
    let mut reader = format
        .open("file", file, 0..size, &wanted)
        .unwrap_or_else(|_| panic!("a good file"));
    let mut rows = 0;
    while let Ok(Some(block)) = reader.next() {
        rows += block.rows.num_rows();
    }
    assert_eq!(rows, 1000);
}
