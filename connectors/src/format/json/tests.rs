//! Lines in, rows and bad lines out.

mod random;

use arrow::array::{Array, AsArray};
use arrow::compute::concat_batches;
use arrow::util::display::array_value_to_string;
use millpond_catalog::SqlType::*;

use super::*;
use crate::format::BadLine;
use crate::memory_notes::{column, options};
use arrow::array::{ArrayRef, RecordBatch};

/// A decoder for all of `columns`.
fn decoder(columns: &[Column], entries: &[(&str, &str)]) -> Box<dyn Decoder> {
    let all: Vec<usize> = (0..columns.len()).collect();
    format(columns, entries).unwrap().decoder(&wanted(&all)).unwrap()
}

fn wanted(projection: &[usize]) -> Wanted<'_> {
    Wanted {
        projection,
        from_path: &[],
        header: None,
    }
}

fn format(columns: &[Column], entries: &[(&str, &str)]) -> Result<Arc<dyn RecordFormat>> {
    let options = options(entries);
    let mut reader = OptionReader::new("format \"json\"", &options);
    let format = crate::format::open("json", &mut reader, columns)?;
    reader.finish()?;
    match format {
        Format::Records(format) => Ok(format),
        Format::Blocks(_) => panic!("JSON is a format of records"),
    }
}

/// All rows of the lines, and the bad lines with their text and error.
fn decode(decoder: &mut dyn Decoder, lines: &[u8]) -> (RecordBatch, Vec<(String, String)>) {
    let decoded = decoder.decode(lines);
    let schema = decoded[0].rows.schema();
    let rows = concat_batches(&schema, decoded.iter().map(|batch| &batch.rows)).unwrap();
    let text = |bad: &BadLine| String::from_utf8_lossy(&lines[bad.start..bad.end]).into_owned();
    let bad = decoded
        .iter()
        .flat_map(|batch| &batch.bad_lines)
        .map(|bad| (text(bad), bad.error.clone()))
        .collect();
    assert_eq!(
        decoded.iter().map(|batch| batch.bytes).sum::<u64>(),
        lines.len() as u64
    );
    (rows, bad)
}

/// The rows as text, columns parted by `|`, NULL as `-`.
fn rows(batch: &RecordBatch) -> Vec<String> {
    let value = |array: &ArrayRef, row| match array.is_null(row) {
        true => "-".to_owned(),
        false => array_value_to_string(array, row).unwrap(),
    };
    (0..batch.num_rows())
        .map(|row| {
            batch
                .columns()
                .iter()
                .map(|array| value(array, row))
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect()
}

#[track_caller]
fn check(columns: &[Column], entries: &[(&str, &str)], lines: &str, expected: &[&str], errors: &[&str]) {
    let (batch, bad) = decode(&mut *decoder(columns, entries), lines.as_bytes());
    assert_eq!(rows(&batch), expected);
    let told: Vec<&str> = bad.iter().map(|(_, error)| error.as_str()).collect();
    assert_eq!(told, errors);
}

/// One column `v` of type `sql_type`.
#[track_caller]
fn check_values(sql_type: millpond_catalog::SqlType, good: &[(&str, &str)], bad: &[(&str, &str)]) {
    let columns = [column("v", sql_type)];
    for (json, value) in good {
        check(&columns, &[], &format!("{{\"v\": {json}}}"), &[value], &[]);
    }
    for (json, error) in bad {
        check(
            &columns,
            &[],
            &format!("{{\"v\": {json}}}"),
            &[],
            &[&format!("column \"v\": {error}")],
        );
    }
}

#[test]
fn fields_by_name_with_null_for_missing_and_last_duplicate() {
    let columns = [column("a", Int4), column("b", Text)];
    let lines = r#"{"a":1,"b":"x"}
{"b":"y"}
{"a":null,"b":null,"extra":{"deep":[1,{"a":7}]}}
{"b":"first","a":1,"b":"last","a":2}
{}
  {  "b" : "spaced" ,	"a" : -3 }  
"#;
    check(
        &columns,
        &[],
        lines,
        &["1|x", "-|y", "-|-", "2|last", "-|-", "-3|spaced"],
        &[],
    );
}

#[test]
fn names_match_exactly_before_they_match_without_case() {
    let folded = [column("userid", Int4)];
    check(
        &folded,
        &[],
        "{\"userId\":1}\n{\"USERID\":2}\n{\"us\\u0065rid\":3}\n",
        &["1", "2", "3"],
        &[],
    );
    let both = [column("id", Int4), column("ID", Int4)];
    check(
        &both,
        &[],
        "{\"ID\":1,\"id\":2}\n{\"Id\":3}\n",
        &["2|1", "3|-"],
        &[],
    );
}

#[test]
fn line_ends_blank_lines_and_a_last_line_without_end() {
    let columns = [column("a", Int4)];
    check(
        &columns,
        &[],
        "{\"a\":1}\r\n\r\n \t\n{\"a\":2}\n\n{\"a\":3}",
        &["1", "2", "3"],
        &[],
    );
    check(&columns, &[], "\n", &[], &[]);
}

#[test]
fn numbers_keep_their_digits() {
    check_values(
        Int8,
        &[
            ("9223372036854775807", "9223372036854775807"),
            ("\"12\"", "12"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("null", "-"),
        ],
        &[
            (
                "9223372036854775808",
                "value \"9223372036854775808\" is out of range for type bigint",
            ),
            ("1.5", "invalid input syntax for type bigint: \"1.5\""),
            ("true", "a boolean cannot be read as bigint"),
            ("[1]", "an array cannot be read as bigint"),
            ("\"\"", "invalid input syntax for type bigint: \"\""),
        ],
    );
    check_values(
        Int2,
        &[("-32768", "-32768")],
        &[("40000", "value \"40000\" is out of range for type smallint")],
    );
    check_values(
        Numeric(Some((20, 4))),
        &[
            ("1234567890123456.7891", "1234567890123456.7891"),
            ("0.00005", "0.0001"),
            ("\"-1.5\"", "-1.5000"),
        ],
        &[(
            "12345678901234567",
            "value \"12345678901234567\" is out of range for type numeric(20,4)",
        )],
    );
    check_values(
        Float8,
        &[("0.1", "0.1"), ("\"NaN\"", "NaN"), ("-0", "-0.0")],
        &[(
            "1e999",
            "value \"1e999\" is out of range for type double precision",
        )],
    );
}

#[test]
fn text_takes_any_value_and_unescapes() {
    check_values(
        Text,
        &[
            (r#""a\"b\\c\/d\n\té\u00e9\ud83d\ude00""#, "a\"b\\c/d\n\téé😀"),
            ("12.50", "12.50"),
            ("true", "true"),
            ("{\"a\": [1]}", "{\"a\": [1]}"),
            ("\"\"", ""),
        ],
        &[
            (
                r#""\ud800""#,
                "a \\u escape is not a character: half of a surrogate pair",
            ),
            (
                r#""\ude00x""#,
                "a \\u escape is not a character: half of a surrogate pair",
            ),
            (r#""\u0000""#, "\\u0000 cannot be converted to text"),
        ],
    );
    check_values(
        Varchar(Some(3)),
        &[("\"äbc\"", "äbc"), ("\"ab    \"", "ab ")],
        &[("\"abcd\"", "value too long for type character varying(3)")],
    );
}

#[test]
fn times_documents_and_the_rest() {
    check_values(
        Timestamp,
        &[("\"2024-01-02T03:04:05.5Z\"", "2024-01-02T03:04:05.500")],
        &[
            (
                "1704164645",
                "a number cannot be read as timestamp without time zone; the option epoch_unit says what numbers mean",
            ),
            (
                "\"soon\"",
                "invalid input syntax for type timestamp without time zone: \"soon\"",
            ),
        ],
    );
    check_values(
        TimestampTz,
        &[("\"2024-01-02 05:04:05+02\"", "2024-01-02T03:04:05Z")],
        &[],
    );
    check_values(
        Date,
        &[("\"2024-01-02\"", "2024-01-02")],
        &[("20240102", "a number cannot be read as date")],
    );
    check_values(Time, &[("\"03:04:05\"", "03:04:05")], &[]);
    check_values(
        Interval,
        &[("\"1 day 2 hours\"", "1 days 2 hours")],
        &[(
            "\"a while\"",
            "invalid input syntax for type interval: \"a while\"",
        )],
    );
    check_values(
        Bool,
        &[("true", "true"), ("\"off\"", "false"), ("1", "true")],
        &[("2", "invalid input syntax for type boolean: \"2\"")],
    );
    check_values(
        Bytea,
        &[("\"\\\\x0aff\"", "0aff"), ("\"hi\"", "6869")],
        &[("12", "a number cannot be read as bytea")],
    );
    check_values(
        Jsonb,
        &[
            (
                "{\"b\" : 1.0, \"a\":\"\\u00e9\"}",
                "{\"b\" : 1.0, \"a\":\"\\u00e9\"}",
            ),
            ("\"x\"", "\"x\""),
            ("1e3", "1e3"),
        ],
        &[],
    );
    check_values(
        Uuid,
        &[(
            "\"A0EEBC999C0B4EF8BB6D6BB9BD380A11\"",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        )],
        &[("\"x\"", "invalid input syntax for type uuid: \"x\"")],
    );
}

#[test]
fn numbers_become_times_where_their_unit_is_said() {
    let columns = [column("t", Timestamp)];
    for (unit, number) in [
        ("s", "1704164645.5"),
        ("ms", "1704164645500"),
        ("us", "1704164645500000"),
    ] {
        let line = format!("{{\"t\":{number}}}");
        check(
            &columns,
            &[("epoch_unit", unit)],
            &line,
            &["2024-01-02T03:04:05.500"],
            &[],
        );
    }
    check(
        &columns,
        &[("epoch_unit", "s")],
        "{\"t\":1e30}",
        &[],
        &["column \"t\": value \"1e30\" is out of range for type timestamp"],
    );
}

#[test]
fn arrays_and_structs_nest() {
    let point = Struct(vec![("x".into(), Int4), ("tags".into(), Array(Box::new(Text)))]);
    check_values(
        Array(Box::new(point.clone())),
        &[
            ("[]", "[]"),
            (
                "[{\"tags\":[\"a\",null],\"x\":1}, null, {}]",
                "[{x: 1, tags: [a, ]}, , {x: , tags: }]",
            ),
        ],
        &[
            ("{}", "an object cannot be read as record[]"),
            (
                "[{\"x\":1},{\"x\":\"q\"}]",
                "column \"element\": column \"x\": invalid input syntax for type integer: \"q\"",
            ),
        ],
    );
    check_values(
        point,
        &[("{\"x\": 7}", "{x: 7, tags: }")],
        &[("[1]", "an array cannot be read as an object")],
    );
    check_values(
        Array(Box::new(Array(Box::new(Int8)))),
        &[("[[1,2],[],[3]]", "[[1, 2], [], [3]]")],
        &[],
    );
}

#[test]
fn lines_that_are_not_json_say_where() {
    let columns = [column("a", Int4)];
    for (line, error) in [
        ("nonsense", "at byte 1 of the line: expected a JSON object"),
        ("[1]", "at byte 1 of the line: expected a JSON object"),
        (
            "{\"a\":1",
            "at byte 7 of the line: the line ends inside the object",
        ),
        (
            "{\"a\":1}}",
            "at byte 8 of the line: expected the end of the line after the object",
        ),
        (
            "{\"a\":1} {\"a\":2}",
            "at byte 9 of the line: expected the end of the line after the object",
        ),
        ("{\"a\" 1}", "at byte 6 of the line: expected ':'"),
        (
            "{\"a\":01}",
            "at byte 7 of the line: a number may not begin with 0",
        ),
        ("{\"a\":1.}", "at byte 8 of the line: expected a digit"),
        ("{\"a\":+1}", "at byte 6 of the line: expected a value"),
        ("{\"a\":NaN}", "at byte 6 of the line: expected a value"),
        (
            "{\"a\":tru}",
            "at byte 6 of the line: expected true, false or null",
        ),
        (
            "{\"b\":\"open",
            "at byte 11 of the line: the line ends inside a string",
        ),
        (
            "{\"b\":\"\\x\"}",
            "at byte 7 of the line: unknown escape in a string",
        ),
        (
            "{\"b\":\"\\u12g4\"}",
            "at byte 7 of the line: \\u needs four hexadecimal digits",
        ),
        (
            "{\"b\":\"\t\"}",
            "at byte 7 of the line: control character in a string",
        ),
        ("{\"b\":[1,]}", "at byte 9 of the line: expected a value"),
        ("{\"b\":[1}]}", "at byte 8 of the line: expected ',' or ']'"),
        ("{\"b\":{\"c\":1]}", "at byte 12 of the line: expected ',' or '}'"),
        ("{\"b\":{1:2}}", "at byte 7 of the line: expected a field name"),
        ("{\"a\":1,}", "at byte 8 of the line: expected a field name"),
        ("{a:1}", "at byte 2 of the line: expected a field name"),
    ] {
        let lines = format!("{{\"a\":1}}\n{line}\n{{\"a\":2}}\n");
        let (batch, bad) = decode(&mut *decoder(&columns, &[]), lines.as_bytes());
        assert_eq!(rows(&batch), ["1", "2"], "{line}");
        assert_eq!(bad, [(line.to_owned(), format!("invalid JSON {error}"))]);
    }
    let deep = format!("{{\"a\":1,\"b\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let (_, bad) = decode(&mut *decoder(&columns, &[]), deep.as_bytes());
    assert!(bad[0].1.ends_with("too many levels of nesting"), "{}", bad[0].1);
}

#[test]
fn a_line_that_is_not_utf8_is_bad_alone() {
    let lines = b"{\"a\":1}\n{\"b\":\"\xff\"}\n{\"a\":2}\n\xc3";
    let (batch, bad) = decode(&mut *decoder(&[column("a", Int4)], &[]), lines);
    assert_eq!(rows(&batch), ["1", "2"]);
    let errors: Vec<_> = bad.iter().map(|(_, error)| error.as_str()).collect();
    assert!(
        errors
            .iter()
            .all(|error| error.starts_with("invalid byte sequence for encoding \"UTF8\": 0x")),
        "{errors:?}"
    );
}

#[test]
fn bad_rows_are_kept_dropped_or_made_null() {
    let columns = [column("a", Int4), column("b", Text), column("raw", Text)];
    let lines = "{\"a\":1,\"b\":\"x\"}\n{\"a\":\"q\",\"b\":\"y\"}\r\nrubbish\n";
    let errors = [
        "column \"a\": invalid input syntax for type integer: \"q\"",
        "invalid JSON at byte 1 of the line: expected a JSON object",
    ];
    check(&columns, &[], lines, &["1|x|-"], &errors);
    for entries in [
        [("mode", "DROPMALFORMED")],
        [("on_bad_row", "drop")],
        [("json_ignore_parse_errors", "true")],
    ] {
        check(&columns, &entries, lines, &["1|x|-"], &[]);
    }
    check(
        &columns,
        &[("mode", "PERMISSIVE")],
        lines,
        &["1|x|-", "-|y|-", "-|-|-"],
        &[],
    );
    let entries = [("mode", "permissive"), ("column_name_of_corrupt_record", "raw")];
    check(
        &columns,
        &entries,
        lines,
        &["1|x|-", "-|y|{\"a\":\"q\",\"b\":\"y\"}", "-|-|rubbish"],
        &[],
    );
    // The corrupt record is known although the bad column is not read.
    let format = format(&columns, &entries).unwrap();
    let (batch, _) = decode(&mut *format.decoder(&wanted(&[1, 2])).unwrap(), lines.as_bytes());
    assert_eq!(rows(&batch), ["x|-", "y|{\"a\":\"q\",\"b\":\"y\"}", "-|rubbish"]);
}

#[test]
fn not_null_columns_refuse_null() {
    let mut id = column("id", Int4);
    id.nullable = false;
    let columns = [id, column("b", Text)];
    let error = "column \"id\": a NOT NULL column has no value";
    check(
        &columns,
        &[],
        "{\"id\":1}\n{\"b\":\"x\"}\n{\"id\":null}\n",
        &["1|-"],
        &[error, error],
    );
    assert!(matches!(
        format(&columns, &[("mode", "permissive")]),
        Err(crate::Error::Columns { .. })
    ));
}

#[test]
fn only_the_projection_is_decoded() {
    let columns = [column("a", Int4), column("b", Text), column("c", Int4)];
    let format = format(&columns, &[]).unwrap();
    let lines = b"{\"a\":\"not a number\",\"b\":\"x\",\"c\":3}\n{\"c\":4}\n";
    let (batch, bad) = decode(&mut *format.decoder(&wanted(&[1, 2])).unwrap(), lines);
    assert_eq!(
        (rows(&batch), bad),
        (vec!["x|3".to_owned(), "-|4".to_owned()], vec![])
    );
    let (batch, _) = decode(&mut *format.decoder(&wanted(&[])).unwrap(), lines);
    assert_eq!((batch.num_rows(), batch.num_columns()), (2, 0));
}

#[test]
fn long_input_comes_in_bounded_batches() {
    let lines: String = (0..10_000).map(|n| format!("{{\"a\":{n}}}\n")).collect();
    let mut decoder = decoder(&[column("a", Int4)], &[]);
    let decoded = decoder.decode(lines.as_bytes());
    assert!(
        decoded
            .iter()
            .all(|batch| batch.rows.num_rows() <= crate::format::rows::BATCH_ROWS)
    );
    let values: Vec<i32> = decoded
        .iter()
        .flat_map(|batch| {
            batch
                .rows
                .column(0)
                .as_primitive::<arrow::datatypes::Int32Type>()
                .values()
                .to_vec()
        })
        .collect();
    assert_eq!(values, (0..10_000).collect::<Vec<_>>());
}

#[test]
fn columns_that_cannot_be_are_refused() {
    let columns = [column("o", System(millpond_catalog::SystemType::Oid))];
    assert!(matches!(format(&columns, &[]), Err(crate::Error::Columns { .. })));
    let error = format(&[column("a", Int4)], &[("column_name_of_corrupt_record", "a")])
        .err()
        .unwrap();
    assert!(error.to_string().contains("not a column of type text"), "{error}");
}
