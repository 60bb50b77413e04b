//! `SET`, `RESET`, `DISCARD`, `LISTEN` and their kin.

use millpond_catalog::ObjectName;
use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{DiscardTarget, Listen, Reset, Set, Statement, Target, Transaction, TransactionModes};

use super::Tokens;

impl Tokens<'_> {
    pub fn set(&mut self) -> Result<Statement> {
        self.expect_word("SET")?;
        if self.words(&["SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"]) {
            return Ok(Statement::Transaction(Transaction::DefaultModes(
                self.some_transaction_modes()?,
            )));
        }
        let local = self.word("LOCAL");
        let session = !local && self.peek_nth_word(1).is_some_and(|w| w != "TO") && self.word("SESSION");
        if !local && !session && self.word("TRANSACTION") {
            return Ok(Statement::Transaction(Transaction::Modes(
                self.some_transaction_modes()?,
            )));
        }
        let position = self.next_offset();
        let name = if self.words(&["TIME", "ZONE"]) {
            "TimeZone".to_owned()
        } else if self.word("NAMES") {
            "client_encoding".to_owned()
        } else if self.word("AUTHORIZATION") {
            "session_authorization".to_owned()
        } else if self.peek_word().as_deref() == Some("ROLE")
            && !matches!(self.peek_nth_word(1).as_deref(), Some("TO"))
        {
            self.parser.advance_token();
            "role".to_owned()
        } else {
            let name = self.setting_name()?;
            if !self.word("TO") && !self.token(&Token::Eq) {
                return Err(self.unexpected("TO or ="));
            }
            name
        };
        let value = self.setting_value()?;
        Ok(Statement::Set(Set {
            name,
            value,
            local,
            position,
        }))
    }

    /// Words joined by points, or several words as in `TIME ZONE` and `TRANSACTION ISOLATION LEVEL`.
    pub fn setting_name(&mut self) -> Result<String> {
        for words in [
            &["TIME", "ZONE"][..],
            &["TRANSACTION", "ISOLATION", "LEVEL"],
            &["SESSION", "AUTHORIZATION"],
        ] {
            if self.words(words) {
                return Ok(match words[0] {
                    "TIME" => "TimeZone",
                    "TRANSACTION" => "transaction_isolation",
                    _ => "session_authorization",
                }
                .to_owned());
            }
        }
        let mut name = self.identifier()?.value;
        while self.token(&Token::Period) {
            name.push('.');
            name.push_str(&self.identifier()?.value);
        }
        Ok(name)
    }

    /// `None` for DEFAULT. Several values are joined by commas; a quoted identifier keeps its quotes among several.
    fn setting_value(&mut self) -> Result<Option<String>> {
        if self.word("DEFAULT") {
            return Ok(None);
        }
        if self.peek_word().as_deref() == Some("INTERVAL") {
            // SET TIME ZONE INTERVAL '+05:30' HOUR TO MINUTE
            self.parser.advance_token();
            let value = self.string()?;
            let _ = self.words(&["HOUR", "TO", "MINUTE"]);
            return Ok(Some(value));
        }
        let values = self.comma_separated(|tokens| {
            let negative = tokens.token(&Token::Minus);
            let value = match tokens.parser.peek_token_ref().token.clone() {
                Token::SingleQuotedString(s) | Token::EscapedStringLiteral(s) => s,
                Token::Number(n, _) if negative => format!("-{n}"),
                Token::Number(n, _) => n,
                Token::Word(w) if w.quote_style.is_some() => ObjectName::quote(&w.value),
                Token::Word(w) => w.value,
                _ => return Err(tokens.unexpected("a value")),
            };
            tokens.parser.advance_token();
            Ok(value)
        })?;
        Ok(Some(values.join(", ")))
    }

    /// At least one transaction mode.
    fn some_transaction_modes(&mut self) -> Result<TransactionModes> {
        let modes = self.transaction_modes()?;
        if modes.is_empty() {
            return Err(self.unexpected("ISOLATION LEVEL, READ ONLY or READ WRITE"));
        }
        Ok(modes)
    }

    /// `ISOLATION LEVEL .., READ ONLY, NOT DEFERRABLE`, in the names of settings.
    pub fn transaction_modes(&mut self) -> Result<TransactionModes> {
        let mut modes = Vec::new();
        loop {
            let mode = if self.words(&["ISOLATION", "LEVEL"]) {
                let levels: [(&[&str], &str); 4] = [
                    (&["SERIALIZABLE"], "serializable"),
                    (&["REPEATABLE", "READ"], "repeatable read"),
                    (&["READ", "COMMITTED"], "read committed"),
                    (&["READ", "UNCOMMITTED"], "read uncommitted"),
                ];
                match levels.iter().find(|(words, _)| self.words(words)) {
                    Some((_, level)) => ("isolation", (*level).to_owned()),
                    None => return Err(self.unexpected("an isolation level")),
                }
            } else if self.words(&["READ", "ONLY"]) {
                ("read_only", "on".to_owned())
            } else if self.words(&["READ", "WRITE"]) {
                ("read_only", "off".to_owned())
            } else if self.word("DEFERRABLE") {
                ("deferrable", "on".to_owned())
            } else if self.words(&["NOT", "DEFERRABLE"]) {
                ("deferrable", "off".to_owned())
            } else if self.peek_word().as_deref() == Some("SNAPSHOT") {
                return Err(self.here(Error::unsupported(
                    "SET TRANSACTION SNAPSHOT is not supported yet",
                )));
            } else {
                return Ok(modes);
            };
            modes.push(mode);
            let _ = self.token(&Token::Comma);
        }
    }

    pub fn reset(&mut self) -> Result<Statement> {
        self.expect_word("RESET")?;
        if self.word("ALL") {
            return Ok(Statement::Reset(Reset::All));
        }
        Ok(Statement::Reset(Reset::Setting(self.setting_name()?)))
    }

    pub fn discard(&mut self) -> Result<Statement> {
        self.expect_word("DISCARD")?;
        let target = match self.one_of(&["ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"]) {
            Some("ALL") => DiscardTarget::All,
            Some("PLANS") => DiscardTarget::Plans,
            Some("SEQUENCES") => DiscardTarget::Sequences,
            Some(_) => DiscardTarget::Temporary,
            None => return Err(self.unexpected("ALL, PLANS, SEQUENCES or TEMP")),
        };
        Ok(Statement::Discard(target))
    }

    pub fn listen(&mut self) -> Result<Statement> {
        let listen = match self.one_of(&["LISTEN", "UNLISTEN", "NOTIFY"]) {
            Some("LISTEN") => Listen::Listen(self.name()?),
            Some("UNLISTEN") if self.token(&Token::Mul) => Listen::Unlisten(Target::All),
            Some("UNLISTEN") => Listen::Unlisten(Target::Named(self.name()?)),
            _ => {
                let channel = self.name()?;
                let payload = match self.token(&Token::Comma) {
                    true => self.string()?,
                    false => String::new(),
                };
                Listen::Notify { channel, payload }
            }
        };
        Ok(Statement::Listen(listen))
    }
}
