//! One row per rule.

use super::*;

#[test]
fn integers_take_any_notation_of_a_whole_number() {
    for (text, value) in [
        ("0", 0),
        ("-0", 0),
        ("42", 42),
        ("-7", -7),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
        ("1.0", 1),
        ("1e3", 1000),
        ("1.5e1", 15),
        ("120E-1", 12),
        (" 5 ", 5),
        ("+5", 5),
        ("9.223372036854775807e18", i64::MAX),
    ] {
        assert_eq!(int8(text), Ok(value), "{text}");
    }
    for (text, error) in [
        (
            "9223372036854775808",
            "value \"9223372036854775808\" is out of range for type bigint",
        ),
        ("1e30", "value \"1e30\" is out of range for type bigint"),
        ("1e400", "value \"1e400\" is out of range for type bigint"),
        ("1.5", "invalid input syntax for type bigint: \"1.5\""),
        ("1e-1", "invalid input syntax for type bigint: \"1e-1\""),
        ("", "invalid input syntax for type bigint: \"\""),
        ("-", "invalid input syntax for type bigint: \"-\""),
        ("abc", "invalid input syntax for type bigint: \"abc\""),
        ("NaN", "invalid input syntax for type bigint: \"NaN\""),
    ] {
        assert_eq!(int8(text).unwrap_err(), error, "{text}");
    }
    assert_eq!(int2("32767"), Ok(32767));
    assert_eq!(
        int2("32768").unwrap_err(),
        "value \"32768\" is out of range for type smallint"
    );
    assert_eq!(
        int4("-2147483649").unwrap_err(),
        "value \"-2147483649\" is out of range for type integer"
    );
}

#[test]
fn floats_that_do_not_fit_are_refused() {
    assert_eq!(float8("1e308"), Ok(1e308));
    assert_eq!(float8("0e999"), Ok(0.0));
    assert_eq!(float8("-Infinity"), Ok(f64::NEG_INFINITY));
    assert!(float8("NaN").unwrap().is_nan());
    assert_eq!(
        float8("1e400").unwrap_err(),
        "value \"1e400\" is out of range for type double precision"
    );
    assert_eq!(
        float8("1e-400").unwrap_err(),
        "value \"1e-400\" is out of range for type double precision"
    );
    assert_eq!(float4("0.1"), Ok(0.1_f32));
    assert_eq!(
        float4("1e39").unwrap_err(),
        "value \"1e39\" is out of range for type real"
    );
    assert!(float8("1,5").is_err());
}

#[test]
fn decimals_are_exact_and_round_half_away_from_zero() {
    for (text, precision, scale, value) in [
        ("1.10", 10, 2, 110),
        ("1.1", 10, 2, 110),
        ("-0.005", 10, 2, -1),
        ("0.0049999", 10, 2, 0),
        (
            "99999999999999999999999999999999999999",
            38,
            0,
            99_999_999_999_999_999_999_999_999_999_999_999_999,
        ),
        ("1234567.5", 10, 0, 1_234_568),
        ("1250", 3, -1, 125),
        ("1255", 3, -1, 126),
        ("1e3", 10, 2, 100_000),
        ("1e-3", 10, 2, 0),
        ("5e-1", 10, 0, 1),
        ("0e99999999999999999999", 10, 2, 0),
        (".5", 10, 1, 5),
        ("5.", 10, 1, 50),
    ] {
        assert_eq!(decimal(text, precision, scale), Ok(value), "{text}");
    }
    for text in [
        "1000",
        "999.995",
        "1e99999999999999999999",
        "170141183460469231731687303715884105728",
    ] {
        assert_eq!(
            decimal(text, 5, 2).unwrap_err(),
            format!("value \"{text}\" is out of range for type numeric(5,2)")
        );
    }
    for text in ["", ".", "-", "1e", "1e+", "1.2.3", "NaN", "0x10", "1_000"] {
        assert!(
            decimal(text, 10, 2)
                .unwrap_err()
                .starts_with("invalid input syntax"),
            "{text}"
        );
    }
}

#[test]
fn a_timestamp_passes_over_a_zone_and_a_timestamptz_applies_it() {
    let nine = 1_704_186_000_000_000; // 2024-01-02 09:00:00
    let hour = 3_600_000_000;
    for (text, east) in [("2024-01-02T09:00:00+02:00", 2), ("2024-01-02 09:00 -0500", -5)] {
        assert_eq!(timestamp(text), Ok(nine), "{text}");
        assert_eq!(timestamptz(text), Ok(nine - east * hour), "{text}");
    }
    assert!(timestamp("2024-01-02T09:00:00+99:00").is_err());
    assert!(timestamptz("2024-01-02T09:00:00 CET").is_err());
}

#[test]
fn timestamps_in_every_accepted_form() {
    let base = 1_704_164_645_000_000; // 2024-01-02 03:04:05 UTC
    for (text, micros) in [
        ("2024-01-02 03:04:05", base),
        ("2024-01-02T03:04:05", base),
        ("2024-01-02t03:04:05z", base),
        ("2024-01-02T03:04:05Z", base),
        ("2024-01-02T03:04:05.678901Z", base + 678_901),
        ("2024-01-02T03:04:05.6", base + 600_000),
        ("2024-01-02T03:04:05.1234565", base + 123_457),
        ("2024-01-02T03:04:05.9999999", base + 1_000_000),
        ("2024-01-02T05:04:05+02:00", base),
        ("2024-01-02 05:04:05 +0200", base),
        ("2024-01-02 05:04:05+02", base),
        ("2024-01-01 21:34:05-05:30", base),
        ("2024-01-02 03:04:05 UTC", base),
        (" 2024-01-02 03:04:05 ", base),
        ("2024-01-02 03:04", base - 5_000_000),
        ("2024-01-02", base - 11_045_000_000),
        ("2024-01-01 24:00:00", base - 11_045_000_000),
        ("1970-01-01 00:00:00", 0),
        ("1969-12-31 23:59:59.999999", -1),
        ("0001-01-01 00:00:00", -62_135_596_800_000_000),
        ("2000-02-29 00:00:00", 951_782_400_000_000),
        ("infinity", i64::MAX),
        ("-Infinity", i64::MIN),
    ] {
        assert_eq!(timestamptz(text), Ok(micros), "{text}");
    }
    for text in [
        "",
        "yesterday",
        "2024-13-01",
        "2023-02-29",
        "1900-02-29",
        "2024-00-10",
        "2024-01-00",
        "2024-1-2",
        "24-01-02",
        "2024-01-02 25:00:00",
        "2024-01-02 24:00:01",
        "2024-01-02 03:60:00",
        "2024-01-02T",
        "2024-01-02 03:04:05.",
        "2024-01-02 03:04:05+",
        "2024-01-02 03:04:05+99",
        "2024-01-02 03:04:05 CET",
        "2024-01-02 03:04:05x",
        "999999-12-31 00:00:00",
    ] {
        assert!(timestamp(text).is_err() && timestamptz(text).is_err(), "{text}");
    }
}

#[test]
fn days_of_the_calendar_agree_with_chrono() {
    for days in (-800_000..800_000).step_by(37) {
        let day = chrono::DateTime::from_timestamp(i64::from(days) * 86_400, 0).unwrap();
        let text = day.format("%Y-%m-%d").to_string();
        if text.len() == 10 {
            assert_eq!(date(&text), Ok(days), "{text}");
        }
    }
}

#[test]
fn dates_and_times_of_day() {
    assert_eq!(date("1970-01-02"), Ok(1));
    assert_eq!(date("1970-01-02 23:00:00"), Ok(1));
    assert_eq!(date("infinity"), Ok(i32::MAX));
    assert!(date("1970-01-02 nonsense").is_err());
    assert_eq!(time("00:00:01.5"), Ok(1_500_000));
    assert_eq!(time("24:00"), Ok(86_400_000_000));
    assert!(time("24:00:01").is_err() && time("1:00").is_err() && time("01:00:00Z").is_err());
}

#[test]
fn booleans_bytes_and_uuids() {
    assert_eq!(boolean("Yes"), Ok(true));
    assert_eq!(boolean("0"), Ok(false));
    assert!(boolean("o").is_err() && boolean("2").is_err());

    assert_eq!(bytea("\\x00fF"), Ok(vec![0, 255]));
    assert_eq!(bytea("a\\\\b\\001"), Ok(b"a\\b\x01".to_vec()));
    assert!(
        bytea("\\x0").is_err() && bytea("\\xzz").is_err() && bytea("\\9").is_err() && bytea("\\777").is_err()
    );

    let canonical = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    for text in [
        canonical,
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11",
    ] {
        assert_eq!(uuid(text).as_deref(), Ok(canonical), "{text}");
    }
    for text in [
        "",
        "a0eebc99",
        "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "a0e-ebc999c0b4ef8bb6d6bb9bd380a11",
        "g0eebc999c0b4ef8bb6d6bb9bd380a11",
    ] {
        assert!(uuid(text).is_err(), "{text}");
    }
}
