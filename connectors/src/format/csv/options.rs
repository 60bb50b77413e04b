//! Options of format `csv`.

use super::quoting::Quoting;
use super::record::Splitter;
use crate::error::{Error, Result};
use crate::format::column::EpochUnit;
use crate::options::{OptionValue, options};

options! {
    /// How records are read.
    pub struct CsvOptions {
        /// The first line of each file names the columns, which are then found by name, in any order: by the exact name,
        /// else without regard to case and spaces. A declared column that the header lacks is NULL, other columns of the
        /// file are ignored.
        header: bool = "false",
        /// The character between values: `,`, `;`, `|`, `\t` and so on.
        delimiter ["sep", "separator", "field_delimiter", "csv_field_delimiter"]: Character = ",",
        /// The character around values; `none` where quotes mean nothing.
        quote ["quote_character", "csv_quote_character"]: Quote = "\"",
        /// The character that takes the special meaning from a quote or itself between quotes. Without it the quote: it is
        /// doubled.
        escape ["escape_character", "csv_escape_character"]: Character = none,
        /// What stands for NULL, unquoted.
        null ["null_value", "null_literal", "null_string", "csv_null_literal"]: Word = "",
        /// What a whole number in a `timestamp` or `timestamptz` column counts since 1970-01-01 UTC.
        epoch_unit: EpochUnit = none,
    }
}

impl CsvOptions {
    /// How a record is split, if the characters can be told apart.
    pub fn splitter(&self) -> Result<Splitter> {
        let quoting = self.quote.0.map(|quote| Quoting {
            quote,
            escape: self.escape.map_or(quote, |escape| escape.0),
        });
        let delimiter = self.delimiter.0;
        if let Some(Quoting { quote, escape }) = quoting
            && (delimiter == quote || delimiter == escape)
        {
            return Err(invalid("delimiter", "it is the quote or escape character, too"));
        }
        if self.null.0.bytes().any(|byte| byte == delimiter || byte == b'\n') {
            return Err(invalid("null", "it contains the delimiter or a line end"));
        }
        Ok(Splitter {
            delimiter,
            quoting,
            null: self.null.0.clone().into_bytes().into(),
        })
    }
}

fn invalid(key: &str, message: &str) -> Error {
    Error::InvalidOption {
        key: key.to_owned(),
        message: message.to_owned(),
        position: None,
    }
}

/// One ASCII character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character(pub u8);

impl OptionValue for Character {
    const KIND: &'static str = "one character";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "\\t" | "tab" => Ok(Character(b'\t')),
            _ => match text.as_bytes() {
                [b'\n' | b'\r'] => Err("it is a line end".to_owned()),
                [byte] if byte.is_ascii() => Ok(Character(*byte)),
                _ => Err(format!("\"{text}\" is not one ASCII character")),
            },
        }
    }
}

/// The quote, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote(pub Option<u8>);

impl OptionValue for Quote {
    const KIND: &'static str = "one character or `none`";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" | "none" => Ok(Quote(None)),
            _ => Ok(Quote(Some(Character::parse(text)?.0))),
        }
    }
}

/// Any text, also none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(pub String);

impl OptionValue for Word {
    const KIND: &'static str = "text, also empty";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Word(text.to_owned()))
    }
}
