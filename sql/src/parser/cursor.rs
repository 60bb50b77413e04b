//! `DECLARE`, `FETCH`, `MOVE` and `CLOSE`: cursors.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{CursorRows, DeclareCursor, Direction, Fetch, Statement};

use super::Tokens;

impl Tokens<'_> {
    pub fn declare(&mut self) -> Result<Statement> {
        self.expect_word("DECLARE")?;
        let name = self.name()?;
        let (mut binary, mut scroll) = (false, false);
        loop {
            if self.word("BINARY") {
                binary = true;
            } else if self.word("SCROLL") {
                scroll = true;
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
            scroll,
            hold,
            rows,
        }))
    }

    pub fn fetch(&mut self) -> Result<Statement> {
        let skip = self.one_of(&["FETCH", "MOVE"]) == Some("MOVE");
        // A cursor may be called like a direction; then nothing follows.
        let named = matches!(self.parser.peek_nth_token_ref(1).token, Token::EOF);
        let direction = if named {
            Direction::Forward(Some(1))
        } else {
            self.direction()?
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
            direction,
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

    fn direction(&mut self) -> Result<Direction> {
        const WORDS: [&str; 9] = [
            "NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "ALL", "FORWARD", "BACKWARD",
        ];
        Ok(match self.one_of(&WORDS) {
            Some("NEXT") => Direction::Forward(Some(1)),
            Some("PRIOR") => Direction::Backward(Some(1)),
            Some("FIRST") => Direction::Absolute(1),
            Some("LAST") => Direction::Absolute(-1),
            Some("ALL") => Direction::Forward(None),
            Some(word @ ("ABSOLUTE" | "RELATIVE")) => {
                let count = self.count()?.ok_or_else(|| self.unexpected("a number of rows"))?;
                match word {
                    "ABSOLUTE" => Direction::Absolute(count),
                    _ => Direction::Relative(count),
                }
            }
            Some(word) => {
                let back = word == "BACKWARD";
                let count = match self.word("ALL") {
                    true => None,
                    false => Some(self.count()?.unwrap_or(1)),
                };
                by(back, count)
            }
            None => by(false, Some(self.count()?.unwrap_or(1))),
        })
    }

    /// A number of rows, with its sign.
    fn count(&mut self) -> Result<Option<i64>> {
        let negative = self.token(&Token::Minus);
        let _ = !negative && self.token(&Token::Plus);
        match self.parser.peek_token_ref().token.clone() {
            Token::Number(number, _) => {
                let count: i64 = number.parse().map_err(|_| self.unexpected("a number of rows"))?;
                self.parser.advance_token();
                Ok(Some(if negative { -count } else { count }))
            }
            _ if negative => Err(self.unexpected("a number of rows")),
            _ => Ok(None),
        }
    }

    pub fn close(&mut self) -> Result<Statement> {
        self.expect_word("CLOSE")?;
        Ok(Statement::CloseCursor(self.target()?))
    }
}

/// So many rows in a direction; a negative number turns it around.
fn by(back: bool, count: Option<i64>) -> Direction {
    let back = back != count.is_some_and(|count| count < 0);
    let count = count.map(i64::unsigned_abs);
    match back {
        true => Direction::Backward(count),
        false => Direction::Forward(count),
    }
}
