//! `COPY`, with its options in the present and in the old spelling.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{Copy, CopyHeader, CopyOptions, CopyRelation, Statement};

use super::Tokens;

/// Options as written; what is not said follows from the format.
#[derive(Default)]
struct Written {
    binary: bool,
    csv: bool,
    header: CopyHeader,
    delimiter: Option<String>,
    null: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
}

impl Tokens<'_> {
    pub fn copy(&mut self) -> Result<Statement> {
        self.expect_word("COPY")?;
        let relation = if self.token(&Token::LParen) {
            let rows = if self.peek_words(&["SUBSCRIBE"]) {
                CopyRelation::Subscribe(self.subscribe()?)
            } else {
                CopyRelation::Query(self.query()?)
            };
            self.expect_token(&Token::RParen)?;
            rows
        } else {
            let name = self.object_name()?;
            let columns = if self.peek_token(&Token::LParen) {
                self.list(Self::identifier)?
            } else {
                Vec::new()
            };
            CopyRelation::Table { name, columns }
        };
        let from = matches!(relation, CopyRelation::Table { .. }) && self.word("FROM");
        if !from {
            self.expect_word("TO")?;
        }
        self.copy_place(from)?;
        let position = self.next_offset();
        let written = self.copy_options()?;
        let options = resolve(written).map_err(|error| self.at(error, position))?;
        if self.peek_words(&["WHERE"]) {
            return Err(self.here(Error::unsupported("COPY .. WHERE is not supported yet")));
        }
        Ok(Statement::Copy(Copy {
            relation,
            from,
            options,
        }))
    }

    fn copy_place(&mut self, from: bool) -> Result<()> {
        if self.word(if from { "STDIN" } else { "STDOUT" }) {
            return Ok(());
        }
        let elsewhere = self.peek_word().as_deref() == Some("PROGRAM")
            || matches!(
                self.parser.peek_token_ref().token,
                Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)
            );
        if elsewhere {
            let hint = if from {
                "Use psql's \\copy, COPY .. FROM STDIN, or CREATE SOURCE .. WITH (connector = 'file', ..)."
            } else {
                "Use psql's \\copy, or COPY .. TO STDOUT."
            };
            return Err(self.here(
                Error::unsupported("COPY with a file of the server is not supported").with_hint(hint),
            ));
        }
        Err(self.unexpected(if from { "STDIN" } else { "STDOUT" }))
    }

    fn copy_options(&mut self) -> Result<Written> {
        let mut written = Written::default();
        let _ = self.word("WITH");
        if self.peek_token(&Token::LParen) {
            self.list(|tokens| tokens.copy_option(&mut written))?;
            return Ok(written);
        }
        while let Some(word) = self.peek_word() {
            match word.as_str() {
                "CSV" => {
                    self.parser.advance_token();
                    written.csv = true;
                }
                "HEADER" => {
                    self.parser.advance_token();
                    written.header = CopyHeader::Present;
                }
                "DELIMITER" | "DELIMITERS" | "NULL" | "QUOTE" | "ESCAPE" => {
                    self.parser.advance_token();
                    let _ = self.word("AS");
                    let value = self.string()?;
                    written.set_text(&word, value);
                }
                "BINARY" => {
                    self.parser.advance_token();
                    written.binary = true;
                }
                "FORCE" => return Err(self.here(Error::unsupported("FORCE in COPY is not supported yet"))),
                _ => break,
            }
        }
        Ok(written)
    }

    fn copy_option(&mut self, written: &mut Written) -> Result<()> {
        let position = self.next_offset();
        let name = self.name()?.to_uppercase();
        match name.as_str() {
            "FORMAT" => {
                let format_position = self.next_offset();
                let format = self.copy_word()?;
                match format.as_str() {
                    "csv" => written.csv = true,
                    "text" => written.csv = false,
                    "binary" => written.binary = true,
                    other => {
                        let error = Error::invalid(format!("COPY format \"{other}\" not recognized"));
                        return Err(self.at(error, format_position));
                    }
                }
            }
            "HEADER" => {
                written.header = match self.copy_value()?.as_deref() {
                    None | Some("true" | "on" | "1") => CopyHeader::Present,
                    Some("false" | "off" | "0") => CopyHeader::Absent,
                    Some("match") => CopyHeader::Match,
                    Some(_) => {
                        let error = Error::invalid("header requires a Boolean value or \"match\"");
                        return Err(self.at(error, position));
                    }
                }
            }
            "DELIMITER" | "NULL" | "QUOTE" | "ESCAPE" => {
                let value = self.string()?;
                written.set_text(&name, value);
            }
            "ENCODING" => {
                let encoding = self.string()?.to_lowercase().replace(['-', '_'], "");
                if encoding != "utf8" && encoding != "unicode" {
                    let error = Error::unsupported("COPY takes and gives UTF-8 only");
                    return Err(self.at(error, position));
                }
            }
            "FREEZE" => drop(self.copy_value()?),
            "FORCE_QUOTE" | "FORCE_NULL" | "FORCE_NOT_NULL" | "ON_ERROR" | "LOG_VERBOSITY" | "DEFAULT"
            | "REJECT_LIMIT" => {
                let message = format!("option {name} of COPY is not supported yet");
                return Err(self.at(Error::unsupported(message), position));
            }
            other => {
                let error = Error::syntax(format!("option \"{}\" not recognized", other.to_lowercase()));
                return Err(self.at(error, position));
            }
        }
        Ok(())
    }

    /// A word or string in lower case.
    fn copy_word(&mut self) -> Result<String> {
        match self.copy_value()? {
            Some(value) => Ok(value),
            None => Err(self.unexpected("a value")),
        }
    }

    fn copy_value(&mut self) -> Result<Option<String>> {
        if self.peek_token(&Token::Comma) || self.peek_token(&Token::RParen) {
            return Ok(None);
        }
        let token = self.parser.peek_token_ref().token.clone();
        let value = match token {
            Token::Word(word) => word.value,
            Token::Number(number, _) => number,
            Token::SingleQuotedString(text) => text,
            _ => return Err(self.unexpected("a value")),
        };
        self.parser.advance_token();
        Ok(Some(value.to_lowercase()))
    }
}

impl Written {
    fn set_text(&mut self, name: &str, value: String) {
        match name {
            "NULL" => self.null = Some(value),
            "QUOTE" => self.quote = Some(value),
            "ESCAPE" => self.escape = Some(value),
            _ => self.delimiter = Some(value),
        }
    }
}

/// Checks options against each other, as Postgres does.
fn resolve(written: Written) -> Result<CopyOptions> {
    if written.binary {
        return binary(&written);
    }
    let csv = written.csv;
    let mut options = CopyOptions::of_format(csv);
    options.header = written.header;
    let byte = |text: &str, what: &str| match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Error::unsupported(format!(
            "COPY {what} must be a single one-byte character"
        ))),
    };
    if let Some(delimiter) = &written.delimiter {
        options.delimiter = byte(delimiter, "delimiter")?;
    }
    if let Some(null) = written.null {
        options.null = null;
    }
    if !csv && (written.quote.is_some() || written.escape.is_some()) {
        let what = if written.quote.is_some() {
            "QUOTE"
        } else {
            "ESCAPE"
        };
        return Err(Error::unsupported(format!("COPY {what} requires CSV mode")));
    }
    if let Some(quote) = &written.quote {
        options.quote = byte(quote, "quote")?;
        options.escape = options.quote;
    }
    if let Some(escape) = &written.escape {
        options.escape = byte(escape, "escape")?;
    }
    if matches!(options.delimiter, b'\n' | b'\r') || options.null.contains(['\n', '\r']) {
        return Err(Error::invalid(
            "COPY delimiter and null cannot contain newline or carriage return",
        ));
    }
    if csv && options.delimiter == options.quote {
        return Err(Error::invalid("COPY delimiter and quote must be different"));
    }
    if !csv
        && (options.delimiter == b'\\'
            || options.delimiter == b'.'
            || options.delimiter.is_ascii_alphanumeric())
    {
        let delimiter = char::from(options.delimiter);
        return Err(Error::invalid(format!(
            "COPY delimiter cannot be \"{delimiter}\""
        )));
    }
    if options.null.as_bytes().contains(&options.delimiter) {
        return Err(Error::invalid(
            "COPY delimiter character must not appear in the NULL specification",
        ));
    }
    Ok(options)
}

/// The binary format, which has no characters to choose.
fn binary(written: &Written) -> Result<CopyOptions> {
    let chosen = [
        ("DELIMITER", written.delimiter.is_some()),
        ("NULL", written.null.is_some()),
        ("HEADER", written.header != CopyHeader::Absent),
        ("QUOTE", written.quote.is_some()),
        ("ESCAPE", written.escape.is_some()),
    ];
    if let Some((what, _)) = chosen.iter().find(|(_, chosen)| *chosen) {
        return Err(Error::syntax(format!("cannot specify {what} in BINARY mode")));
    }
    Ok(CopyOptions {
        binary: true,
        ..CopyOptions::of_format(false)
    })
}
