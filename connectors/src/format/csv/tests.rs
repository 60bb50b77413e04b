//! Records in, rows and bad records out, by the rules of COPY.

mod random;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::util::display::array_value_to_string;
use millpond_catalog::SqlType::*;

use super::*;
use crate::memory_notes::{column, options};

fn format(columns: &[Column], entries: &[(&str, &str)]) -> Result<Arc<dyn RecordFormat>> {
    let options = options(entries);
    let mut reader = OptionReader::new("format \"csv\"", &options);
    let format = crate::format::open("csv", &mut reader, columns)?;
    reader.finish()?;
    match format {
        Format::Records(format) => Ok(format),
        Format::Blocks(_) => panic!("CSV is a format of records"),
    }
}

fn abc() -> Vec<Column> {
    vec![column("a", Int4), column("b", Text), column("c", Timestamp)]
}

/// The rows as text, columns parted by `|`, NULL as `-`.
fn shown(batch: &RecordBatch) -> Vec<String> {
    let value = |array: &ArrayRef, row| match array.is_null(row) {
        true => "-".to_owned(),
        false => array_value_to_string(array, row).unwrap(),
    };
    let row = |row| {
        let values: Vec<_> = batch.columns().iter().map(|array| value(array, row)).collect();
        values.join("|")
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Rows and errors of the records, all columns read.
fn read(columns: &[Column], entries: &[(&str, &str)], records: &str) -> (Vec<String>, Vec<String>) {
    let all: Vec<usize> = (0..columns.len()).collect();
    read_columns(columns, entries, &all, None, records.as_bytes())
}

fn read_columns(
    columns: &[Column],
    entries: &[(&str, &str)],
    projection: &[usize],
    header: Option<&str>,
    records: &[u8],
) -> (Vec<String>, Vec<String>) {
    let wanted = Wanted {
        projection,
        from_path: &[],
        header: header.map(str::as_bytes),
    };
    let mut decoder = format(columns, entries).unwrap().decoder(&wanted).unwrap();
    let decoded = decoder.decode(records);
    let schema = decoded[0].rows.schema();
    let rows = concat_batches(&schema, decoded.iter().map(|batch| &batch.rows)).unwrap();
    let bytes: u64 = decoded.iter().map(|batch| batch.bytes).sum();
    assert_eq!(bytes, records.len() as u64);
    let bad = decoded.iter().flat_map(|batch| &batch.bad_lines);
    (shown(&rows), bad.map(|bad| bad.error.clone()).collect())
}

#[test]
fn an_unquoted_empty_field_is_null_and_a_quoted_one_is_not() {
    let columns = [column("a", Text), column("b", Text), column("c", Int4)];
    let (rows, bad) = read(&columns, &[], "x,,\n\"\",\" \",1\n,\"\"\"\",\"2\"\n");
    assert_eq!(rows, ["x|-|-", "| |1", "-|\"|2"]);
    assert!(bad.is_empty());
    // Quoted, the null text is a text.
    let (rows, _) = read(&columns, &[("null", "NA")], "NA,\"NA\",NA\n,x,3\n");
    assert_eq!(rows, ["-|NA|-", "|x|3"]);
}

#[test]
fn quotes_take_the_meaning_from_delimiters_line_ends_and_themselves() {
    let columns = [column("a", Text), column("b", Text)];
    let text = "\"a,b\",\"two\nlines\"\r\n\"say \"\"hi\"\"\",\"z\r\n";
    let (rows, bad) = read(&columns, &[], text);
    assert_eq!(rows, ["a,b|two\nlines"]);
    assert_eq!(bad, ["unterminated CSV quoted field"]);
    // A quote inside an unquoted field begins a quoted part, as in COPY.
    let (rows, bad) = read(&columns, &[], "x\"y,\"z,1\n\"a\"b,\"\"\"\"\n");
    assert_eq!(rows, ["xy,z|1", "ab|\""]);
    assert!(bad.is_empty());
}

#[test]
fn line_ends_blank_lines_and_a_last_line_without_end() {
    let (rows, bad) = read(
        &abc(),
        &[],
        "1,x,\r\n\r\n\n2,\"y\",2024-01-01\r\n3,z,2024-01-01 10:00",
    );
    assert_eq!(
        rows,
        ["1|x|-", "2|y|2024-01-01T00:00:00", "3|z|2024-01-01T10:00:00"]
    );
    assert!(bad.is_empty());
    // A single column may be NULL on a line of its own.
    let (rows, _) = read(&[column("a", Text)], &[], "x\n\n\"\"\r\ny");
    assert_eq!(rows, ["x", "-", "", "y"]);
}

#[test]
fn characters_can_be_chosen() {
    let columns = [column("a", Text), column("b", Int4)];
    let entries = [("sep", "\\t"), ("quote", "'"), ("escape", "\\"), ("null", "\\N")];
    let (rows, bad) = read(&columns, &entries, "'it\\'s\ta \\\\ \\x'\t\\N\n\t7\n");
    assert_eq!(rows, ["it's\ta \\ \\x|-", "|7"]);
    assert!(bad.is_empty());
    let (rows, _) = read(&columns, &[("quote", "none"), ("delimiter", ";")], "\"a;1\n");
    assert_eq!(rows, ["\"a|1"]);

    for (entries, message) in [
        (
            [("delimiter", ";;")].as_slice(),
            "\";;\" is not one ASCII character",
        ),
        (&[("delimiter", "\"")], "it is the quote or escape character, too"),
        (&[("null", ",")], "it contains the delimiter or a line end"),
        (&[("quote", "\n")], "it is a line end"),
        (&[("header", "maybe")], "\"maybe\" is not true or false"),
    ] {
        let error = format(&columns, entries).err().expect(message).to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn records_of_another_length_and_values_that_do_not_fit_are_bad() {
    let text = "1,x\n2,x,2024-01-01,y\n3,x,soon\nfour,x,\n5,x,\n";
    let (rows, bad) = read(&abc(), &[], text);
    assert_eq!(rows, ["5|x|-"]);
    assert_eq!(
        bad,
        [
            "missing data for column \"c\"",
            "extra data after last expected column: 4 values for 3 columns",
            "column \"c\": invalid input syntax for type timestamp without time zone: \"soon\"",
            "column \"a\": invalid input syntax for type integer: \"four\"",
        ]
    );
    // Only what is read can be bad; how many fields there are always counts.
    let (rows, bad) = read_columns(&abc(), &[], &[1], None, text.as_bytes());
    assert_eq!((rows.len(), bad.len()), (3, 2));
    let (rows, bad) = read_columns(&abc(), &[], &[], None, text.as_bytes());
    assert_eq!((rows.len(), bad.len()), (3, 2));
}

#[test]
fn every_policy_for_bad_rows() {
    let mut columns = abc();
    columns.push(column("raw", Text));
    let text = "1,x\n2,y,soon\n3,z,\n";
    let corrupt = ("column_name_of_corrupt_record", "raw");
    let (rows, bad) = read(&columns, &[("mode", "PERMISSIVE"), corrupt], text);
    assert_eq!(rows, ["1|x|-|1,x", "2|y|-|2,y,soon", "3|z|-|-"]);
    assert!(bad.is_empty());
    let (rows, bad) = read(&columns, &[("mode", "DROPMALFORMED"), corrupt], text);
    assert_eq!((rows, bad.len()), (vec!["3|z|-|-".to_owned()], 0));
    let (rows, bad) = read(&columns, &[corrupt], text);
    assert_eq!((rows, bad.len()), (vec!["3|z|-|-".to_owned()], 2));
    let mut not_null = abc();
    not_null[0].nullable = false;
    let (rows, bad) = read(&not_null, &[], ",x,\n1,y,\n");
    assert_eq!(rows, ["1|y|-"]);
    assert_eq!(bad, ["column \"a\": a NOT NULL column has no value"]);
}

#[test]
fn text_that_is_no_text_is_a_bad_row() {
    let columns = [column("a", Int4), column("b", Text)];
    let (rows, bad) = read_columns(
        &columns,
        &[],
        &[0, 1],
        None,
        b"1,\xff\"\n2,x\n3,a\0b\n4,\"\xc3\xa9\"\n",
    );
    // The quote behind the broken byte begins a quoted part.
    assert_eq!(rows, Vec::<String>::new());
    assert_eq!(bad, ["unterminated CSV quoted field"]);
    let (rows, bad) = read_columns(
        &columns,
        &[],
        &[0, 1],
        None,
        b"1,\xff\n2,x\n3,a\0b\n4,\"\xc3\xa9\"\n",
    );
    assert_eq!(rows, ["2|x", "4|\u{e9}"]);
    assert_eq!(
        bad,
        [
            "invalid byte sequence for encoding \"UTF8\": 0xff at byte 3 of the row",
            "invalid byte sequence for encoding \"UTF8\": 0x00 at byte 4 of the row",
        ]
    );
}

#[test]
fn columns_are_found_by_the_names_of_the_header() {
    let header = [("header", "true")];
    let read = |names: &str, records: &str| {
        read_columns(&abc(), &header, &[0, 1, 2], Some(names), records.as_bytes()).0
    };
    assert_eq!(read("c,x,b,a", "2024-01-01,9,t,1\n"), ["1|t|2024-01-01T00:00:00"]);
    assert_eq!(read("\"B\", A ", "t,1\n"), ["1|t|-"]);
    // The exact name wins over the same in another case.
    assert_eq!(read("A,a,b", "1,2,t\n"), ["2|t|-"]);

    let error = |names: Option<&str>| {
        let wanted = Wanted {
            projection: &[0],
            from_path: &[],
            header: names.map(str::as_bytes),
        };
        format(&abc(), &header).unwrap().decoder(&wanted).err().unwrap()
    };
    assert_eq!(
        error(Some("1,2,3")),
        "the header names none of the declared columns: it is 1, 2, 3, and declared are a, b, c"
    );
    assert_eq!(error(Some("a,\"b")), "a quote in the header is not closed");
    assert_eq!(error(None), "the file has no header line");
}

#[test]
fn columns_of_the_path_are_not_in_the_file() {
    let wanted = Wanted {
        projection: &[1, 2],
        from_path: &[0],
        header: None,
    };
    let mut decoder = format(&abc(), &[]).unwrap().decoder(&wanted).unwrap();
    let decoded = decoder.decode(b"x,2024-01-01\n");
    assert_eq!(shown(&decoded[0].rows), ["x|2024-01-01T00:00:00"]);
}

#[test]
fn every_type_but_the_nested_ones() {
    let types = [
        Bool,
        Int2,
        Int8,
        Float4,
        Float8,
        Numeric(Some((6, 2))),
        Varchar(Some(3)),
        Bytea,
        Date,
        Time,
    ];
    let types = [&types[..], &[TimestampTz, Interval, Uuid, Json, Jsonb]].concat();
    let columns: Vec<Column> = types
        .into_iter()
        .enumerate()
        .map(|(i, sql_type)| column(&format!("c{i}"), sql_type))
        .collect();
    let text = "t, 7 ,-9,1.5,NaN,1.005,abc,\\x0aff,2024-02-29,10:00,2024-01-01 10:00+02,1 day,\
                A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,\"{\"\"a\"\": [1]}\",null\n";
    let (rows, bad) = read(&columns, &[], text);
    assert_eq!(bad, Vec::<String>::new());
    assert_eq!(
        rows,
        [
            "true|7|-9|1.5|NaN|1.01|abc|0aff|2024-02-29|10:00:00|2024-01-01T08:00:00Z|1 days|\
             a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|{\"a\": [1]}|null"
        ]
    );
    let (_, bad) = read(&[column("a", Json)], &[], "{a}\n");
    assert_eq!(bad, ["column \"a\": invalid input syntax for type json: \"{a}\""]);
    let columns = [column("a", Timestamp)];
    let (rows, bad) = read(&columns, &[("epoch_unit", "ms")], "1704067200500\n2024-01-01\n");
    assert_eq!(rows, ["2024-01-01T00:00:00.500", "2024-01-01T00:00:00"]);
    assert!(bad.is_empty());
    let error = format(&[column("a", Array(Box::new(Int4)))], &[]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "column \"a\" of type integer[] cannot be read from CSV"
    );
}
