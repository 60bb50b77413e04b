//! `CREATE VIEW`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{CreatePlainView, Statement};

use super::Tokens;

impl Tokens<'_> {
    /// What follows `CREATE [OR REPLACE] VIEW`.
    pub fn create_view(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let columns = if self.peek_token(&Token::LParen) {
            self.list(Self::identifier)?
        } else {
            Vec::new()
        };
        if self.peek_words(&["WITH"]) {
            return Err(self.here(
                Error::unsupported("a plain view takes no options")
                    .with_hint("CREATE STREAMING VIEW has options, and its result is kept up to date."),
            ));
        }
        self.expect_word("AS")?;
        let start = self.next_offset();
        let query = self.query()?;
        let query_range = self.range_from(start);
        if self.peek_word().as_deref() == Some("EMIT") {
            return Err(self.here(
                Error::unsupported("EMIT is for streaming views")
                    .with_hint("CREATE STREAMING VIEW v AS SELECT .. EMIT .."),
            ));
        }
        Ok(Statement::CreatePlainView(CreatePlainView {
            name,
            or_replace,
            if_not_exists,
            columns,
            query,
            query_range,
        }))
    }
}
