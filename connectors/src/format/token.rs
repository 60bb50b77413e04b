//! Where the values of a chunk of text stand: what a scan leaves for the decoding of columns.

/// What stands at a place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The record does not have the field.
    Missing,
    Null,
    False,
    True,
    Number,
    /// Without escapes; the place is between the quotes, if there are any.
    Text,
    /// With escapes. The place is between the quotes in JSON; in CSV it includes them.
    EscapedText,
    Array,
    Object,
}

/// A value's place in the scanned text. Chunks are far smaller than 4 GB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub start: u32,
    pub end: u32,
    pub kind: Kind,
}

impl Token {
    pub const MISSING: Token = Token {
        start: 0,
        end: 0,
        kind: Kind::Missing,
    };

    pub fn new(kind: Kind, start: usize, end: usize) -> Self {
        Token {
            start: start as u32,
            end: end as u32,
            kind,
        }
    }

    /// The place of a JSON value with its quotes.
    pub fn quoted(&self) -> (usize, usize) {
        match self.kind {
            Kind::Text | Kind::EscapedText => (self.start as usize - 1, self.end as usize + 1),
            _ => (self.start as usize, self.end as usize),
        }
    }
}
