//! `SUBSCRIBE [TO] relation [WITH (SNAPSHOT, PROGRESS)] [AS OF cut] [UP TO cut]`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::settings;
use crate::statement::{Statement, Subscribe};

use super::Tokens;

impl Tokens<'_> {
    pub fn subscribe_statement(&mut self) -> Result<Statement> {
        Ok(Statement::Subscribe(self.subscribe()?))
    }

    pub fn subscribe(&mut self) -> Result<Subscribe> {
        self.expect_word("SUBSCRIBE")?;
        // A relation may be called `to`.
        if self.peek_words(&["TO"])
            && matches!(
                self.parser.peek_nth_token_ref(1).token,
                Token::Word(_) | Token::LParen
            )
        {
            self.parser.advance_token();
        }
        if self.peek_token(&Token::LParen) {
            let error = Error::unsupported("SUBSCRIBE to a query is not supported yet");
            let hint = "Create a streaming view with the query and subscribe to that.";
            return Err(self.here(error.with_hint(hint)));
        }
        let mut subscribe = Subscribe {
            name: self.object_name()?,
            snapshot: true,
            progress: false,
            as_of: None,
            up_to: None,
        };
        loop {
            if self.word("WITH") {
                self.list(|tokens| tokens.subscribe_option(&mut subscribe))?;
            } else if self.words(&["AS", "OF"]) {
                subscribe.as_of = Some(self.cut()?);
            } else if self.words(&["UP", "TO"]) {
                subscribe.up_to = Some(self.cut()?);
            } else if self.peek_words(&["ENVELOPE"]) || self.peek_words(&["WITHIN"]) {
                let word = self.peek_word().unwrap_or_default();
                return Err(self.here(Error::unsupported(format!(
                    "SUBSCRIBE .. {word} is not supported yet"
                ))));
            } else {
                return Ok(subscribe);
            }
        }
    }

    fn subscribe_option(&mut self, subscribe: &mut Subscribe) -> Result<()> {
        let option = if self.word("SNAPSHOT") {
            &mut subscribe.snapshot
        } else if self.word("PROGRESS") {
            &mut subscribe.progress
        } else {
            return Err(self.unexpected("SNAPSHOT or PROGRESS"));
        };
        let given = self.token(&Token::Eq) || matches!(self.peek_word().as_deref(), Some("TRUE" | "FALSE"));
        *option = true;
        if given {
            let position = self.next_offset();
            let value = self.option_value()?;
            *option = settings::boolean(&value).ok_or_else(|| {
                self.at(
                    Error::invalid(format!("invalid value for an option of SUBSCRIBE: \"{value}\""))
                        .with_hint("Use true or false."),
                    position,
                )
            })?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<u64> {
        match self.parser.peek_token_ref().token.clone() {
            Token::Number(number, _) => {
                let cut = number
                    .parse()
                    .map_err(|_| self.unexpected("the number of a cut"))?;
                self.parser.advance_token();
                Ok(cut)
            }
            _ => Err(self.unexpected("the number of a cut")),
        }
    }
}
