//! `WITH (key = value, ..)`.

use sqlparser::tokenizer::{Token, Word};

use crate::error::Result;
use crate::statement::WithOption;

use super::Tokens;

impl Tokens<'_> {
    /// The list in parentheses after `WITH`.
    pub fn options(&mut self) -> Result<Vec<WithOption>> {
        self.expect_token(&Token::LParen)?;
        let mut options = Vec::new();
        while !self.token(&Token::RParen) {
            if !options.is_empty() {
                self.expect_token(&Token::Comma)?;
            }
            options.push(self.option()?);
        }
        Ok(options)
    }

    pub fn option(&mut self) -> Result<WithOption> {
        let position = self.next_offset();
        let key = self.option_key()?;
        self.expect_token(&Token::Eq)?;
        let value = self.option_value()?;
        Ok(WithOption { key, value, position })
    }

    /// A string, or words joined by `.` and `-`.
    fn option_key(&mut self) -> Result<String> {
        let mut key = match self.parser.peek_token_ref().token.clone() {
            Token::SingleQuotedString(key) | Token::Word(Word { value: key, .. }) => key,
            _ => return Err(self.unexpected("an option")),
        };
        self.parser.advance_token();
        loop {
            let joint = if self.token(&Token::Period) {
                '.'
            } else if self.token(&Token::Minus) {
                '-'
            } else {
                return Ok(key);
            };
            let Token::Word(word) = self.parser.peek_token_ref().token.clone() else {
                return Err(self.unexpected("the rest of the option's name"));
            };
            self.parser.advance_token();
            key.push(joint);
            key.push_str(&word.value);
        }
    }

    /// A string, a number, a word, or an interval.
    pub fn option_value(&mut self) -> Result<String> {
        if self.peek_word().as_deref() == Some("INTERVAL") {
            return self.interval();
        }
        let negative = self.token(&Token::Minus);
        let value = match self.parser.peek_token_ref().token.clone() {
            Token::Number(number, _) if negative => format!("-{number}"),
            Token::Number(number, _) => number,
            Token::SingleQuotedString(s) | Token::EscapedStringLiteral(s) if !negative => s,
            Token::Word(word) if !negative && word.quote_style.is_none() => word.value.to_lowercase(),
            Token::Word(word) if !negative => word.value,
            _ => return Err(self.unexpected("the option's value")),
        };
        self.parser.advance_token();
        Ok(value)
    }

    /// `INTERVAL '5 minutes'`, `INTERVAL '5' MINUTE`, `INTERVAL 5 MINUTES`, `'5 minutes'`, `5 SECONDS`: as text.
    pub fn interval(&mut self) -> Result<String> {
        let _ = self.word("INTERVAL");
        let amount = match self.parser.peek_token_ref().token.clone() {
            Token::SingleQuotedString(s) => s,
            Token::Number(number, _) => number,
            _ => return Err(self.unexpected("an interval")),
        };
        self.parser.advance_token();
        let unit = self.peek_word().filter(|word| is_unit(word));
        Ok(match unit {
            Some(unit) => {
                self.parser.advance_token();
                format!("{amount} {}", unit.to_lowercase())
            }
            None => amount,
        })
    }
}

fn is_unit(word: &str) -> bool {
    let singular = word.strip_suffix('S').unwrap_or(word);
    [
        "MICROSECOND",
        "MILLISECOND",
        "SECOND",
        "MINUTE",
        "HOUR",
        "DAY",
        "WEEK",
        "MONTH",
        "YEAR",
    ]
    .contains(&singular)
}
