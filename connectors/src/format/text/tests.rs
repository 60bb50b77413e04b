//! Lines of text.

use arrow::array::{Array, AsArray};
use millpond_catalog::SqlType::*;

use super::*;
use crate::memory_notes::{column, options};

fn decoded(columns: &[Column], entries: &[(&str, &str)], lines: &[u8]) -> Vec<Decoded> {
    let options = options(entries);
    let mut reader = OptionReader::new("format \"text\"", &options);
    let Format::Records(format) = crate::format::open("text", &mut reader, columns).unwrap() else {
        panic!("text is a format of records")
    };
    let all: Vec<usize> = (0..columns.len()).collect();
    let wanted = Wanted {
        projection: &all,
        from_path: &[],
        header: None,
    };
    format.decoder(&wanted).unwrap().decode(lines)
}

#[test]
fn a_row_per_line_also_an_empty_one() {
    let decoded = decoded(&default_columns(), &[], b"one, \"two\"\r\n\n  three\nlast");
    let values: Vec<_> = decoded[0]
        .rows
        .column(0)
        .as_string::<i32>()
        .iter()
        .flatten()
        .collect();
    assert_eq!(values, ["one, \"two\"", "", "  three", "last"]);
}

#[test]
fn what_is_no_text_is_a_bad_row() {
    let lines = b"ok\n\xff\xfe\na\0b\nok\n";
    let bad = decoded(&default_columns(), &[], lines);
    assert_eq!((bad[0].rows.num_rows(), bad[0].bad_lines.len()), (2, 2));
    let columns = [column("line", Text), column("raw", Text)];
    let entries = [("mode", "permissive"), ("column_name_of_corrupt_record", "raw")];
    let kept = decoded(&columns, &entries, lines);
    let raw = kept[0].rows.column(1);
    assert_eq!((kept[0].rows.num_rows(), raw.null_count()), (4, 2));
}

#[test]
fn one_column_of_type_text() {
    let open = |columns: &[Column]| {
        let options = options(&[]);
        let mut reader = OptionReader::new("format \"text\"", &options);
        crate::format::open("text", &mut reader, columns)
    };
    let error = open(&[column("a", Int4)]).err().unwrap();
    assert_eq!(error.to_string(), "format \"text\" needs a column of type text");
    let Ok(Format::Records(format)) = open(&[column("a", Text), column("day", Date)]) else {
        panic!("the day may be in the path");
    };
    let wanted = |from_path| Wanted {
        projection: &[0],
        from_path,
        header: None,
    };
    assert!(format.decoder(&wanted(&[1])).is_ok());
    let error = format.decoder(&wanted(&[])).err().unwrap();
    assert!(error.ends_with("not part of the path: a, day"), "{error}");
}
