//! The text a client sent, and where its lines begin: turns the tokenizer's lines and columns into offsets.

use sqlparser::tokenizer::{Location, Span};

/// A text with an index of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    text: String,
    /// Byte and character offset of the beginning of each line.
    lines: Vec<(usize, usize)>,
}

impl SourceText {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let mut lines = vec![(0, 0)];
        for (chars, (bytes, c)) in text.char_indices().enumerate() {
            if c == '\n' {
                lines.push((bytes + 1, chars + 1));
            }
        }
        Self { text, lines }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Byte offset of a token's place; `None` for a token that does not come from the text.
    pub fn byte_offset(&self, location: Location) -> Option<usize> {
        let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(location.column).ok()?.checked_sub(1)?;
        let (start, _) = *self.lines.get(line)?;
        let rest = &self.text[start..];
        Some(
            rest.char_indices()
                .nth(column)
                .map_or(self.text.len(), |(bytes, _)| start + bytes),
        )
    }

    /// Position for an error message: characters from 1.
    pub fn position(&self, location: Location) -> Option<usize> {
        self.byte_offset(location)
            .map(|bytes| self.position_of_byte(bytes))
    }

    pub fn position_of_span(&self, span: Span) -> Option<usize> {
        self.position(span.start)
    }

    /// Position for an error message of a byte offset, such as that of an option.
    pub fn position_of_byte(&self, bytes: usize) -> usize {
        let bytes = bytes.min(self.text.len());
        let line = self.lines.partition_point(|(start, _)| *start <= bytes) - 1;
        let (line_bytes, line_chars) = self.lines[line];
        line_chars
            + self.text[line_bytes..]
                .char_indices()
                .take_while(|(i, _)| line_bytes + i < bytes)
                .count()
            + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = SourceText::new("é\nßx y");
        assert_eq!(text.byte_offset(Location::new(2, 2)), Some(5));
        assert_eq!(text.position(Location::new(2, 2)), Some(4));
        assert_eq!(text.position_of_byte(7), 6);
        assert_eq!(text.position_of_byte(99), 7);
        assert_eq!(text.byte_offset(Location::new(0, 0)), None);
    }
}
