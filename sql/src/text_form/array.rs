//! Quotes around what stands in the text of an array.

use bytes::{BufMut, BytesMut};

/// Puts quotes around what `body` writes where `needed`, and a sign before the bytes that need one.
pub fn quoted(
    out: &mut BytesMut,
    needed: fn(&[u8]) -> bool,
    escape: fn(u8) -> Option<u8>,
    body: impl FnOnce(&mut BytesMut),
) {
    let start = out.len();
    body(out);
    if !needed(&out[start..]) {
        return;
    }
    let value = out.split_off(start);
    out.put_u8(b'"');
    for byte in value {
        if let Some(sign) = escape(byte) {
            out.put_u8(sign);
        }
        out.put_u8(byte);
    }
    out.put_u8(b'"');
}

pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Whether an element stands in quotes.
pub fn needs_quotes(value: &[u8]) -> bool {
    value.is_empty()
        || value.eq_ignore_ascii_case(b"NULL")
        || value
            .iter()
            .any(|b| matches!(b, b'"' | b'\\' | b'{' | b'}' | b',') || is_space(*b))
}

pub fn backslashed(byte: u8) -> Option<u8> {
    matches!(byte, b'"' | b'\\').then_some(b'\\')
}
