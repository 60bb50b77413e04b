//! Splits records into fields without decoding them.

use super::quoting::Quoting;
use crate::format::token::{Kind, Token};

/// How a record is split.
#[derive(Debug, Clone)]
pub struct Splitter {
    pub delimiter: u8,
    pub quoting: Option<Quoting>,
    /// What an unquoted field has to be to be NULL.
    pub null: Box<[u8]>,
}

/// The field at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Another field begins at `next`.
    Value { token: Token, next: usize },
    /// The record ends at `end`, and another one begins at `next`.
    Last { token: Token, end: usize, next: usize },
    /// The bytes end between quotes.
    Unterminated,
}

/// The place behind the line end at `at`, if the line that begins there is empty.
pub fn after_blank_line(bytes: &[u8], at: usize) -> Option<usize> {
    match &bytes[at..] {
        [b'\n', ..] => Some(at + 1),
        [b'\r', b'\n', ..] => Some(at + 2),
        [b'\r'] => Some(at + 1),
        _ => None,
    }
}

impl Splitter {
    /// The field that begins at `start`.
    pub fn field(&self, bytes: &[u8], start: usize) -> Field {
        let Some(quoting) = self.quoting else {
            let end = memchr::memchr2(self.delimiter, b'\n', &bytes[start..])
                .map_or(bytes.len(), |length| start + length);
            return self.plain(bytes, start, end);
        };
        if bytes.get(start) == Some(&quoting.quote) {
            match self.quoted(quoting, bytes, start) {
                Some(field) => return field,
                None => return self.mixed(quoting, bytes, start),
            }
        }
        let hit = memchr::memchr3(self.delimiter, b'\n', quoting.quote, &bytes[start..])
            .map(|length| start + length);
        match hit {
            Some(hit) if bytes[hit] == quoting.quote => self.mixed(quoting, bytes, start),
            Some(hit) => self.plain(bytes, start, hit),
            None => self.plain(bytes, start, bytes.len()),
        }
    }

    /// A field without quotes that ends at `end`.
    fn plain(&self, bytes: &[u8], start: usize, end: usize) -> Field {
        let value_end = self.without_carriage_return(bytes, start, end);
        let kind = if bytes[start..value_end] == *self.null {
            Kind::Null
        } else {
            Kind::Text
        };
        self.ended(bytes, Token::new(kind, start, value_end), end)
    }

    /// A field that is quoted from its beginning to its end; `None` if it is not that simple.
    fn quoted(&self, quoting: Quoting, bytes: &[u8], start: usize) -> Option<Field> {
        let mut at = start + 1;
        let mut kind = Kind::Text;
        let close = loop {
            let rest = &bytes[at..];
            let hit = at
                + if quoting.escape == quoting.quote {
                    memchr::memchr(quoting.quote, rest)
                } else {
                    memchr::memchr2(quoting.quote, quoting.escape, rest)
                }?;
            let next = bytes.get(hit + 1).copied();
            if bytes[hit] == quoting.escape
                && next.is_some_and(|next| next == quoting.quote || next == quoting.escape)
            {
                kind = Kind::EscapedText;
                at = hit + 2;
            } else if bytes[hit] == quoting.quote {
                break hit;
            } else {
                at = hit + 1;
            }
        };
        let end = match &bytes[close + 1..] {
            [] => close + 1,
            [byte, ..] if *byte == self.delimiter || *byte == b'\n' => close + 1,
            [b'\r'] | [b'\r', b'\n', ..] => close + 2,
            _ => return None,
        };
        let token = match kind {
            Kind::Text => Token::new(kind, start + 1, close),
            _ => Token::new(kind, start, close + 1),
        };
        Some(self.ended(bytes, token, end))
    }

    /// A field with quotes at any place in it.
    fn mixed(&self, quoting: Quoting, bytes: &[u8], start: usize) -> Field {
        let mut at = start;
        loop {
            let rest = &bytes[at..];
            let Some(hit) = memchr::memchr3(self.delimiter, b'\n', quoting.quote, rest) else {
                break;
            };
            let hit = at + hit;
            if bytes[hit] != quoting.quote {
                return self.mixed_ended(bytes, start, hit);
            }
            // Over the quoted part, to behind the quote that closes it.
            let Some(length) = quoting.quoted_length(&bytes[hit..]) else {
                return Field::Unterminated;
            };
            at = hit + length;
        }
        self.mixed_ended(bytes, start, bytes.len())
    }

    fn mixed_ended(&self, bytes: &[u8], start: usize, end: usize) -> Field {
        let value_end = self.without_carriage_return(bytes, start, end);
        self.ended(bytes, Token::new(Kind::EscapedText, start, value_end), end)
    }

    /// What comes after the field, which ends at `end`.
    fn ended(&self, bytes: &[u8], token: Token, end: usize) -> Field {
        if bytes.get(end) == Some(&self.delimiter) {
            return Field::Value { token, next: end + 1 };
        }
        Field::Last {
            token,
            end,
            next: (end + 1).min(bytes.len()),
        }
    }

    /// The end of a value before `end`: a carriage return there belongs to the line end.
    fn without_carriage_return(&self, bytes: &[u8], start: usize, end: usize) -> usize {
        let ends_line = bytes.get(end) != Some(&self.delimiter);
        if ends_line && bytes[start..end].ends_with(b"\r") {
            end - 1
        } else {
            end
        }
    }
}
