//! What is encoded reads back, in text and in binary; and what is no value is refused with the right error.

use arrow::array::ArrayRef;
use bytes::BytesMut;

use super::*;
use crate::pg::encode::{RowEncoder, Style};

fn read_text(text: &str, sql_type: &SqlType) -> Result<ScalarValue> {
    parameter(1, Some(text.as_bytes()), Format::Text, sql_type, "UTC")
}

/// The value as the server sends it.
fn show(value: &ScalarValue, sql_type: &SqlType, format: Format) -> Vec<u8> {
    let array: ArrayRef = value.to_array().unwrap();
    let field = Field::new("v", array.data_type().clone(), true);
    let schema = Arc::new(arrow::datatypes::Schema::new(vec![field]));
    let batch = arrow::array::RecordBatch::try_new(schema, vec![array]).unwrap();
    let mut out = BytesMut::new();
    RowEncoder::new([sql_type.clone()], &[format], Style::default())
        .encode(&batch, 0..1, usize::MAX, &mut out)
        .unwrap();
    // Message type, length, number of columns, length of the value.
    out[11..].to_vec()
}

fn array_of(element: SqlType) -> SqlType {
    SqlType::Array(Box::new(element))
}

fn values() -> Vec<(SqlType, &'static str)> {
    vec![
        (SqlType::Bool, "t"),
        (SqlType::Int2, "-32768"),
        (SqlType::Int4, "2147483647"),
        (SqlType::Int8, "-9223372036854775808"),
        (SqlType::Float4, "1.25"),
        (SqlType::Float8, "0.1"),
        (SqlType::Float8, "NaN"),
        (SqlType::Float8, "-Infinity"),
        (SqlType::Numeric(None), "12345.6789"),
        (SqlType::Numeric(None), "-0.00050"),
        (SqlType::Numeric(None), "123456789012345678901234567890"),
        (SqlType::Numeric(Some((10, 2))), "-12.50"),
        (SqlType::Text, "h\u{e9}llo \u{1f600} '\"\\"),
        (SqlType::Text, ""),
        (SqlType::Varchar(Some(20)), "varying"),
        (SqlType::Date, "2024-02-29"),
        (SqlType::Date, "1900-01-01"),
        (SqlType::Date, "0044-03-15 BC"),
        (SqlType::Date, "-infinity"),
        (SqlType::Time, "12:34:56.789012"),
        (SqlType::Timestamp, "2024-02-29 12:34:56.789012"),
        (SqlType::Timestamp, "1969-12-31 23:59:59.5"),
        (SqlType::Timestamp, "infinity"),
        (SqlType::TimestampTz, "2024-02-29 12:34:56.789012+00"),
        (SqlType::Interval, "1 year 2 mons 3 days 04:05:06.789"),
        (SqlType::Interval, "-1 days -00:00:01"),
        (SqlType::Bytea, "\\xdeadbeef00ff"),
        (SqlType::Uuid, "0123e456-789a-4bcd-8ef0-123456789abc"),
        (SqlType::Json, r#"{"a": [1, null], "b": "x"}"#),
        (SqlType::Jsonb, r#"{"a": [1, null], "b": "x"}"#),
        (array_of(SqlType::Int4), "{1,NULL,3}"),
        (array_of(SqlType::Int8), "{5}"),
        (array_of(SqlType::Int8), "{}"),
        (array_of(SqlType::Text), r#"{a,"b c",NULL,"q\"uote"}"#),
        (array_of(SqlType::Bool), "{t,f}"),
        (array_of(SqlType::Timestamp), "{\"2024-02-29 12:34:56.789012\"}"),
        (SqlType::System(millpond_catalog::SystemType::Oid), "4000000000"),
    ]
}

#[test]
fn text_reads_back() {
    for (sql_type, text) in values() {
        let value = read_text(text, &sql_type).unwrap_or_else(|e| panic!("{sql_type} {text}: {e}"));
        let shown = show(&value, &sql_type, Format::Text);
        assert_eq!(String::from_utf8(shown).unwrap(), text, "{sql_type}");
    }
}

#[test]
fn binary_reads_back() {
    for (sql_type, text) in values() {
        let value = read_text(text, &sql_type).unwrap();
        let bytes = show(&value, &sql_type, Format::Binary);
        let again = parameter(1, Some(&bytes), Format::Binary, &sql_type, "UTC")
            .unwrap_or_else(|e| panic!("{sql_type} {text}: {e}"));
        // Compared as text, since NaN differs from itself.
        assert_eq!(
            show(&again, &sql_type, Format::Text),
            text.as_bytes(),
            "{sql_type}"
        );
        // Nothing that was cut off or has something behind it is taken for a value.
        if matches!(
            sql_type,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Json | SqlType::Jsonb | SqlType::Bytea
        ) {
            continue;
        }
        for cut in 0..bytes.len() {
            let result = parameter(3, Some(&bytes[..cut]), Format::Binary, &sql_type, "UTC");
            assert!(
                matches!(result, Err(Error::Value(ValueError::Binary(3)))),
                "{sql_type} cut to {cut} bytes"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(
            parameter(1, Some(&longer), Format::Binary, &sql_type, "UTC").is_err(),
            "{sql_type}"
        );
    }
}

#[test]
fn null_has_the_type() {
    for (sql_type, _) in values() {
        let value = parameter(1, None, Format::Binary, &sql_type, "UTC").unwrap();
        assert!(value.is_null());
        assert_eq!(value.data_type(), sql_type.arrow());
    }
}

#[test]
fn other_spellings() {
    for (sql_type, text, shown) in [
        (SqlType::Bool, " TRUE ", "t"),
        (SqlType::Bool, "off", "f"),
        (SqlType::Bool, "y", "t"),
        (SqlType::Int4, " +7 ", "7"),
        (SqlType::Float8, "1e-7", "1e-07"),
        (SqlType::Numeric(None), "1e3", "1000"),
        (SqlType::Numeric(None), "1.5e-2", "0.015"),
        (SqlType::Numeric(Some((5, 2))), "2.345", "2.35"),
        (SqlType::Numeric(Some((5, 2))), "-0.005", "-0.01"),
        (SqlType::Numeric(Some((5, 2))), "0.0005", "0.00"),
        (SqlType::Numeric(Some((5, 2))), ".5", "0.50"),
        (
            SqlType::Uuid,
            "{0123E456789A4BCD8EF0123456789ABC}",
            "0123e456-789a-4bcd-8ef0-123456789abc",
        ),
        (SqlType::Bytea, r"a\\b\001", r"\x615c6201"),
        (SqlType::Timestamp, "2024-02-29T12:34", "2024-02-29 12:34:00"),
        (SqlType::Timestamp, "2024-02-29", "2024-02-29 00:00:00"),
        (
            SqlType::Timestamp,
            "2024-02-29 12:34:56.7890126",
            "2024-02-29 12:34:56.789013",
        ),
        (
            SqlType::TimestampTz,
            "2024-02-29 12:34:56 Asia/Tokyo",
            "2024-02-29 03:34:56+00",
        ),
        (
            SqlType::TimestampTz,
            "2024-02-29T12:34:56Z",
            "2024-02-29 12:34:56+00",
        ),
        (
            SqlType::TimestampTz,
            "2024-02-29 12:34:56-05:30",
            "2024-02-29 18:04:56+00",
        ),
        (
            array_of(SqlType::Text),
            r#"{ a b , "" , "NULL", null }"#,
            r#"{"a b","","NULL",NULL}"#,
        ),
    ] {
        let value = read_text(text, &sql_type).unwrap_or_else(|e| panic!("{sql_type} {text}: {e}"));
        assert_eq!(
            String::from_utf8(show(&value, &sql_type, Format::Text)).unwrap(),
            shown
        );
    }
    let zone = "Europe/Berlin";
    let value = parameter(
        1,
        Some(b"2024-07-01 00:00"),
        Format::Text,
        &SqlType::TimestampTz,
        zone,
    )
    .unwrap();
    assert_eq!(
        show(&value, &SqlType::TimestampTz, Format::Text),
        b"2024-06-30 22:00:00+00"
    );
}

#[test]
fn what_is_no_value_is_refused() {
    let code = |text: &str, sql_type: SqlType| match read_text(text, &sql_type) {
        Err(error) => crate::pg::error::Report::of(&error).sqlstate,
        Ok(value) => panic!("{sql_type} {text}: {value:?}"),
    };
    for (text, sql_type) in [
        ("abc", SqlType::Int4),
        ("", SqlType::Int4),
        ("1.5", SqlType::Int4),
        ("maybe", SqlType::Bool),
        ("1.2.3", SqlType::Numeric(None)),
        ("x", SqlType::Uuid),
        ("{bad", SqlType::Json),
        ("\\xabc", SqlType::Bytea),
        ("1,2", array_of(SqlType::Int4)),
        ("{1,}", array_of(SqlType::Int4)),
        ("{\"a", array_of(SqlType::Text)),
    ] {
        assert_eq!(code(text, sql_type), "22P02", "{text}");
    }
    for (text, sql_type) in [
        ("40000", SqlType::Int2),
        ("1000", SqlType::Numeric(Some((5, 2)))),
        ("123456789012345678901234567890123456789", SqlType::Numeric(None)),
    ] {
        assert_eq!(code(text, sql_type), "22003", "{text}");
    }
    assert_eq!(code("2024-13-45", SqlType::Date), "22008");
    assert_eq!(code("not a date", SqlType::Date), "22007");
    let invalid = parameter(1, Some(b"\xff"), Format::Text, &SqlType::Text, "UTC");
    assert!(matches!(invalid, Err(Error::Value(ValueError::NotUtf8))));
}
