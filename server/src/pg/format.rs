//! The two forms of a value on the wire.

/// A value's form on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Binary,
}

impl Format {
    pub fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }

    /// The format of column `i`: `formats` has one per column, one for all, or none for text, as in Bind.
    pub fn of_column(formats: &[Format], i: usize) -> Self {
        match formats {
            [] => Format::Text,
            [all] => *all,
            each => each.get(i).copied().unwrap_or(Format::Text),
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Format::Text),
            1 => Some(Format::Binary),
            _ => None,
        }
    }
}
