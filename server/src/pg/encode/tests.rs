//! Every type in text and binary, against what a real PostgreSQL sends.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Float64Type, Int32Type, Int64Type, IntervalMonthDayNano, Schema};
use bytes::Buf;

use super::*;

fn one(sql_type: SqlType, array: ArrayRef, format: Format, style: Style) -> Vec<u8> {
    let field = sql_type.field("v", true);
    let array = if array.data_type() == field.data_type() {
        array
    } else {
        cast(&array, field.data_type()).unwrap()
    };
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
    let mut out = BytesMut::new();
    RowEncoder::new([sql_type], &[format], style)
        .encode(&batch, 0..1, usize::MAX, &mut out)
        .unwrap();
    assert_eq!((out.get_u8(), out.get_i32() as usize), (b'D', out.len() + 4));
    assert_eq!((out.get_i16(), out.get_i32() as usize), (1, out.len()));
    out.to_vec()
}

/// The 2000-01-01 epoch of binary timestamps to 2024-02-29 12:34:56.789012.
const TS_BINARY: i64 = 762_525_296_789_012;
const TS_UNIX: i64 = 1_709_210_096_789_012;
const UUID: &str = "0123e456-789a-4bcd-8ef0-123456789abc";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|c| u8::from_str_radix(std::str::from_utf8(c).unwrap(), 16).unwrap())
        .collect()
}

fn numeric(value: i128, precision: u8, scale: i8) -> (SqlType, ArrayRef) {
    let array = Decimal128Array::from(vec![value])
        .with_precision_and_scale(precision, scale)
        .unwrap();
    (SqlType::Numeric(Some((precision, scale))), Arc::new(array))
}

fn list<T: ArrowPrimitiveType>(values: Vec<Option<T::Native>>) -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<T, _, _>([Some(values)]))
}

fn text_list(values: &[Option<&str>]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    builder.append_value(values.iter().copied());
    Arc::new(builder.finish())
}

fn array_of(element: SqlType) -> SqlType {
    SqlType::Array(Box::new(element))
}

/// Type, value, text and binary form.
fn cases() -> Vec<(SqlType, ArrayRef, &'static str, Vec<u8>)> {
    let text = "h\u{e9}llo \u{1f600} '\"\\";
    let interval = |months, days, us: i64| -> ArrayRef {
        Arc::new(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(
            months,
            days,
            us * 1000,
        )]))
    };
    let json = r#"{"a": [1, null], "b": "x"}"#;
    let ts = |us: i64| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![us])) };
    let (n1, n2, n3) = (
        numeric(123456789, 9, 4),
        numeric(-50, 6, 5),
        numeric(123456789012345678901234567890, 30, 0),
    );
    vec![
        (
            SqlType::Bool,
            Arc::new(BooleanArray::from(vec![true])),
            "t",
            vec![1],
        ),
        (
            SqlType::Bool,
            Arc::new(BooleanArray::from(vec![false])),
            "f",
            vec![0],
        ),
        (
            SqlType::Int2,
            Arc::new(Int16Array::from(vec![i16::MIN])),
            "-32768",
            hex("8000"),
        ),
        (
            SqlType::Int4,
            Arc::new(Int32Array::from(vec![i32::MAX])),
            "2147483647",
            hex("7fffffff"),
        ),
        (
            SqlType::Int8,
            Arc::new(Int64Array::from(vec![i64::MIN])),
            "-9223372036854775808",
            hex("8000000000000000"),
        ),
        (
            SqlType::Float4,
            Arc::new(Float32Array::from(vec![1.25])),
            "1.25",
            1.25f32.to_be_bytes().to_vec(),
        ),
        (
            SqlType::Float8,
            Arc::new(Float64Array::from(vec![0.1])),
            "0.1",
            0.1f64.to_be_bytes().to_vec(),
        ),
        (
            SqlType::Float8,
            Arc::new(Float64Array::from(vec![f64::NEG_INFINITY])),
            "-Infinity",
            f64::NEG_INFINITY.to_be_bytes().to_vec(),
        ),
        (
            n1.0,
            n1.1,
            "12345.6789",
            hex("0003 0001 0000 0004 0001 0929 1a85"),
        ),
        (n2.0, n2.1, "-0.00050", hex("0001 ffff 4000 0005 0005")),
        (
            n3.0,
            n3.1,
            "123456789012345678901234567890",
            hex("0008 0007 0000 0000 000c 0d80 1ed2 04d2 162e 2334 0d80 1ed2"),
        ),
        (
            SqlType::Text,
            Arc::new(StringArray::from(vec![text])),
            text,
            text.as_bytes().to_vec(),
        ),
        (SqlType::Text, Arc::new(StringArray::from(vec![""])), "", vec![]),
        (
            SqlType::Varchar(Some(20)),
            Arc::new(StringArray::from(vec!["varying"])),
            "varying",
            b"varying".to_vec(),
        ),
        (
            SqlType::Date,
            Arc::new(Date32Array::from(vec![19_782])),
            "2024-02-29",
            8_825i32.to_be_bytes().to_vec(),
        ),
        (
            SqlType::Date,
            Arc::new(Date32Array::from(vec![i32::MAX])),
            "infinity",
            hex("7fffffff"),
        ),
        (
            SqlType::Time,
            Arc::new(Time64MicrosecondArray::from(vec![45_296_789_012])),
            "12:34:56.789012",
            45_296_789_012i64.to_be_bytes().to_vec(),
        ),
        (
            SqlType::Timestamp,
            ts(TS_UNIX),
            "2024-02-29 12:34:56.789012",
            TS_BINARY.to_be_bytes().to_vec(),
        ),
        (
            SqlType::Timestamp,
            ts(-500_000),
            "1969-12-31 23:59:59.5",
            (-946_684_800_500_000i64).to_be_bytes().to_vec(),
        ),
        (
            SqlType::Timestamp,
            ts(i64::MIN),
            "-infinity",
            hex("8000000000000000"),
        ),
        (
            SqlType::TimestampTz,
            ts(TS_UNIX),
            "2024-02-29 12:34:56.789012+00",
            TS_BINARY.to_be_bytes().to_vec(),
        ),
        (
            SqlType::Interval,
            interval(14, 3, 14_706_789_000),
            "1 year 2 mons 3 days 04:05:06.789",
            hex("00000003 6c97ca88 00000003 0000000e"),
        ),
        (
            SqlType::Interval,
            interval(0, -1, -1_000_000),
            "-1 days -00:00:01",
            hex("fffffffffff0bdc0 ffffffff 00000000"),
        ),
        (
            SqlType::Bytea,
            Arc::new(BinaryArray::from(vec![&hex("deadbeef00ff")[..]])),
            "\\xdeadbeef00ff",
            hex("deadbeef00ff"),
        ),
        (
            SqlType::Uuid,
            Arc::new(StringArray::from(vec![UUID])),
            UUID,
            hex("0123e456789a4bcd8ef0123456789abc"),
        ),
        (
            SqlType::Json,
            Arc::new(StringArray::from(vec![json])),
            json,
            json.as_bytes().to_vec(),
        ),
        (
            SqlType::Jsonb,
            Arc::new(StringArray::from(vec![json])),
            json,
            [&[1u8], json.as_bytes()].concat(),
        ),
        (
            array_of(SqlType::Int4),
            list::<Int32Type>(vec![Some(1), None, Some(3)]),
            "{1,NULL,3}",
            hex("00000001 00000001 00000017 00000003 00000001 00000004 00000001 ffffffff 00000004 00000003"),
        ),
        (
            array_of(SqlType::Int8),
            list::<Int64Type>(vec![Some(5)]),
            "{5}",
            hex("00000001 00000000 00000014 00000001 00000001 00000008 0000000000000005"),
        ),
        (
            array_of(SqlType::Int8),
            list::<Int64Type>(vec![]),
            "{}",
            hex("00000000 00000000 00000014"),
        ),
        (
            array_of(SqlType::Text),
            text_list(&[
                Some("a"),
                Some("b c"),
                None,
                Some("q\"uote"),
                Some("null"),
                Some(""),
            ]),
            r#"{a,"b c",NULL,"q\"uote","null",""}"#,
            hex(concat!(
                "00000001 00000001 00000019 00000006 00000001 00000001 61 00000003 622063 ffffffff",
                "00000006 7122756f7465 00000004 6e756c6c 00000000"
            )),
        ),
        (
            array_of(SqlType::Float8),
            list::<Float64Type>(vec![Some(0.5), Some(-2.0)]),
            "{0.5,-2}",
            [
                hex("00000001 00000000 000002bd 00000002 00000001"),
                hex("00000008"),
                0.5f64.to_be_bytes().to_vec(),
                hex("00000008"),
                (-2f64).to_be_bytes().to_vec(),
            ]
            .concat(),
        ),
        (
            array_of(SqlType::Timestamp),
            list::<arrow::datatypes::TimestampMicrosecondType>(vec![Some(TS_UNIX)]),
            "{\"2024-02-29 12:34:56.789012\"}",
            [
                hex("00000001 00000000 0000045a 00000001 00000001 00000008"),
                TS_BINARY.to_be_bytes().to_vec(),
            ]
            .concat(),
        ),
        (
            SqlType::System(SystemType::Oid),
            Arc::new(UInt32Array::from(vec![4_000_000_000])),
            "4000000000",
            4_000_000_000u32.to_be_bytes().to_vec(),
        ),
        (
            SqlType::System(SystemType::Int2Vector),
            Arc::new(
                ListArray::from_iter_primitive::<arrow::datatypes::Int16Type, _, _>([Some([1, 2].map(Some))]),
            ),
            "1 2",
            hex("00000001 00000000 00000015 00000002 00000001 00000002 0001 00000002 0002"),
        ),
    ]
}

#[test]
fn text_and_binary_of_every_type() {
    for (sql_type, array, text, binary) in cases() {
        let shown = one(sql_type.clone(), array.clone(), Format::Text, Style::default());
        assert_eq!(String::from_utf8(shown).unwrap(), text, "text of {sql_type}");
        assert_eq!(
            one(sql_type.clone(), array, Format::Binary, Style::default()),
            binary,
            "binary of {sql_type}"
        );
    }
}

#[test]
fn arrays_of_arrays_are_one_array_of_two_dimensions() {
    let inner = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        Some(vec![Some(3), Some(4)]),
    ]);
    let field = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let outer: ArrayRef = Arc::new(ListArray::new(
        field,
        OffsetBuffer::from_lengths([2]),
        Arc::new(inner),
        None,
    ));
    let sql_type = array_of(array_of(SqlType::Int4));
    assert_eq!(
        one(sql_type.clone(), outer.clone(), Format::Text, Style::default()),
        b"{{1,2},{3,4}}"
    );
    let binary = one(sql_type, outer, Format::Binary, Style::default());
    assert_eq!(
        binary[..28],
        hex("00000002 00000000 00000017 00000002 00000001 00000002 00000001")
    );
}

#[test]
fn records_quote_their_fields() {
    let fields = vec![
        ("a".to_owned(), SqlType::Int4),
        ("b".to_owned(), SqlType::Text),
        ("c".to_owned(), SqlType::Text),
    ];
    let sql_type = SqlType::Struct(fields);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![7])),
        Arc::new(StringArray::from(vec!["x \"y\""])),
        Arc::new(StringArray::from(vec![None::<&str>])),
    ];
    let arrow::datatypes::DataType::Struct(arrow_fields) = sql_type.arrow() else {
        unreachable!()
    };
    let array: ArrayRef = Arc::new(StructArray::new(arrow_fields, columns, None));
    assert_eq!(
        one(sql_type.clone(), array.clone(), Format::Text, Style::default()),
        br#"(7,"x ""y""",)"#
    );
    let binary = one(sql_type, array, Format::Binary, Style::default());
    assert_eq!(
        binary,
        [
            hex("00000003 00000017 00000004 00000007 00000019 00000005"),
            b"x \"y\"".to_vec(),
            hex("00000019 ffffffff")
        ]
        .concat()
    );
}

#[test]
fn settings_change_the_text() {
    let style = Style {
        zone: TimeZone::parse("Asia/Tokyo").unwrap(),
        bytea: ByteaOutput::Escape,
        ..Style::default()
    };
    let ts: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0]));
    assert_eq!(
        one(SqlType::TimestampTz, ts, Format::Text, style.clone()),
        b"1970-01-01 09:00:00+09"
    );
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&[0u8, 255, b'a', b'\\'][..]]));
    assert_eq!(one(SqlType::Bytea, bytes, Format::Text, style), br"\000\377a\\");
}

#[test]
fn identifiers_print_as_names() {
    struct Names;
    impl IdentifierNames for Names {
        fn name_of(&self, kind: SystemType, oid: u32) -> Option<String> {
            (kind == SystemType::RegClass && oid == 1259).then(|| "pg_class".to_owned())
        }
    }
    let style = Style {
        names: Some(Arc::new(Names)),
        ..Style::default()
    };
    for (oid, text) in [(1259, "pg_class"), (5, "5"), (0, "-")] {
        let array: ArrayRef = Arc::new(UInt32Array::from(vec![oid]));
        assert_eq!(
            one(
                SqlType::System(SystemType::RegClass),
                array,
                Format::Text,
                style.clone()
            ),
            text.as_bytes()
        );
    }
}

#[test]
fn odd_arrow_types_are_shown_as_their_sql_type() {
    for (array, text) in [
        (
            Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef,
            "18446744073709551615",
        ),
        (Arc::new(Int8Array::from(vec![-5])), "-5"),
        (
            Arc::new(TimestampSecondArray::from(vec![1])),
            "1970-01-01 00:00:01",
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![1_500])),
            "1970-01-01 00:00:00.000001",
        ),
        (Arc::new(StringViewArray::from(vec!["view"])), "view"),
        (Arc::new(NullArray::new(1)), ""),
    ] {
        let field = Field::new("v", array.data_type().clone(), true);
        let shown = text_values(&array, &field, &Style::default()).unwrap();
        assert_eq!(shown.value(0), text);
    }
}

#[test]
fn nulls_and_row_ranges() {
    let schema = Arc::new(Schema::new(vec![SqlType::Int4.field("v", true)]));
    let batch = RecordBatch::try_new(
        schema.clone(),
        vec![Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]))],
    )
    .unwrap();
    let encoder = RowEncoder::new([SqlType::Int4], &[], Style::default());
    let mut out = BytesMut::new();
    assert_eq!(encoder.encode(&batch, 1..3, usize::MAX, &mut out).unwrap(), 2);
    assert_eq!(out, hex("44 0000000a 0001 ffffffff 44 0000000b 0001 00000001 33"));
    let mut out = BytesMut::new();
    assert_eq!(
        encoder.encode(&batch, 0..3, 1, &mut out).unwrap(),
        1,
        "stops when the buffer is full"
    );
    assert_eq!(encoder.encode(&batch, 3..3, 1, &mut out).unwrap(), 0);
}
