//! Finds the values in JSON text without decoding them.
//!
//! Everything that is passed over is checked against the grammar, so whether a line is JSON does not depend on the
//! columns that are read. The result is [`Token`]s, places in the text; decoding them is a second pass, column by column.
//! A line feed is not white space here: one object stands on one line.

use crate::format::token::{Kind, Token};

/// Where and why the text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    pub at: usize,
    pub what: &'static str,
}

type Result<T> = std::result::Result<T, Flaw>;

/// Containers deeper than this are refused, as most JSON readers do.
const DEPTH_MAX: u32 = 127;

/// A place in JSON text that moves forward.
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    #[inline]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The text from here on begins with `prefix`.
    #[inline]
    pub fn starts_with(&self, prefix: &[u8]) -> bool {
        self.bytes.get(self.at..self.at + prefix.len()) == Some(prefix)
    }

    pub fn text(&self, start: usize, end: usize) -> &'a [u8] {
        &self.bytes[start..end]
    }

    pub fn flaw<T>(&self, what: &'static str) -> Result<T> {
        Err(Flaw { at: self.at, what })
    }

    /// Takes `byte`, with white space before it.
    #[inline]
    pub fn expect(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.peek() != Some(byte) {
            self.skip_space();
            if self.peek() != Some(byte) {
                return self.flaw(what);
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Takes a value, with white space before it.
    #[inline]
    pub fn value(&mut self) -> Result<Token> {
        self.skip_space();
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"') => {
                self.at += 1;
                return self.string();
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number
            }
            Some(b'{' | b'[') => {
                let kind = if self.peek() == Some(b'{') {
                    Kind::Object
                } else {
                    Kind::Array
                };
                self.container()?;
                kind
            }
            Some(b't') => self.word(b"true", Kind::True)?,
            Some(b'f') => self.word(b"false", Kind::False)?,
            Some(b'n') => self.word(b"null", Kind::Null)?,
            _ => return self.flaw("expected a value"),
        };
        Ok(Token {
            start: start as u32,
            end: self.at as u32,
            kind,
        })
    }

    fn word(&mut self, word: &'static [u8], kind: Kind) -> Result<Kind> {
        if !self.starts_with(word) {
            return self.flaw("expected true, false or null");
        }
        self.at += word.len();
        Ok(kind)
    }

    /// Takes the rest of a string after its opening quote.
    pub fn string(&mut self) -> Result<Token> {
        let start = self.at;
        let mut kind = Kind::Text;
        loop {
            self.skip_plain();
            match self.peek() {
                Some(b'"') => {
                    let end = self.at as u32;
                    self.at += 1;
                    return Ok(Token {
                        start: start as u32,
                        end,
                        kind,
                    });
                }
                Some(b'\\') => {
                    kind = Kind::EscapedText;
                    self.escape()?;
                }
                Some(b'\n') | None => return self.flaw("the line ends inside a string"),
                Some(_) => return self.flaw("control character in a string"),
            }
        }
    }

    /// Passes over bytes that mean themselves in a string, eight at a time.
    #[inline]
    fn skip_plain(&mut self) {
        while let Some(word) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let special = special_bytes(u64::from_le_bytes(*word));
            if special != 0 {
                self.at += special.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
        while let Some(byte) = self.peek() {
            if byte == b'"' || byte == b'\\' || byte < 0x20 {
                return;
            }
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Result<()> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return self.flaw("\\u needs four hexadecimal digits");
                }
                self.at += 6;
            }
            _ => return self.flaw("unknown escape in a string"),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if let Some(b'0'..=b'9') = self.peek() {
                return self.flaw("a number may not begin with 0");
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            self.flaw("expected a digit")
        } else {
            Ok(())
        }
    }

    /// Passes over an object or array and all in it, without recursion: one bit per level says what is open.
    fn container(&mut self) -> Result<()> {
        let mut objects: u128 = 0;
        let mut depth: u32 = 0;
        loop {
            // Here a value begins.
            self.skip_space();
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if depth == DEPTH_MAX {
                        return self.flaw("too many levels of nesting");
                    }
                    self.at += 1;
                    depth += 1;
                    objects = objects << 1 | u128::from(open == b'{');
                    self.skip_space();
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.at += 1;
                        depth -= 1;
                        objects >>= 1;
                    } else {
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => {
                    self.value()?;
                }
            }
            // Here a value has ended.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                self.skip_space();
                let in_object = objects & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if in_object {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if in_object => {}
                    Some(b']') if !in_object => {}
                    _ => {
                        return self.flaw(if in_object {
                            "expected ',' or '}'"
                        } else {
                            "expected ',' or ']'"
                        });
                    }
                }
                self.at += 1;
                depth -= 1;
                objects >>= 1;
            }
        }
    }

    fn key(&mut self) -> Result<()> {
        self.expect(b'"', "expected a field name")?;
        self.string()?;
        self.expect(b':', "expected ':'")
    }
}

/// The high bit of each byte that ends a plain stretch: quote, backslash or a control character. Bits above the lowest
/// one set may be wrong, so only that one counts.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero(word ^ (ONES * b'"' as u64));
    let backslash = zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & (ONES * 0x80)
}
