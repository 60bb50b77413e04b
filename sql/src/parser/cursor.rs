//! `DECLARE`, `FETCH`, `MOVE` and `CLOSE`: cursors that go forward.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{DeclareCursor, Fetch, Statement};

use super::Tokens;

impl Tokens<'_> {
    pub fn declare(&mut self) -> Result<Statement> {
        self.expect_word("DECLARE")?;
        let name = self.name()?;
        let mut binary = false;
        loop {
            if self.word("BINARY") {
                binary = true;
            } else if self.peek_words(&["SCROLL"]) {
                // Accepted: clients ask for it and then read forward.
                self.parser.advance_token();
            } else if !(self.words(&["NO", "SCROLL"])
                || self.word("INSENSITIVE")
                || self.word("ASENSITIVE")
                || self.word("SENSITIVE"))
            {
                break;
            }
        }
        if self.peek_word().as_deref() == Some("SUBSCRIPTION") {
            return Err(self.here(Error::unsupported("subscription cursors are not supported yet")));
        }
        self.expect_word("CURSOR")?;
        let hold = self.words(&["WITH", "HOLD"]);
        let _ = self.words(&["WITHOUT", "HOLD"]);
        self.expect_word("FOR")?;
        if self.peek_word().as_deref() == Some("SUBSCRIBE") {
            return Err(self.here(Error::unsupported("SUBSCRIBE is not supported yet")));
        }
        let query = self.query()?;
        Ok(Statement::DeclareCursor(DeclareCursor {
            name,
            binary,
            hold,
            query,
        }))
    }

    pub fn fetch(&mut self) -> Result<Statement> {
        let skip = self.one_of(&["FETCH", "MOVE"]) == Some("MOVE");
        let position = self.next_offset();
        for refused in ["PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD"] {
            // `FETCH first` alone names a cursor.
            if self.peek_word().as_deref() == Some(refused)
                && !matches!(self.parser.peek_nth_token_ref(1).token, Token::EOF)
            {
                let error = Error::unsupported(format!("FETCH {refused} is not supported yet"));
                return Err(self.at(error.with_hint("Cursors go forward only."), position));
            }
        }
        // A cursor may be called like a direction; then nothing follows.
        let direction = matches!(
            self.parser.peek_nth_token_ref(1).token,
            Token::Word(_) | Token::Number(..)
        );
        let count = if direction && self.word("NEXT") {
            Some(1)
        } else if direction && self.word("ALL") {
            None
        } else if direction && self.word("FORWARD") {
            if self.word("ALL") {
                None
            } else {
                self.count()?.or(Some(1))
            }
        } else {
            self.count()?.or(Some(1))
        };
        let followed = matches!(self.parser.peek_nth_token_ref(1).token, Token::Word(_));
        let _ = followed && self.one_of(&["FROM", "IN"]).is_some();
        Ok(Statement::Fetch(Fetch {
            cursor: self.name()?,
            count,
            skip,
        }))
    }

    fn count(&mut self) -> Result<Option<u64>> {
        if self.peek_token(&Token::Minus) {
            return Err(self.here(Error::unsupported("cursors go forward only")));
        }
        match self.parser.peek_token_ref().token.clone() {
            Token::Number(number, _) => {
                let count = number.parse().map_err(|_| self.unexpected("a number of rows"))?;
                self.parser.advance_token();
                Ok(Some(count))
            }
            _ => Ok(None),
        }
    }

    pub fn close(&mut self) -> Result<Statement> {
        self.expect_word("CLOSE")?;
        Ok(Statement::CloseCursor(self.target()?))
    }
}
