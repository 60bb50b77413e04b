//! A pass over the tokens of a statement, for literals that the library does not read as Postgres does, and for reserved
//! words in the place of a relation.
//!
//! - `U&'d\0061t' UESCAPE '!'` is a plain string.
//! - `0x1F`, `0o17` and `0b101` are integers.

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::{Error, Result};
use crate::text::SourceText;

/// Words that begin a clause or join operands, and so name no relation unless they are quoted.
const RESERVED: [&str; 19] = [
    "AND",
    "ELSE",
    "END",
    "EXCEPT",
    "FETCH",
    "FROM",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "INTO",
    "LIMIT",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "THEN",
    "UNION",
    "WHEN",
    "WHERE",
];

/// # Errors
/// A reserved word after FROM or JOIN, an escape that stands for no character.
pub fn rewrite(tokens: Vec<TokenWithSpan>, text: &SourceText) -> Result<Vec<TokenWithSpan>> {
    refuse_reserved(&tokens, text)?;
    let mut done = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        match &token.token {
            Token::UnicodeStringLiteral(plain) => {
                let mut ahead = rest.clone().filter(|t| !matches!(t.token, Token::Whitespace(_)));
                let escape = match (ahead.next().map(|t| t.token), ahead.next().map(|t| t.token)) {
                    (Some(Token::Word(word)), Some(Token::SingleQuotedString(escape)))
                        if is_word(&word, "UESCAPE") =>
                    {
                        Some(escape)
                    }
                    _ => None,
                };
                let value = match &escape {
                    None => plain.clone(),
                    Some(escape) => {
                        let position = text.position(token.span.start);
                        unescape(written(&token, text), escape).map_err(|e| e.or_position(position))?
                    }
                };
                let mut solid = if escape.is_some() { 2 } else { 0 };
                while solid > 0 {
                    if !matches!(rest.next().map(|t| t.token), Some(Token::Whitespace(_))) {
                        solid -= 1;
                    }
                }
                done.push(TokenWithSpan {
                    token: Token::SingleQuotedString(value),
                    span: token.span,
                });
            }
            Token::HexStringLiteral(digits) if written(&token, text).starts_with(['0']) => {
                done.push(number(&token, digits, 16, text)?);
            }
            Token::Number(zero, false) if zero == "0" => {
                let digits = match rest.peek().map(|t| (t.span.start == token.span.end, &t.token)) {
                    Some((true, Token::Word(word))) if word.quote_style.is_none() => word.value.clone(),
                    _ => String::new(),
                };
                let radix = match digits.chars().next() {
                    Some('b' | 'B') => 2,
                    Some('o' | 'O') => 8,
                    Some('x' | 'X') => 16,
                    _ => {
                        done.push(token);
                        continue;
                    }
                };
                done.push(number(&token, &digits[1..], radix, text)?);
                rest.next();
            }
            _ => done.push(token),
        }
    }
    Ok(done)
}

fn is_word(word: &Word, text: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

/// A token as it stands in the text.
fn written<'a>(token: &TokenWithSpan, text: &'a SourceText) -> &'a str {
    let at = |location| text.byte_offset(location);
    match (at(token.span.start), at(token.span.end)) {
        (Some(start), Some(end)) => text.as_str().get(start..end).unwrap_or_default(),
        (Some(start), None) => text.as_str().get(start..).unwrap_or_default(),
        _ => "",
    }
}

/// An integer that is not written in decimal digits.
fn number(token: &TokenWithSpan, digits: &str, radix: u32, text: &SourceText) -> Result<TokenWithSpan> {
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let value = u128::from_str_radix(&plain, radix).map_err(|_| {
        Error::syntax(format!("invalid integer literal with digits \"{digits}\""))
            .or_position(text.position(token.span.start))
    })?;
    Ok(TokenWithSpan {
        token: Token::Number(value.to_string(), false),
        span: token.span,
    })
}

/// The content of `U&'..'` with another escape character than the backslash.
fn unescape(written: &str, escape: &str) -> Result<String> {
    let invalid = |what: &str| Err(Error::syntax(what.to_owned()));
    let mut escapes = escape.chars();
    let escape = match (escapes.next(), escapes.next()) {
        (Some(c), None) if !c.is_ascii_hexdigit() && !c.is_whitespace() && !['+', '\'', '"'].contains(&c) => {
            c
        }
        _ => return invalid("invalid Unicode escape character"),
    };
    let inner = written
        .split_once('\'')
        .and_then(|(_, rest)| rest.strip_suffix('\''))
        .unwrap_or_default()
        .replace("''", "'");
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != escape {
            value.push(c);
            continue;
        }
        let rest = chars.as_str();
        if rest.starts_with(escape) {
            chars.next();
            value.push(escape);
            continue;
        }
        let (digits, used) = match rest.strip_prefix('+') {
            Some(long) => (long.get(..6), 7),
            None => (rest.get(..4), 4),
        };
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => value.push(c),
            None => return invalid("invalid Unicode escape"),
        }
        chars = rest[used..].chars();
    }
    Ok(value)
}

fn refuse_reserved(tokens: &[TokenWithSpan], text: &SourceText) -> Result<()> {
    let mut words = tokens
        .iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_)))
        .peekable();
    while let Some(token) = words.next() {
        let Token::Word(word) = &token.token else {
            continue;
        };
        if !is_word(word, "FROM") && !is_word(word, "JOIN") {
            continue;
        }
        let Some(TokenWithSpan {
            token: Token::Word(next),
            span,
        }) = words.peek()
        else {
            continue;
        };
        if RESERVED.iter().any(|reserved| is_word(next, reserved)) {
            let error = Error::syntax(format!("syntax error at or near \"{}\"", next.value));
            return Err(error
                .with_detail("Expected a relation.")
                .or_position(text.position(span.start)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes_of_unicode_strings() {
        assert_eq!(unescape("U&'d!0061t!+000061!!'", "!").unwrap(), "data!");
        assert_eq!(unescape("u&'it''s'", "#").unwrap(), "it's");
        for (text, escape) in [
            ("U&'!00'", "!"),
            ("U&'a'", "ab"),
            ("U&'a'", "1"),
            ("U&'!D800'", "!"),
        ] {
            assert!(unescape(text, escape).is_err(), "{text} {escape}");
        }
    }
}
