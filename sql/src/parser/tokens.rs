//! The tokens of one statement: the library's parser, and the few ways we read from it.
//!
//! Words are compared by their text, because most of ours are no keywords of the library. A quoted word never matches.

use std::ops::Range;

use sqlparser::ast::{DataType, Expr, Ident, ObjectName, Query};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};

use crate::error::{Error, ErrorKind, Result};
use crate::text::SourceText;

use super::balance::balance;
use super::dialect::MillpondDialect;

/// Calls of the library's parser inside each other; the pass before parsing refuses sooner.
const DEPTH_MAX: usize = 300;

pub struct Tokens<'a> {
    pub(super) parser: Parser<'a>,
    text: &'a SourceText,
    /// Byte offset of the end of the statement.
    end: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(
        dialect: &'a MillpondDialect,
        text: &'a SourceText,
        tokens: Vec<TokenWithSpan>,
        end: usize,
    ) -> Self {
        let parser = Parser::new(dialect)
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(tokens);
        Self { parser, text, end }
    }

    /// The next word in upper case, if the next token is an unquoted word.
    pub fn peek_word(&self) -> Option<String> {
        self.peek_nth_word(0)
    }

    pub fn peek_nth_word(&self, n: usize) -> Option<String> {
        match &self.parser.peek_nth_token_ref(n).token {
            Token::Word(Word {
                value,
                quote_style: None,
                ..
            }) => Some(value.to_ascii_uppercase()),
            _ => None,
        }
    }

    pub fn peek_words(&self, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(n, word)| self.peek_nth_word(n).as_deref() == Some(*word))
    }

    /// Reads `words` if they come next.
    pub fn words(&mut self, words: &[&str]) -> bool {
        let found = self.peek_words(words);
        if found {
            words.iter().for_each(|_| self.parser.advance_token());
        }
        found
    }

    pub fn word(&mut self, word: &str) -> bool {
        self.words(&[word])
    }

    pub fn one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().find(|word| self.word(word)).copied()
    }

    pub fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.word(word) {
            Ok(())
        } else {
            Err(self.unexpected(word))
        }
    }

    pub fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|word| self.expect_word(word))
    }

    pub fn peek_token(&self, token: &Token) -> bool {
        self.parser.peek_token_ref().token == *token
    }

    pub fn token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    pub fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.token(token) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("\"{token}\"")))
        }
    }

    pub fn at_end(&self) -> bool {
        self.peek_token(&Token::EOF)
    }

    pub fn expect_end(&self) -> Result<()> {
        if self.at_end() {
            return Ok(());
        }
        self.refuse_query_clause()?;
        Err(self.unexpected("the end of the statement"))
    }

    /// Clauses of streaming queries that are not there yet, or not in this place.
    pub fn refuse_query_clause(&self) -> Result<()> {
        if self.peek_word().as_deref() == Some("WATERMARK")
            && self.peek_nth_word(2).as_deref() == Some("DELAY")
        {
            return Err(self.here(
                Error::unsupported("WATERMARK in a query is not supported yet").with_hint(
                    "Declare it with the stream or source: WATERMARK FOR ts AS ts - INTERVAL '10 minutes'.",
                ),
            ));
        }
        if self.peek_word().as_deref() == Some("EMIT") {
            return Err(self.here(
                Error::unsupported("EMIT is supported in CREATE STREAMING VIEW only")
                    .with_hint("CREATE STREAMING VIEW v AS SELECT .. EMIT .., then SELECT from v."),
            ));
        }
        Ok(())
    }

    pub fn identifier(&mut self) -> Result<Ident> {
        // The library would take a string for an identifier.
        if let Token::Word(_) = self.parser.peek_token_ref().token {
            self.library(|p| p.parse_identifier())
        } else {
            Err(self.unexpected("an identifier"))
        }
    }

    /// An identifier as a name: folded to lower case unless quoted.
    pub fn name(&mut self) -> Result<String> {
        let ident = self.identifier()?;
        Ok(if ident.quote_style.is_some() {
            ident.value
        } else {
            ident.value.to_lowercase()
        })
    }

    pub fn object_name(&mut self) -> Result<ObjectName> {
        if let Token::Word(_) = self.parser.peek_token_ref().token {
            self.library(|p| p.parse_object_name(false))
        } else {
            Err(self.unexpected("a name"))
        }
    }

    pub fn string(&mut self) -> Result<String> {
        match self.parser.peek_token_ref().token.clone() {
            Token::SingleQuotedString(s) | Token::EscapedStringLiteral(s) => {
                self.parser.advance_token();
                Ok(s)
            }
            _ => Err(self.unexpected("a string")),
        }
    }

    pub fn expr(&mut self) -> Result<Expr> {
        let mut expr = self.library(|p| p.parse_expr())?;
        balance(&mut expr);
        Ok(expr)
    }

    pub fn data_type(&mut self) -> Result<DataType> {
        self.library(|p| p.parse_data_type())
    }

    pub fn query(&mut self) -> Result<Box<Query>> {
        let mut query = self.library(|p| p.parse_query())?;
        balance(&mut query);
        Ok(query)
    }

    /// Where the last `WITH (` outside of parentheses stands, as an index among the tokens that are left.
    pub fn position_of_trailing_options(&self) -> Option<usize> {
        let (mut depth, mut found) = (0, None);
        for index in self.parser.index().. {
            match &self.parser.token_at(index).token {
                Token::EOF => break,
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                Token::Word(word)
                    if depth == 0
                        && word.quote_style.is_none()
                        && word.value.eq_ignore_ascii_case("WITH")
                        && self.next_is_parenthesis(index + 1) =>
                {
                    found = Some(index);
                }
                _ => {}
            }
        }
        found
    }

    /// Where these words stand that end the statement, as an index among the tokens that are left.
    pub fn position_of_last_words(&self, words: &[&str]) -> Option<usize> {
        let left =
            (self.parser.index()..).take_while(|index| self.parser.token_at(*index).token != Token::EOF);
        let is_blank = |index: &usize| matches!(self.parser.token_at(*index).token, Token::Whitespace(_));
        let solid: Vec<usize> = left.filter(|index| !is_blank(index)).collect();
        let last = solid.get(solid.len().checked_sub(words.len())?..)?;
        let fits = last.iter().zip(words).all(|(index, word)| {
            matches!(&self.parser.token_at(*index).token, Token::Word(found)
                if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
        });
        last.first().copied().filter(|_| fits)
    }

    fn next_is_parenthesis(&self, index: usize) -> bool {
        let rest = (index..).map(|index| &self.parser.token_at(index).token);
        rest.into_iter()
            .find(|token| !matches!(token, Token::Whitespace(_)))
            .is_some_and(|token| *token == Token::LParen)
    }

    /// Reads the tokens before the one at index `end`, which is the next one then.
    pub fn before<T>(&mut self, end: usize, read: impl FnOnce(&mut Tokens<'_>) -> Result<T>) -> Result<T> {
        let is_blank = |index: &usize| matches!(self.parser.token_at(*index).token, Token::Whitespace(_));
        let begin = self.parser.index();
        let last = (begin..end).rfind(|index| !is_blank(index)).unwrap_or(begin);
        let tokens: Vec<_> = (begin..=last)
            .map(|index| self.parser.token_at(index).clone())
            .collect();
        let until = self.text.byte_offset(self.parser.token_at(last).span.end);
        let dialect = MillpondDialect::default();
        let mut inner = Tokens::new(&dialect, self.text, tokens, until.unwrap_or(self.end));
        let read = read(&mut inner)?;
        inner.expect_end()?;
        while self.parser.index() <= last {
            self.parser.advance_token();
        }
        Ok(read)
    }

    /// `( item, item, .. )`.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_token(&Token::LParen)?;
        let items = self.comma_separated(&mut item)?;
        self.expect_token(&Token::RParen)?;
        Ok(items)
    }

    pub fn comma_separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Calls the library and translates its errors.
    pub fn library<T>(&mut self, parse: impl FnOnce(&mut Parser<'a>) -> Result<T, ParserError>) -> Result<T> {
        parse(&mut self.parser).map_err(|error| self.translate(error))
    }

    /// Byte offset of the next token.
    pub fn next_offset(&self) -> usize {
        self.text
            .byte_offset(self.parser.peek_token_ref().span.start)
            .unwrap_or(self.end)
    }

    /// Bytes of the text from `start` to the end of the token read last.
    pub fn range_from(&self, start: usize) -> Range<usize> {
        let read = (0..self.parser.index()).rev().map(|i| self.parser.token_at(i));
        let last = read
            .into_iter()
            .find(|t| !matches!(t.token, Token::Whitespace(_)));
        start
            ..last
                .and_then(|t| self.text.byte_offset(t.span.end))
                .unwrap_or(self.end)
                .max(start)
    }

    /// Puts the position of the next token into an error.
    pub fn here(&self, error: Error) -> Error {
        error.or_position(Some(self.text.position_of_byte(self.next_offset())))
    }

    pub fn at(&self, error: Error, offset: usize) -> Error {
        error.or_position(Some(self.text.position_of_byte(offset)))
    }

    /// The next token is not what the grammar asks for.
    pub fn unexpected(&self, expected: &str) -> Error {
        let found = self.parser.peek_token_ref();
        let error = if found.token == Token::EOF {
            Error::syntax("syntax error at end of input")
        } else {
            Error::syntax(format!("syntax error at or near \"{}\"", self.token_text(found)))
        };
        self.here(error.with_detail(format!("Expected {expected}.")))
    }

    /// A token as written.
    fn token_text(&self, token: &TokenWithSpan) -> String {
        let range = self
            .text
            .byte_offset(token.span.start)
            .zip(self.text.byte_offset(token.span.end));
        match range.and_then(|(start, end)| self.text.as_str().get(start..end)) {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => token.token.to_string(),
        }
    }

    fn translate(&self, error: ParserError) -> Error {
        let message = match error {
            ParserError::RecursionLimitExceeded => {
                return self.here(too_deep());
            }
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        };
        let (message, location) = split_location(&message);
        let position = match location {
            Some(location) => self.text.position(location),
            None => Some(self.text.position_of_byte(if message.ends_with("found: EOF") {
                self.end
            } else {
                self.next_offset()
            })),
        };
        let error = match message
            .strip_prefix("Expected: ")
            .and_then(|m| m.split_once(", found: "))
        {
            Some((expected, "EOF")) => {
                Error::syntax("syntax error at end of input").with_detail(format!("Expected {expected}."))
            }
            Some((expected, found)) => Error::syntax(format!("syntax error at or near \"{found}\""))
                .with_detail(format!("Expected {expected}.")),
            None => Error::syntax(super::lower_first(
                message.trim_start_matches("sql parser error: "),
            )),
        };
        error.or_position(position)
    }
}

pub fn too_deep() -> Error {
    Error::new(ErrorKind::TooComplex, "statement is nested too deeply")
        .with_hint("Write long chains of OR as IN (..), and deep subqueries as WITH queries.")
}

/// Takes the place off the end of a message of the library.
fn split_location(message: &str) -> (&str, Option<Location>) {
    let Some((message, place)) = message.rsplit_once(" at Line: ") else {
        return (message, None);
    };
    let location = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Location::new(
            line.trim().parse().ok()?,
            column.trim().parse().ok()?,
        ))
    });
    (message, location)
}
