//! `INSERT`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{Insert, InsertSource, Statement, WriteTarget};

use super::Tokens;

impl Tokens<'_> {
    pub fn insert(&mut self) -> Result<Statement> {
        self.expect_words(&["INSERT", "INTO"])?;
        let _ = self.words(&["TABLE"]) && self.peek_word().is_some();
        let table = self.object_name()?;
        let alias = if self.word("AS") {
            Some(self.identifier()?)
        } else {
            None
        };
        let columns = if self.is_column_list() {
            self.list(Self::identifier)?
        } else {
            Vec::new()
        };
        if self.peek_word().as_deref() == Some("OVERRIDING") {
            return Err(self.here(Error::unsupported("OVERRIDING is not supported yet")));
        }
        let source = if self.words(&["DEFAULT", "VALUES"]) {
            InsertSource::DefaultValues
        } else {
            InsertSource::Query(self.query()?)
        };
        if self.peek_words(&["ON", "CONFLICT"]) {
            return Err(self.here(
                Error::unsupported("INSERT .. ON CONFLICT is not supported yet")
                    .with_hint("A streaming view can keep one row per key."),
            ));
        }
        let returning = self.returning()?;
        Ok(Statement::Insert(Insert {
            with: None,
            target: WriteTarget { table, alias },
            columns,
            source,
            returning,
        }))
    }

    /// A parenthesis that does not begin a query.
    fn is_column_list(&self) -> bool {
        self.peek_token(&Token::LParen)
            && !matches!(
                self.peek_nth_word(1).as_deref(),
                Some("SELECT" | "WITH" | "VALUES" | "TABLE")
            )
            && !matches!(self.parser.peek_nth_token_ref(1).token, Token::LParen)
    }
}
