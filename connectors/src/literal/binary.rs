//! `bytea` and `uuid`.

use millpond_catalog::SqlType;

use super::invalid;

/// Postgres' hex form `\x0a0b`, else its escape form: text in which `\\` is a backslash and `\ooo` a byte.
pub fn bytea(text: &str) -> Result<Vec<u8>, String> {
    let error = || invalid(&SqlType::Bytea, text);
    if let Some(hex) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        if !digits.len().is_multiple_of(2) {
            return Err(error());
        }
        let pair = |pair: &[u8]| Some(hex_digit(pair[0])? << 4 | hex_digit(pair[1])?);
        return digits
            .chunks(2)
            .map(pair)
            .collect::<Option<Vec<u8>>>()
            .ok_or_else(error);
    }
    let mut output = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            output.push(*byte);
        } else if let Some(after) = rest.strip_prefix(b"\\") {
            output.push(b'\\');
            rest = after;
        } else {
            let (digits, after) = rest.split_first_chunk::<3>().ok_or_else(error)?;
            if !digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) || digits[0] > b'3' {
                return Err(error());
            }
            output.push(digits.iter().fold(0, |value, digit| value << 3 | (digit - b'0')));
            rest = after;
        }
    }
    Ok(output)
}

/// The canonical form of any spelling that Postgres takes: hyphens after any group of four digits, braces, any case.
pub fn uuid(text: &str) -> Result<String, String> {
    let error = || invalid(&SqlType::Uuid, text);
    let trimmed = text.trim();
    let inner = trimmed
        .strip_prefix('{')
        .map_or(Some(trimmed), |rest| rest.strip_suffix('}'))
        .ok_or_else(error)?;
    let mut output = String::with_capacity(36);
    let mut digits = 0;
    let mut after_hyphen = true;
    for byte in inner.bytes() {
        if byte == b'-' {
            if after_hyphen || digits % 4 != 0 {
                return Err(error());
            }
            after_hyphen = true;
            continue;
        }
        if hex_digit(byte).is_none() || digits == 32 {
            return Err(error());
        }
        if matches!(digits, 8 | 12 | 16 | 20) {
            output.push('-');
        }
        output.push(char::from(byte.to_ascii_lowercase()));
        digits += 1;
        after_hyphen = false;
    }
    if digits == 32 && !after_hyphen {
        Ok(output)
    } else {
        Err(error())
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}
