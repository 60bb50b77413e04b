//! `CREATE STREAMING VIEW`, its query and the clauses behind it.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{CreateView, EmitClause, EmitKind, Statement};

use super::Tokens;

impl Tokens<'_> {
    /// What follows `CREATE [OR REPLACE] STREAMING VIEW`.
    pub fn create_streaming_view(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let columns = if self.peek_token(&Token::LParen) {
            self.list(Self::identifier)?
        } else {
            Vec::new()
        };
        let mut options = Vec::new();
        let mut emit = Vec::new();
        loop {
            if self.word("WITH") {
                options.extend(self.options()?);
            } else if self.peek_words(&["TRIGGER", "EVERY"]) {
                emit.push(self.emit_clause()?);
            } else {
                break;
            }
        }
        self.expect_word("AS")?;
        let start = self.next_offset();
        let query = self.query()?;
        let query_range = self.range_from(start);
        while !self.at_end() {
            emit.push(self.emit_clause()?);
        }
        Ok(Statement::CreateView(CreateView {
            name,
            or_replace,
            if_not_exists,
            columns,
            options,
            query,
            query_range,
            emit,
        }))
    }

    pub fn emit_clause(&mut self) -> Result<EmitClause> {
        let position = self.next_offset();
        let kind = if self.words(&["TRIGGER", "EVERY"]) {
            EmitKind::Every(self.interval()?)
        } else if self.words(&["ALLOW", "LATENESS"]) || self.words(&["GRACE", "PERIOD"]) {
            EmitKind::AllowLateness(self.interval()?)
        } else if self.words(&["LATE", "DATA", "TO"]) {
            EmitKind::LateDataTo(self.object_name()?)
        } else if self.word("EMIT") {
            self.emit_kind()?
        } else {
            if self.peek_words(&["WITH", "DELAY"]) {
                return Err(self.here(Error::unsupported("WITH DELAY is not supported yet")));
            }
            if self.peek_word().as_deref() == Some("WATERMARK") {
                self.refuse_query_clause()?;
            }
            return Err(self.unexpected("EMIT, TRIGGER EVERY, LATE DATA TO or the end of the statement"));
        };
        Ok(EmitClause { kind, position })
    }

    fn emit_kind(&mut self) -> Result<EmitKind> {
        if self.words(&["ON", "WINDOW", "CLOSE"]) || self.word("FINAL") || self.words(&["AFTER", "WATERMARK"])
        {
            Ok(EmitKind::OnWindowClose)
        } else if self.word("CHANGES") || self.words(&["ON", "UPDATE"]) {
            Ok(EmitKind::Changes)
        } else if self.word("COMPLETE") {
            Ok(EmitKind::Complete)
        } else if self.word("EVERY") || self.word("PERIODIC") {
            Ok(EmitKind::Every(self.interval()?))
        } else {
            Err(self.unexpected("ON WINDOW CLOSE, CHANGES, COMPLETE or EVERY"))
        }
    }
}
