//! `ALTER STREAMING VIEW v PAUSE | RESUME | SET (..)`, `ALTER kind name RENAME TO ..`, and the short forms `PAUSE v`, `RESUME v`,
//! `STOP QUERY v`, `TERMINATE v`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{AlterAction, AlterSource, AlterView, DropKind, Statement, WithOption};

use super::Tokens;

impl Tokens<'_> {
    pub fn alter(&mut self) -> Result<Statement> {
        self.expect_word("ALTER")?;
        let known = [
            "STREAMING",
            "MATERIALIZED",
            "VIEW",
            "SINK",
            "TABLE",
            "STREAM",
            "SOURCE",
        ];
        if !known.iter().any(|word| self.peek_words(&[word])) {
            let what = self.peek_word().unwrap_or_default();
            return Err(self.here(
                Error::unsupported(format!("ALTER {what} is not supported yet")).with_hint(
                    "ALTER STREAMING VIEW v PAUSE, RESUME and SET are supported, and RENAME TO for every object.",
                ),
            ));
        }
        let kind = self.object_kind("ALTER")?;
        let if_exists = self.words(&["IF", "EXISTS"]);
        let _ = self.word("ONLY");
        let name = self.object_name()?;
        if let Some(statement) = self.alter_definition(kind, name.clone(), if_exists)? {
            return Ok(statement);
        }
        if kind == DropKind::Source && self.word("SET") {
            let options = self.changed_options()?;
            return Ok(Statement::AlterSource(AlterSource {
                name,
                if_exists,
                options,
            }));
        }
        if !matches!(kind, DropKind::View | DropKind::AnyView | DropKind::Sink) {
            let what = self.peek_word().unwrap_or_default();
            return Err(self.here(
                Error::unsupported(format!("ALTER {kind} .. {what} is not supported yet"))
                    .with_hint("Create another table and fill it with INSERT .. SELECT."),
            ));
        }
        let action = if self.word("PAUSE") || self.word("SUSPEND") || self.word("STOP") {
            AlterAction::Pause
        } else if self.word("RESUME") {
            AlterAction::Resume
        } else if self.word("SET") {
            AlterAction::Set(self.changed_options()?)
        } else {
            let refused = ["AS", "RESET", "RENAME", "OWNER", "ALTER", "ADD", "DROP"];
            return Err(match self.peek_word().filter(|w| refused.contains(&w.as_str())) {
                Some(word) => self.here(
                    Error::unsupported(format!("ALTER STREAMING VIEW .. {word} is not supported yet"))
                        .with_hint("Use CREATE OR REPLACE STREAMING VIEW."),
                ),
                None => self.unexpected("PAUSE, RESUME or SET"),
            });
        };
        Ok(Statement::AlterView(AlterView {
            name,
            if_exists,
            action,
        }))
    }

    /// `(key = value, ..)`, or without the parentheses.
    fn changed_options(&mut self) -> Result<Vec<WithOption>> {
        if self.peek_token(&Token::LParen) {
            let options = self.options()?;
            return match options.is_empty() {
                true => Err(self.unexpected("an option")),
                false => Ok(options),
            };
        }
        let mut options = vec![self.option()?];
        while self.token(&Token::Comma) {
            options.push(self.option()?);
        }
        Ok(options)
    }

    pub fn short_alter(&mut self) -> Result<Statement> {
        let action = match self.one_of(&["RESUME", "PAUSE", "SUSPEND", "STOP", "TERMINATE"]) {
            Some("RESUME") => AlterAction::Resume,
            _ => AlterAction::Pause,
        };
        // `PAUSE query` would be a view of that name; with another word behind it, it is a noise word.
        let _ = self.words(&["STREAMING", "VIEW"])
            || self.words(&["MATERIALIZED", "VIEW"])
            || (["QUERY", "VIEW", "JOB"].iter().any(|w| self.peek_words(&[*w]))
                && self.peek_nth_word(1).is_some()
                && self.one_of(&["QUERY", "VIEW", "JOB"]).is_some());
        let if_exists = self.words(&["IF", "EXISTS"]);
        let name = self.object_name()?;
        Ok(Statement::AlterView(AlterView {
            name,
            if_exists,
            action,
        }))
    }
}
