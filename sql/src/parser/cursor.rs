//! `DECLARE`, `FETCH`, `MOVE` and `CLOSE`: cursors that go forward.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{CursorRows, DeclareCursor, Fetch, Statement};

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
        let rows = if self.peek_words(&["SUBSCRIBE"]) {
            CursorRows::Subscribe(self.subscribe()?)
        } else {
            CursorRows::Query(self.query()?)
        };
        Ok(Statement::DeclareCursor(DeclareCursor {
            name,
            binary,
            hold,
            rows,
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
        let cursor = self.name()?;
        let timeout_ms = if self.word("WITH") {
            Some(self.fetch_timeout()?)
        } else {
            None
        };
        Ok(Statement::Fetch(Fetch {
            cursor,
            count,
            timeout_ms,
            skip,
        }))
    }

    /// `(timeout = '1s')`.
    fn fetch_timeout(&mut self) -> Result<u64> {
        let position = self.next_offset();
        let options = self.options()?;
        let [option] = options.as_slice() else {
            return Err(self.at(Error::syntax("FETCH has one option, timeout"), position));
        };
        if !option.key.eq_ignore_ascii_case("timeout") {
            let error = Error::invalid(format!("unknown option \"{}\" for FETCH", option.key));
            return Err(self.at(error.with_hint("FETCH has one option, timeout."), option.position));
        }
        let timeout_ms = crate::settings::timeout_ms(&option.value);
        timeout_ms.ok_or_else(|| {
            let error = Error::invalid(format!("invalid timeout: \"{}\"", option.value));
            self.at(error.with_hint("Write it as '500ms' or '10s'."), option.position)
        })
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
