//! Where in a statement an error stands that was told without a place.
//!
//! Expressions lose their places once they are planned. What an error is about is named in its message: a literal, a
//! type, a function, an operator. The first token of the statement that is this one is where a client shows its caret.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use crate::error::{Error, ErrorKind};
use crate::parser::dialect::MillpondDialect;
use crate::statement::ParsedStatement;
use crate::text::SourceText;

/// Aggregates that a message about aggregates may be about.
const AGGREGATES: [&str; 16] = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "array_agg",
    "string_agg",
    "bool_and",
    "bool_or",
    "every",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "variance",
    "var_pop",
    "var_samp",
];

/// Adds the place to an error that has none.
pub fn locate(error: Error, parsed: &ParsedStatement) -> Error {
    if error.position.is_some() {
        return error;
    }
    let statement = SourceText::new(parsed.text());
    let dialect = MillpondDialect::default();
    let Ok(tokens) = Tokenizer::new(&dialect, statement.as_str()).tokenize_with_location() else {
        return error;
    };
    let tokens: Vec<_> = tokens
        .into_iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_)))
        .collect();
    let offset = culprit(&error, &tokens).and_then(|token| statement.byte_offset(token.span.start));
    let position = offset.map(|offset| parsed.text.position_of_byte(parsed.text_range.start + offset));
    error.or_position(position)
}

fn culprit<'a>(error: &Error, tokens: &'a [TokenWithSpan]) -> Option<&'a TokenWithSpan> {
    let message = error.message.as_str();
    match error.kind {
        ErrorKind::InvalidTextRepresentation
        | ErrorKind::InvalidDatetimeFormat
        | ErrorKind::DatetimeOverflow
        | ErrorKind::NumericOutOfRange => {
            let literal = quoted(message)?;
            tokens.iter().find(|t| is_literal(&t.token, literal))
        }
        ErrorKind::UndefinedObject => {
            let name = message.strip_prefix("type \"")?.split('"').next()?;
            tokens.iter().find(|t| is_word(&t.token, name))
        }
        ErrorKind::UndefinedFunction => undefined_function(message, tokens),
        ErrorKind::Grouping if message.starts_with("aggregate functions are not allowed in") => {
            let from = tokens.iter().position(|t| is_word(&t.token, "where"))?;
            calls(&tokens[from..]).find(|t| AGGREGATES.iter().any(|name| is_word(&t.token, name)))
        }
        ErrorKind::TypeMismatch if message.starts_with("UNION types ") => {
            let last = tokens.iter().rposition(|t| is_word(&t.token, "select"))?;
            let item = &tokens[last + 1..];
            // Of several columns it is not known which.
            let single = !item.iter().any(|t| t.token == Token::Comma);
            item.first().filter(|_| single)
        }
        _ => None,
    }
}

/// The value that a message quotes last.
fn quoted(message: &str) -> Option<&str> {
    let start = message.find(": \"").map(|at| at + 3);
    let start = start.or_else(|| message.find("value \"").map(|at| at + 7))?;
    let rest = &message[start..];
    Some(&rest[..rest.rfind('"')?])
}

fn undefined_function<'a>(message: &str, tokens: &'a [TokenWithSpan]) -> Option<&'a TokenWithSpan> {
    if let Some(name) = message.strip_prefix("function ") {
        let name = name.split(['(', ' ']).next()?;
        return calls(tokens).find(|t| is_word(&t.token, name));
    }
    let operation = message.strip_prefix("operator does not exist: ")?;
    tokens.iter().find(|t| {
        let is_operator = !matches!(
            t.token,
            Token::Word(_)
                | Token::Number(..)
                | Token::SingleQuotedString(_)
                | Token::LParen
                | Token::RParen
                | Token::Comma
                | Token::Period
        );
        is_operator && operation.contains(&format!(" {} ", t.token))
    })
}

/// Words with a parenthesis behind them.
fn calls(tokens: &[TokenWithSpan]) -> impl Iterator<Item = &TokenWithSpan> {
    tokens
        .windows(2)
        .filter(|pair| pair[1].token == Token::LParen)
        .map(|pair| &pair[0])
}

fn is_word(token: &Token, name: &str) -> bool {
    matches!(token, Token::Word(Word { value, .. }) if value.eq_ignore_ascii_case(name))
}

fn is_literal(token: &Token, text: &str) -> bool {
    match token {
        Token::SingleQuotedString(value)
        | Token::EscapedStringLiteral(value)
        | Token::UnicodeStringLiteral(value) => value == text,
        Token::DollarQuotedString(value) => value.value == text,
        Token::Number(value, _) => value == text,
        _ => false,
    }
}
