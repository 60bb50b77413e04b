//! Escapes in JSON strings.

/// Appends the string that `raw`, the bytes between the quotes, stands for. The scanner has checked the escapes' form;
/// what is left to go wrong are halves of surrogate pairs and the zero character, which Postgres' text cannot hold.
pub fn unescape(raw: &[u8], output: &mut String) -> Result<(), String> {
    let mut rest = raw;
    while let Some(backslash) = rest.iter().position(|byte| *byte == b'\\') {
        push(&rest[..backslash], output)?;
        let (code, taken) = (rest.get(backslash + 1).copied(), backslash + 2);
        rest = &rest[taken.min(rest.len())..];
        let character = match code {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => unicode(&mut rest)?,
            Some(code) => char::from(code),
            None => return Err("a string ends inside an escape".to_owned()),
        };
        output.push(character);
    }
    push(rest, output)
}

fn push(plain: &[u8], output: &mut String) -> Result<(), String> {
    output.push_str(std::str::from_utf8(plain).map_err(|_| "invalid UTF-8".to_owned())?);
    Ok(())
}

/// The character of `\uXXXX`, whose digits `rest` begins with, or of the pair it begins.
fn unicode(rest: &mut &[u8]) -> Result<char, String> {
    let invalid = || "a \\u escape is not a character: half of a surrogate pair".to_owned();
    let first = hex(rest).ok_or_else(invalid)?;
    let code = match first {
        0 => return Err("\\u0000 cannot be converted to text".to_owned()),
        0xd800..=0xdbff => {
            *rest = rest.strip_prefix(b"\\u").ok_or_else(invalid)?;
            match hex(rest) {
                Some(second @ 0xdc00..=0xdfff) => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                _ => return Err(invalid()),
            }
        }
        code => code,
    };
    char::from_u32(code).ok_or_else(invalid)
}

fn hex(rest: &mut &[u8]) -> Option<u32> {
    let (digits, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
