//! `INSERT`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{
    ConflictAction, ConflictTarget, Insert, InsertSource, OnConflict, Statement, WriteTarget,
};

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
        let on_conflict = self.on_conflict()?;
        let returning = self.returning()?;
        Ok(Statement::Insert(Insert {
            with: None,
            target: WriteTarget { table, alias },
            columns,
            source,
            on_conflict,
            returning,
        }))
    }

    fn on_conflict(&mut self) -> Result<Option<OnConflict>> {
        if !self.words(&["ON", "CONFLICT"]) {
            return Ok(None);
        }
        let target = if self.words(&["ON", "CONSTRAINT"]) {
            ConflictTarget::Constraint(self.identifier()?)
        } else if self.peek_token(&Token::LParen) {
            ConflictTarget::Columns(self.list(Self::identifier)?)
        } else {
            ConflictTarget::AnyKey
        };
        if self.peek_words(&["WHERE"]) {
            return Err(self.here(Error::unsupported(
                "partial keys in ON CONFLICT are not supported",
            )));
        }
        self.expect_word("DO")?;
        let action = if self.word("NOTHING") {
            ConflictAction::Nothing
        } else {
            self.expect_words(&["UPDATE", "SET"])?;
            ConflictAction::Update {
                assignments: self.comma_separated(Self::assignment)?,
                selection: self.selection()?.map(Box::new),
            }
        };
        Ok(Some(OnConflict { target, action }))
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
