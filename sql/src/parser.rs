//! Text to statements.
//!
//! The parser library does queries and expressions, through [`dialect::MillpondDialect`]. Statements of our own and the
//! clauses around queries are parsed here, one file per idea, from the same tokens, so that every error has its place in
//! the text. A small pass over the tokens ([`prepass`]) removes what the library cannot read inside calls.
//!
//! All of a text is parsed before any of it runs, as Postgres does.

use std::sync::Arc;

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::error::{Error, Result};
use crate::statement::{ParsedStatement, Statement};
use crate::text::SourceText;

mod alter;
mod balance;
mod copy;
mod create;
mod create_relation;
mod create_sink;
mod create_streaming_view;
mod create_view;
mod cursor;
mod definition;
pub(crate) mod dialect;
mod drop;
mod explain;
mod flush;
mod insert;
mod literal_tokens;
mod options;
mod prepare;
mod prepass;
mod refuse;
mod session;
mod show;
mod subscribe;
mod tokens;
mod transaction;
mod write;

use dialect::MillpondDialect;
use tokens::Tokens;

/// Parses every statement of `text`; empty ones are left out.
///
/// # Errors
/// The first error in the text; then nothing of it was accepted.
pub fn parse(text: &str) -> Result<Vec<ParsedStatement>> {
    let text = Arc::new(SourceText::new(text));
    split(&text)?
        .into_iter()
        .map(|tokens| {
            let start = tokens
                .first()
                .and_then(|t| text.byte_offset(t.span.start))
                .unwrap_or(0);
            let end = tokens
                .last()
                .and_then(|t| text.byte_offset(t.span.end))
                .unwrap_or(start);
            let tokens = literal_tokens::rewrite(prepass::rewrite(tokens, &text)?, &text)?;
            let dialect = MillpondDialect::default();
            let mut tokens = Tokens::new(&dialect, &text, tokens, end);
            let statement = tokens.whole_statement()?;
            Ok(ParsedStatement {
                statement,
                text_range: start..end,
                text: text.clone(),
            })
        })
        .collect()
}

/// The tokens of each statement, without blanks and comments around it.
fn split(text: &SourceText) -> Result<Vec<Vec<TokenWithSpan>>> {
    let dialect = MillpondDialect::default();
    let tokens = Tokenizer::new(&dialect, text.as_str())
        .tokenize_with_location()
        .map_err(|error| {
            Error::syntax(lower_first(&error.message)).or_position(text.position(error.location))
        })?;
    let is_blank = |t: &TokenWithSpan| matches!(t.token, Token::Whitespace(_) | Token::EOF);
    Ok(tokens
        .split(|t| t.token == Token::SemiColon)
        .filter_map(|statement| {
            let first = statement.iter().position(|t| !is_blank(t))?;
            let last = statement.iter().rposition(|t| !is_blank(t))?;
            Some(statement[first..=last].to_vec())
        })
        .collect())
}

/// A message that begins in lower case, unless it begins with a word in capitals.
pub(crate) fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next();
    if chars.clone().next().is_some_and(char::is_uppercase) {
        return message.to_owned();
    }
    first
        .map(|c| c.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

impl Tokens<'_> {
    fn whole_statement(&mut self) -> Result<Statement> {
        let statement = self.statement()?;
        self.expect_end()?;
        Ok(statement)
    }

    /// The match from the first word to the file that knows the statement.
    fn statement(&mut self) -> Result<Statement> {
        if self.peek_token(&Token::LParen) {
            return self.query_statement();
        }
        let Some(word) = self.peek_word() else {
            return Err(self.unexpected("an SQL statement"));
        };
        match word.as_str() {
            "SELECT" => self.query_or_table(),
            "VALUES" | "TABLE" => self.query_statement(),
            "WITH" => self.with_statement(),
            "CREATE" => self.create(),
            "DROP" => self.drop(),
            "ALTER" => self.alter(),
            "PAUSE" | "SUSPEND" | "RESUME" | "STOP" | "TERMINATE" => self.short_alter(),
            "INSERT" => self.insert(),
            "UPDATE" => self.update(),
            "DELETE" => self.delete(),
            "TRUNCATE" => self.truncate(),
            "COPY" => self.copy(),
            "EXPLAIN" => self.explain(),
            "DESCRIBE" | "DESC" => self.describe(),
            "SHOW" => self.show(),
            "SET" => self.set(),
            "RESET" => self.reset(),
            "FLUSH" | "WAIT" => self.flush(),
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE" => {
                self.transaction()
            }
            "PREPARE" => self.prepare(),
            "EXECUTE" => self.execute(),
            "DEALLOCATE" => self.deallocate(),
            "DECLARE" => self.declare(),
            "FETCH" | "MOVE" => self.fetch(),
            "CLOSE" => self.close(),
            "SUBSCRIBE" => self.subscribe_statement(),
            "DISCARD" => self.discard(),
            "COMMENT" => self.comment(),
            "GRANT" | "REVOKE" | "VACUUM" | "ANALYZE" | "ANALYSE" | "REINDEX" | "CHECKPOINT" => {
                self.accepted(&word)
            }
            "LISTEN" | "UNLISTEN" | "NOTIFY" => self.listen(),
            _ => Err(self.refuse(&word)),
        }
    }

    fn query_statement(&mut self) -> Result<Statement> {
        Ok(Statement::Query(self.query()?))
    }
}
