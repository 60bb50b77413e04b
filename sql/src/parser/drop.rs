//! `DROP`.

use crate::error::{Error, Result};
use crate::statement::{Drop, DropKind, Statement};

use super::Tokens;

impl Tokens<'_> {
    pub fn drop(&mut self) -> Result<Statement> {
        self.expect_word("DROP")?;
        if let Some(statement) = self.drop_definition()? {
            return Ok(statement);
        }
        let kind = self.object_kind("DROP")?;
        let if_exists = self.words(&["IF", "EXISTS"]);
        let names = self.comma_separated(Self::object_name)?;
        let cascade = self.one_of(&["CASCADE", "RESTRICT"]) == Some("CASCADE");
        Ok(Statement::Drop(Drop {
            kind,
            if_exists,
            names,
            cascade,
        }))
    }

    /// The kind of an object after `DROP` or `SHOW CREATE`.
    pub fn object_kind(&mut self, verb: &str) -> Result<DropKind> {
        if self.words(&["STREAMING", "TABLE"]) || self.words(&["MATERIALIZED", "TABLE"]) {
            return Ok(DropKind::View);
        }
        let streaming = self.word("STREAMING") || self.word("MATERIALIZED");
        if self.word("VIEW") {
            Ok(if streaming {
                DropKind::View
            } else {
                DropKind::AnyView
            })
        } else if self.word("TABLE") {
            Ok(DropKind::Table)
        } else if self.word("SOURCE") || self.words(&["EXTERNAL", "STREAM"]) {
            Ok(DropKind::Source)
        } else if self.word("STREAM") {
            Ok(DropKind::Stream)
        } else if self.word("SINK") {
            Ok(DropKind::Sink)
        } else {
            const REFUSED: [&str; 9] = [
                "SCHEMA",
                "INDEX",
                "DATABASE",
                "FUNCTION",
                "ROLE",
                "USER",
                "SEQUENCE",
                "TYPE",
                "EXTENSION",
            ];
            match self.peek_word().filter(|w| REFUSED.contains(&w.as_str())) {
                Some(word) => {
                    Err(self.here(Error::unsupported(format!("{verb} {word} is not supported yet"))))
                }
                None => Err(self.unexpected("TABLE, STREAM, SOURCE, STREAMING VIEW or SINK")),
            }
        }
    }
}
