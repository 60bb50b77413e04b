//! Real files, written, interrupted and read back.

use std::fs;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    ListArray, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::Int32Type;
use arrow::util::display::array_value_to_string;
use millpond_catalog::arrow_schema;
use tempfile::TempDir;

use super::*;
use crate::memory_notes::{self, MemoryNotes, column, options};

const QUERY: &str = "0f5d4a1c-0000-4000-8000-000000000000";

struct Target {
    folder: TempDir,
    columns: Vec<Column>,
    entries: Vec<(&'static str, &'static str)>,
}

impl Target {
    fn new(columns: &[Column], entries: &[(&'static str, &'static str)]) -> Self {
        Target {
            folder: tempfile::tempdir().unwrap(),
            columns: columns.to_vec(),
            entries: entries.to_vec(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn own(&self) -> PathBuf {
        self.path().join("_millpond").join(QUERY)
    }

    fn sink(&self) -> Box<dyn Sink> {
        let path = self.path();
        let entries = [&[("path", path.to_str().unwrap())], &*self.entries].concat();
        let entries = options(&entries);
        crate::sink::validate("file", &entries, &self.columns, true).unwrap();
        crate::sink::open("file", &entries, &self.columns).unwrap()
    }

    fn batch(&self, arrays: Vec<ArrayRef>) -> RecordBatch {
        RecordBatch::try_new(arrow_schema(&self.columns), arrays).unwrap()
    }

    /// Values from..to of a single column of numbers.
    fn numbers(&self, range: std::ops::Range<i64>) -> RecordBatch {
        self.batch(vec![Arc::new(Int64Array::from_iter_values(range))])
    }

    /// Files that anyone sees, sorted.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("_millpond") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(
                        path.strip_prefix(self.path())
                            .unwrap()
                            .to_string_lossy()
                            .into_owned(),
                    );
                }
            }
        }
        files.sort();
        files
    }

    /// What our own source reads there: rows as text, sorted.
    fn read(&self, more: &[(&str, &str)]) -> Vec<String> {
        let path = self.path();
        let format = self.entries.iter().find(|(key, _)| *key == "format").unwrap().1;
        let entries = [&[("path", path.to_str().unwrap()), ("format", format)], more].concat();
        let source =
            memory_notes::open("file", &entries, &self.columns, &Arc::<MemoryNotes>::default()).unwrap();
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let mut batches = vec![RecordBatch::new_empty(source.schema())];
        for slice in source
            .slices(&source.start(), &source.latest(0).unwrap(), 1)
            .unwrap()
        {
            let mut reader = source.open(&slice, &all).unwrap();
            while let Some(batch) = reader.next().unwrap() {
                assert_eq!(batch.bad_rows, [], "{format}");
                batches.push(batch.rows);
            }
        }
        let mut rows = texts(&concat_batches(&source.schema(), &batches).unwrap());
        rows.sort();
        rows
    }
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    let value = |array: &ArrayRef, row| match array.is_null(row) {
        true => "-".to_owned(),
        false => array_value_to_string(array, row).unwrap(),
    };
    let row = |row| {
        batch
            .columns()
            .iter()
            .map(|array| value(array, row))
            .collect::<Vec<_>>()
            .join("|")
    };
    (0..batch.num_rows()).map(row).collect()
}

fn deliver(sink: &mut Box<dyn Sink>, epoch: u64, rows: RecordBatch) -> Result<(), SinkError> {
    let changes = [ChangeBatch::insertions(rows)];
    sink.write(&Delivery {
        query_id: QUERY,
        epoch,
        changes: &changes,
    })
}

fn every_type() -> (Vec<Column>, Vec<ArrayRef>) {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let list = SqlType::Array(Box::new(SqlType::Int4));
    let decimals = Decimal128Array::from(vec![Some(1_250), Some(-5), None]);
    let columns: Vec<(SqlType, ArrayRef)> = vec![
        (
            SqlType::Bool,
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
        ),
        (
            SqlType::Int8,
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(7), None])),
        ),
        (
            SqlType::Float8,
            Arc::new(Float64Array::from(vec![f64::NAN, f64::NEG_INFINITY, 1e-300])),
        ),
        (
            SqlType::Numeric(Some((10, 2))),
            Arc::new(decimals.with_precision_and_scale(10, 2).unwrap()),
        ),
        (
            SqlType::Text,
            Arc::new(StringArray::from(vec![
                Some(""),
                Some("a,\"b\"\r\nc\\ \u{e9}"),
                None,
            ])),
        ),
        (
            SqlType::Timestamp,
            Arc::new(TimestampMicrosecondArray::from(vec![
                i64::MAX,
                -1,
                1_704_067_200_123_456,
            ])),
        ),
        (
            SqlType::TimestampTz,
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(0), None, Some(i64::MIN)]).with_timezone("UTC"),
            ),
        ),
        (SqlType::Date, Arc::new(Date32Array::from(vec![-1, 0, 20_000]))),
        (
            SqlType::Time,
            Arc::new(Time64MicrosecondArray::from(vec![0, 1, 86_399_999_999])),
        ),
        (
            SqlType::Bytea,
            Arc::new(BinaryArray::from_vec(vec![b"", b"\x00\xff", b"x"])),
        ),
        (
            SqlType::Jsonb,
            Arc::new(StringArray::from(vec![Some("{\"a\": [1]}"), Some("null"), None])),
        ),
        (list, Arc::new(lists)),
    ];
    columns
        .into_iter()
        .enumerate()
        .map(|(i, (sql_type, array))| (column(&format!("c{i}"), sql_type), array))
        .unzip()
}

#[test]
fn what_is_written_is_read_back() {
    let (columns, arrays) = every_type();
    for (entries, more) in [
        (
            [("format", "parquet"), ("compression", "zstd")],
            [("compression", "auto")],
        ),
        (
            [("format", "json"), ("compression", "gzip")],
            [("compression", "auto")],
        ),
        ([("format", "csv"), ("header", "true")], [("header", "true")]),
        (
            [("format", "csv"), ("compression", "zstd")],
            [("header", "false")],
        ),
    ] {
        // CSV has no lists; JSON's null document is NULL.
        let kept = match entries[0].1 {
            "parquet" => columns.len(),
            "json" => columns.len(),
            _ => columns.len() - 1,
        };
        let target = Target::new(&columns[..kept], &entries);
        let rows = target.batch(arrays[..kept].to_vec());
        let mut sink = target.sink();
        deliver(&mut sink, 0, rows.slice(0, 2)).unwrap();
        deliver(&mut sink, 1, rows.slice(2, 1)).unwrap();
        let mut expected = texts(&rows);
        if entries[0].1 == "json" {
            expected[1] = expected[1].replace("|null|", "|-|");
        }
        expected.sort();
        assert_eq!(target.read(&more), expected, "{entries:?}");
        assert_eq!(target.files().len(), 2);
    }
}

#[test]
fn an_epoch_is_written_once_and_an_empty_one_not_at_all() {
    let target = Target::new(&[column("a", SqlType::Int8)], &[("format", "json")]);
    let mut sink = target.sink();
    deliver(&mut sink, 3, target.numbers(0..3)).unwrap();
    deliver(&mut sink, 3, target.numbers(0..3)).unwrap();
    deliver(&mut sink, 4, target.numbers(0..0)).unwrap();
    // After a restart.
    let mut sink = target.sink();
    deliver(&mut sink, 3, target.numbers(0..3)).unwrap();
    deliver(&mut sink, 5, target.numbers(3..4)).unwrap();
    assert_eq!(target.read(&[]), ["0", "1", "2", "3"]);
    assert_eq!(
        target.files(),
        [
            "part-00000003-000-0f5d4a1c.json",
            "part-00000005-000-0f5d4a1c.json"
        ]
    );
    // Another sink may write to the same folder.
    let mut other = target.sink();
    let changes = [ChangeBatch::new(
        target.numbers(7..9),
        Int64Array::from(vec![2, 1]),
    )];
    let delivery = Delivery {
        query_id: "other",
        epoch: 3,
        changes: &changes,
    };
    other.write(&delivery).unwrap();
    assert_eq!(target.read(&[]), ["0", "1", "2", "3", "7", "7", "8"]);
    let taken_back = [ChangeBatch::retractions(target.numbers(7..8))];
    let delivery = Delivery {
        query_id: "other",
        epoch: 4,
        changes: &taken_back,
    };
    assert!(matches!(other.write(&delivery), Err(SinkError::Failed { .. })));
}

#[test]
fn every_interruption_leaves_each_row_once() {
    let columns = [column("k", SqlType::Text), column("a", SqlType::Int8)];
    let target = Target::new(&columns, &[("format", "csv"), ("partition_by", "k")]);
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let rows = |first| {
        target.batch(vec![
            keys.clone(),
            Arc::new(Int64Array::from_iter_values(first..first + 3)),
        ])
    };
    let mut sink = target.sink();
    deliver(&mut sink, 0, rows(0)).unwrap();

    // Before the decision: files without names, and half a record.
    fs::write(target.own().join("0"), "9\n").unwrap();
    fs::write(target.own().join("draft"), "{\"epo").unwrap();
    let mut sink = target.sink();
    deliver(&mut sink, 1, rows(3)).unwrap();
    assert_eq!(target.read(&[]), ["x|0", "x|3", "y|1", "y|4", "z|2", "z|5"]);
    let names: Vec<_> = fs::read_dir(target.own())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");

    // After it: the first of three files has its name.
    let record = target.own().join("00000000000000000001.json");
    for named in 0..=3 {
        fs::rename(&record, target.own().join("pending")).unwrap();
        let files = target.files();
        let of_epoch = files.iter().filter(|file| file.contains("part-00000001-"));
        for (number, file) in of_epoch.enumerate().skip(named) {
            fs::rename(target.path().join(file), target.own().join(number.to_string())).unwrap();
        }
        let mut sink = target.sink();
        deliver(&mut sink, 1, rows(3)).unwrap();
        assert_eq!(
            target.read(&[]),
            ["x|0", "x|3", "y|1", "y|4", "z|2", "z|5"],
            "{named} files had names"
        );
    }
}

#[test]
fn columns_become_folders_and_columns_again() {
    let columns = [
        column("day", SqlType::Date),
        column("a", SqlType::Int8),
        column("page", SqlType::Text),
    ];
    let target = Target::new(&columns, &[("format", "parquet"), ("partition_by", "day, page")]);
    let rows = target.batch(vec![
        Arc::new(Date32Array::from(vec![Some(0), Some(0), None, Some(1)])),
        Arc::new(Int64Array::from(vec![1, 2, 3, 4])),
        Arc::new(StringArray::from(vec![
            Some("a/b=c"),
            Some("a/b=c"),
            Some("x y"),
            None,
        ])),
    ]);
    deliver(&mut target.sink(), 0, rows.clone()).unwrap();
    assert_eq!(
        target.files(),
        [
            "day=1970-01-01/page=a%2Fb%3Dc/part-00000000-000-0f5d4a1c.parquet",
            "day=1970-01-02/page=__HIVE_DEFAULT_PARTITION__/part-00000000-001-0f5d4a1c.parquet",
            "day=__HIVE_DEFAULT_PARTITION__/page=x y/part-00000000-002-0f5d4a1c.parquet",
        ]
    );
    let mut expected = texts(&rows);
    expected.sort();
    assert_eq!(target.read(&[]), expected);
}

#[test]
fn a_folder_that_cannot_be_made_is_tried_again() {
    let target = Target::new(&[column("a", SqlType::Int8)], &[("format", "json")]);
    let mut sink = target.sink();
    fs::write(target.path(), "in the way").unwrap();
    let refused = deliver(&mut sink, 0, target.numbers(0..1));
    assert!(matches!(refused, Err(SinkError::Unavailable(_))), "{refused:?}");
    fs::remove_file(target.path()).unwrap();
    deliver(&mut sink, 0, target.numbers(0..1)).unwrap();
    assert_eq!(target.read(&[]), ["0"]);
}
