//! `CREATE`: which kind of object, and the kinds we do not have.

use crate::error::{Error, Result};
use crate::statement::Statement;

use super::Tokens;

/// Kinds that are refused, with what to do instead.
const REFUSED: &[(&[&str], &str)] = &[
    (&["SUBSCRIPTION"], ""),
    (
        &["CONNECTION"],
        "Put the options into CREATE SOURCE .. WITH (..).",
    ),
    (&["SECRET"], ""),
    (&["DATABASE"], "There is one database."),
    (&["FUNCTION"], ""),
    (&["PROCEDURE"], ""),
    (&["AGGREGATE"], ""),
    (&["TYPE"], ""),
    (&["DOMAIN"], ""),
    (&["SEQUENCE"], ""),
    (&["TRIGGER"], ""),
    (&["RULE"], ""),
    (&["EXTENSION"], ""),
    (&["ROLE"], ""),
    (&["USER"], ""),
    (&["POLICY"], ""),
    (&["PUBLICATION"], ""),
    (&["CAST"], ""),
    (&["COLLATION"], ""),
    (&["FLOW"], ""),
    (&["RECURSIVE"], ""),
];

impl Tokens<'_> {
    pub fn create(&mut self) -> Result<Statement> {
        self.expect_word("CREATE")?;
        let or_replace = self.words(&["OR", "REPLACE"]);
        let view = [
            &["STREAMING", "VIEW"],
            &["MATERIALIZED", "VIEW"],
            &["STREAMING", "TABLE"],
            &["MATERIALIZED", "TABLE"],
            &["LIVE", "VIEW"],
        ];
        if view.iter().any(|words| self.words(*words)) {
            return self.create_streaming_view(or_replace);
        }
        if self.word("VIEW") {
            return self.create_view(or_replace);
        }
        // Every table is durable, which nobody minds.
        if self.words(&["UNLOGGED", "TABLE"]) || self.word("TABLE") {
            return self.create_table(or_replace, false);
        }
        if self.word("SCHEMA") {
            return self.create_schema();
        }
        if self.words(&["UNIQUE", "INDEX"]) {
            return self.create_index(true);
        }
        if self.word("INDEX") {
            return self.create_index(false);
        }
        if ["LOCAL", "GLOBAL", "TEMP", "TEMPORARY"]
            .iter()
            .any(|word| self.peek_words(&[word]))
        {
            return self.create_temporary(or_replace);
        }
        if self.word("STREAM") {
            return self.create_stream(or_replace);
        }
        if self.word("SOURCE") || self.words(&["EXTERNAL", "STREAM"]) || self.words(&["EXTERNAL", "TABLE"]) {
            return self.create_source(or_replace);
        }
        if self.word("SINK") {
            return self.create_sink(or_replace);
        }
        if let Some((words, hint)) = REFUSED.iter().find(|(words, _)| self.peek_words(words)) {
            let error = Error::unsupported(format!("CREATE {} is not supported yet", words.join(" ")));
            return Err(self.here(if hint.is_empty() {
                error
            } else {
                error.with_hint(*hint)
            }));
        }
        Err(self.unexpected("TABLE, STREAM, SOURCE, VIEW, STREAMING VIEW or SINK"))
    }

    fn create_temporary(&mut self, or_replace: bool) -> Result<Statement> {
        let _ = self.one_of(&["LOCAL", "GLOBAL"]);
        if self.one_of(&["TEMP", "TEMPORARY"]).is_none() {
            return Err(self.unexpected("TEMPORARY"));
        }
        if !self.word("TABLE") {
            return Err(self.here(
                Error::unsupported("only tables can be temporary")
                    .with_hint("CREATE TEMPORARY TABLE t (..)."),
            ));
        }
        self.create_table(or_replace, true)
    }

    pub fn if_not_exists(&mut self) -> bool {
        self.words(&["IF", "NOT", "EXISTS"])
    }
}
