//! `PREPARE`, `EXECUTE` and `DEALLOCATE`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{Execute, ParsedStatementBody, Prepare, Statement, Target};

use super::Tokens;

impl Tokens<'_> {
    pub fn prepare(&mut self) -> Result<Statement> {
        self.expect_word("PREPARE")?;
        let name = self.name()?;
        let types = if self.peek_token(&Token::LParen) {
            self.list(Self::data_type)?
        } else {
            Vec::new()
        };
        self.expect_word("AS")?;
        let start = self.next_offset();
        let statement = self.statement()?;
        if !matches!(
            statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        ) {
            return Err(self.at(Error::syntax("PREPARE takes a query or INSERT"), start));
        }
        let text_range = self.range_from(start);
        let statement = Box::new(ParsedStatementBody {
            statement,
            text_range,
        });
        Ok(Statement::Prepare(Prepare {
            name,
            types,
            statement,
        }))
    }

    pub fn execute(&mut self) -> Result<Statement> {
        self.expect_word("EXECUTE")?;
        let name = self.name()?;
        let arguments = if self.peek_token(&Token::LParen) {
            self.list(Self::expr)?
        } else {
            Vec::new()
        };
        Ok(Statement::Execute(Execute { name, arguments }))
    }

    pub fn deallocate(&mut self) -> Result<Statement> {
        self.expect_word("DEALLOCATE")?;
        let _ = self.peek_nth_word(1).is_some() && self.word("PREPARE");
        Ok(Statement::Deallocate(self.target()?))
    }

    /// `ALL` or a name.
    pub fn target(&mut self) -> Result<Target> {
        Ok(if self.word("ALL") {
            Target::All
        } else {
            Target::Named(self.name()?)
        })
    }
}
