//! Functions of `bytea`.

use datafusion::common::ScalarValue;
use datafusion::functions::{core, string, unicode};
use millpond_catalog::SqlType;

use super::{Overload, RowFunction, as_bytes, as_int, as_text, bytes_of, int4, text};
use crate::error::{Error, ErrorKind};

const BYTEA: SqlType = SqlType::Bytea;
const TEXT: SqlType = SqlType::Text;
const INT4: SqlType = SqlType::Int4;

type Outcome<T> = std::result::Result<T, Error>;
type Result = Outcome<ScalarValue>;

pub fn list() -> Vec<RowFunction> {
    let f = RowFunction::new;
    let new = Overload::new;
    vec![
        f("get_byte", vec![new(&[BYTEA, INT4], INT4, get_byte)]),
        f("set_byte", vec![new(&[BYTEA, INT4, INT4], BYTEA, set_byte)]),
        f("get_bit", vec![new(&[BYTEA, SqlType::Int8], INT4, get_bit)]),
        f(
            "set_bit",
            vec![new(&[BYTEA, SqlType::Int8, INT4], BYTEA, set_bit)],
        ),
        f("bit_count", vec![new(&[BYTEA], SqlType::Int8, bit_count)]),
        f("convert_from", vec![new(&[BYTEA, TEXT], TEXT, convert_from)]),
        f("convert_to", vec![new(&[TEXT, TEXT], BYTEA, convert_to)]),
        f("encode", vec![new(&[BYTEA, TEXT], TEXT, encode)]),
        f("decode", vec![new(&[TEXT, TEXT], BYTEA, decode)]),
        f(
            "character_length",
            vec![new(&[BYTEA], INT4, |v| int4(as_bytes(&v[0]).len()))],
        )
        .over(unicode::character_length()),
        f(
            "octet_length",
            vec![new(&[BYTEA], INT4, |v| int4(as_bytes(&v[0]).len()))],
        )
        .over(string::octet_length()),
        f(
            "bit_length",
            vec![new(&[BYTEA], INT4, |v| int4(as_bytes(&v[0]).len() * 8))],
        )
        .over(string::bit_length()),
        f(
            "substr",
            vec![
                new(&[BYTEA, INT4], BYTEA, |v| {
                    substring(as_bytes(&v[0]), as_int(&v[1]), None)
                }),
                new(&[BYTEA, INT4, INT4], BYTEA, |v| {
                    substring(as_bytes(&v[0]), as_int(&v[1]), Some(as_int(&v[2])))
                }),
            ],
        )
        .over(unicode::substr()),
        f(
            "strpos",
            vec![new(&[BYTEA, BYTEA], INT4, |v| {
                int4(position(as_bytes(&v[0]), as_bytes(&v[1])))
            })],
        )
        .over(unicode::strpos()),
        f(
            "overlay",
            vec![
                new(&[BYTEA, BYTEA, INT4], BYTEA, |v| {
                    overlay(
                        as_bytes(&v[0]),
                        as_bytes(&v[1]),
                        as_int(&v[2]),
                        as_bytes(&v[1]).len() as i64,
                    )
                }),
                new(&[BYTEA, BYTEA, INT4, INT4], BYTEA, |v| {
                    overlay(as_bytes(&v[0]), as_bytes(&v[1]), as_int(&v[2]), as_int(&v[3]))
                }),
            ],
        )
        .over(core::overlay()),
        f(
            "btrim",
            vec![new(&[BYTEA, BYTEA], BYTEA, |v| trim(v, true, true))],
        )
        .over(string::btrim()),
        f(
            "ltrim",
            vec![new(&[BYTEA, BYTEA], BYTEA, |v| trim(v, true, false))],
        )
        .over(string::ltrim()),
        f(
            "rtrim",
            vec![new(&[BYTEA, BYTEA], BYTEA, |v| trim(v, false, true))],
        )
        .over(string::rtrim()),
    ]
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidParameterValue, message)
}

/// The place of a byte or bit.
fn index(at: i64, length: usize) -> Outcome<usize> {
    usize::try_from(at)
        .ok()
        .filter(|at| *at < length)
        .ok_or_else(|| invalid(format!("index {at} out of valid range, 0..{}", length as i64 - 1)))
}

/// Without the bytes at its ends that are among those of the second.
fn trim(v: &[ScalarValue], start: bool, end: bool) -> Result {
    let (mut bytes, cut) = (as_bytes(&v[0]), as_bytes(&v[1]));
    while start
        && let [first, rest @ ..] = bytes
        && cut.contains(first)
    {
        bytes = rest;
    }
    while end
        && let [rest @ .., last] = bytes
        && cut.contains(last)
    {
        bytes = rest;
    }
    bytes_of(bytes.to_vec())
}

fn get_byte(v: &[ScalarValue]) -> Result {
    let bytes = as_bytes(&v[0]);
    int4(i32::from(bytes[index(as_int(&v[1]), bytes.len())?]))
}

fn set_byte(v: &[ScalarValue]) -> Result {
    let mut bytes = as_bytes(&v[0]).to_vec();
    let at = index(as_int(&v[1]), bytes.len())?;
    bytes[at] = (as_int(&v[2]) & 0xff) as u8;
    bytes_of(bytes)
}

fn get_bit(v: &[ScalarValue]) -> Result {
    let bytes = as_bytes(&v[0]);
    let at = index(as_int(&v[1]), bytes.len() * 8)?;
    int4(i32::from(bytes[at / 8] >> (at % 8) & 1))
}

fn set_bit(v: &[ScalarValue]) -> Result {
    let mut bytes = as_bytes(&v[0]).to_vec();
    let at = index(as_int(&v[1]), bytes.len() * 8)?;
    let mask = 1 << (at % 8);
    match as_int(&v[2]) {
        0 => bytes[at / 8] &= !mask,
        1 => bytes[at / 8] |= mask,
        _ => return Err(invalid("new bit must be 0 or 1".to_owned())),
    }
    bytes_of(bytes)
}

fn bit_count(v: &[ScalarValue]) -> Result {
    let ones: u32 = as_bytes(&v[0]).iter().map(|byte| byte.count_ones()).sum();
    Ok(ScalarValue::Int64(Some(i64::from(ones))))
}

/// An encoding of characters. All text here is UTF-8.
#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    Latin1,
}

fn charset(name: &str) -> Outcome<Charset> {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(Charset::Utf8),
        "latin1" | "iso88591" => Ok(Charset::Latin1),
        _ => Err(invalid(format!("invalid encoding name \"{name}\""))
            .with_hint("The encodings are UTF8 and LATIN1.")),
    }
}

fn convert_from(v: &[ScalarValue]) -> Result {
    let bytes = as_bytes(&v[0]);
    let converted = match charset(as_text(&v[1]))? {
        Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
        Charset::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
    };
    match converted {
        Some(converted) if !converted.contains('\0') => text(converted),
        _ => Err(invalid("invalid byte sequence for encoding \"UTF8\"".to_owned())),
    }
}

fn convert_to(v: &[ScalarValue]) -> Result {
    let text = as_text(&v[0]);
    match charset(as_text(&v[1]))? {
        Charset::Utf8 => bytes_of(text.as_bytes().to_vec()),
        Charset::Latin1 => {
            let byte = |c: char| {
                u8::try_from(u32::from(c)).map_err(|_| {
                    invalid(format!(
                        "character \"{c}\" has no equivalent in encoding \"LATIN1\""
                    ))
                })
            };
            bytes_of(text.chars().map(byte).collect::<Outcome<_>>()?)
        }
    }
}

fn encode(v: &[ScalarValue]) -> Result {
    let bytes = as_bytes(&v[0]);
    match as_text(&v[1]).to_ascii_lowercase().as_str() {
        "hex" => text(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        "base64" => text(base64(bytes)),
        "escape" => {
            let mut escaped = String::new();
            for byte in bytes {
                match byte {
                    b'\\' => escaped += "\\\\",
                    0 | 0x80.. => escaped += &format!("\\{byte:03o}"),
                    _ => escaped.push(char::from(*byte)),
                }
            }
            text(escaped)
        }
        other => Err(unknown_form(other)),
    }
}

fn unknown_form(name: &str) -> Error {
    invalid(format!("unrecognized encoding: \"{name}\""))
        .with_hint("The encodings are base64, escape and hex.")
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Lines of 76 characters, as mail has them.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (number, group) in bytes.chunks(3).enumerate() {
        if number > 0 && number % 19 == 0 {
            out.push('\n');
        }
        let word = group
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for digit in 0..4 {
            out.push(if digit <= group.len() {
                char::from(DIGITS[(word >> (18 - 6 * digit) & 63) as usize])
            } else {
                '='
            });
        }
    }
    out
}

fn from_base64(coded: &str) -> Option<Vec<u8>> {
    let coded: Vec<u8> = coded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digits = coded
        .strip_suffix(b"==")
        .or_else(|| coded.strip_suffix(b"="))
        .unwrap_or(&coded);
    if !coded.len().is_multiple_of(4) || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::new();
    for group in digits.chunks(4) {
        let mut word = 0_u32;
        for digit in group {
            word = word << 6 | DIGITS.iter().position(|known| known == digit)? as u32;
        }
        word <<= 6 * (4 - group.len());
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

fn decode(v: &[ScalarValue]) -> Result {
    let coded = as_text(&v[0]);
    let form = as_text(&v[1]).to_ascii_lowercase();
    let decoded = match form.as_str() {
        "hex" => from_hex(coded),
        "base64" => from_base64(coded),
        "escape" => from_escape(coded),
        other => return Err(unknown_form(other)),
    };
    decoded.map_or_else(
        || Err(invalid(format!("invalid {form} data: \"{coded}\""))),
        bytes_of,
    )
}

fn from_hex(coded: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = coded
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| {
        digits
            .chunks(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect()
    })
}

fn from_escape(coded: &str) -> Option<Vec<u8>> {
    let (mut rest, mut out) = (coded.as_bytes(), Vec::new());
    while let Some((byte, after)) = rest.split_first() {
        (rest, _) = match (byte, after) {
            (b'\\', [b'\\', after @ ..]) => (after, out.push(b'\\')),
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                (after, out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0')))
            }
            (b'\\', _) => return None,
            (byte, after) => (after, out.push(*byte)),
        };
    }
    Some(out)
}

/// The bytes from `start`, counted from 1, which may lie before the first one.
fn substring(bytes: &[u8], start: i64, length: Option<i64>) -> Result {
    let end = match length {
        Some(length) if length < 0 => {
            return Err(invalid("negative substring length not allowed".to_owned()));
        }
        Some(length) => start.saturating_add(length),
        None => i64::MAX,
    };
    let place = |at: i64| {
        usize::try_from(at.max(1) - 1)
            .unwrap_or(usize::MAX)
            .min(bytes.len())
    };
    bytes_of(bytes[place(start)..place(end).max(place(start))].to_vec())
}

/// Where `wanted` begins, from 1; 0 if nowhere.
fn position(bytes: &[u8], wanted: &[u8]) -> i64 {
    let found = |at: &usize| bytes[*at..].starts_with(wanted);
    (0..=bytes.len()).find(found).map_or(0, |at| at as i64 + 1)
}

fn overlay(bytes: &[u8], new: &[u8], start: i64, length: i64) -> Result {
    if start <= 0 {
        return Err(invalid("negative substring length not allowed".to_owned()));
    }
    let place = |at: i64| {
        usize::try_from(at.max(1) - 1)
            .unwrap_or(usize::MAX)
            .min(bytes.len())
    };
    let mut out = bytes[..place(start)].to_vec();
    out.extend_from_slice(new);
    out.extend_from_slice(&bytes[place(start.saturating_add(length))..]);
    bytes_of(out)
}
