//! The text format: a row per line, fields between delimiters, backslashes before what would be misread.

use super::Record;
use crate::error::{Result, ValueError};

/// Splits a line, which has no line end, into fields.
pub fn split(line: &[u8], number: u64, delimiter: u8, null: &str) -> Result<Record> {
    let mut fields = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    loop {
        match line.get(at) {
            Some(b'\\') if at + 1 < line.len() => at += 2,
            Some(byte) if *byte != delimiter => at += 1,
            end => {
                fields.push(field(&line[begin..at.min(line.len())], null)?);
                if end.is_none() {
                    break;
                }
                at += 1;
                begin = at;
            }
        }
    }
    Ok(Record {
        line: number,
        fields,
        raw: String::from_utf8_lossy(line).into_owned(),
    })
}

fn field(raw: &[u8], null: &str) -> Result<Option<String>> {
    // What stands for NULL is compared before backslashes mean anything.
    if raw == null.as_bytes() {
        return Ok(None);
    }
    let text = if raw.contains(&b'\\') {
        unescape(raw)
    } else {
        raw.to_vec()
    };
    let text = String::from_utf8(text).map_err(|_| ValueError::NotUtf8)?;
    Ok(Some(text))
}

fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied().peekable();
    let number = |digits: &[u8], radix: u32| {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        // Three octal digits may say more than a byte holds; Postgres keeps the low one.
        u32::from_str_radix(digits, radix).map_or(0, |n| (n & 0xff) as u8)
    };
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let Some(escaped) = bytes.next() else {
            text.push(b'\\');
            break;
        };
        let mut digits = Vec::new();
        text.push(match escaped {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'0'..=b'7' => {
                digits.push(escaped);
                while let Some(digit) = bytes.next_if(|b| digits.len() < 3 && (b'0'..=b'7').contains(b)) {
                    digits.push(digit);
                }
                number(&digits, 8)
            }
            b'x' if bytes.peek().is_some_and(u8::is_ascii_hexdigit) => {
                while let Some(digit) = bytes.next_if(|b| digits.len() < 2 && b.is_ascii_hexdigit()) {
                    digits.push(digit);
                }
                number(&digits, 16)
            }
            other => other,
        });
    }
    text
}

/// Writes a value so that [`split`] reads it back.
pub fn write(value: &str, delimiter: u8, out: &mut Vec<u8>) {
    for byte in value.bytes() {
        let escape = match byte {
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', escape]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Vec<Option<String>> {
        split(line.as_bytes(), 1, b'\t', "\\N").unwrap().fields
    }

    #[test]
    fn fields_are_split_and_unescaped() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            fields("a\tb\\tc\t\\N\t"),
            [some("a"), some("b\tc"), None, some("")]
        );
        assert_eq!(fields(""), [some("")]);
        assert_eq!(fields("\\\\N\t\\x41\\101\\."), [some("\\N"), some("AA.")]);
        assert_eq!(fields("a\\\tb"), [some("a\tb")]);
        assert!(split(b"\xff", 1, b'\t', "\\N").is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let value = "a\tb\\c\nd\r\u{8}\u{b}\u{c}ü";
        let mut line = Vec::new();
        write(value, b'\t', &mut line);
        assert_eq!(
            split(&line, 1, b'\t', "\\N").unwrap().fields,
            [Some(value.to_owned())]
        );
    }
}
