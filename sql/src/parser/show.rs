//! `SHOW`: settings, lists of objects, and how one was created.

use crate::error::Result;
use crate::statement::{Show, ShowObjects, Statement};

use super::Tokens;

impl Tokens<'_> {
    pub fn show(&mut self) -> Result<Statement> {
        self.expect_word("SHOW")?;
        if self.word("CREATE") {
            let kind = Some(self.object_kind("SHOW CREATE")?);
            return Ok(Statement::Show(Show::Create {
                kind,
                name: self.object_name()?,
            }));
        }
        if self.words(&["COLUMNS", "FROM"]) || self.words(&["COLUMNS", "IN"]) {
            return Ok(Statement::Show(Show::Columns(self.object_name()?)));
        }
        let queries: [&[&str]; 3] = [&["QUERIES"], &["JOBS"], &["STREAMING", "QUERIES"]];
        if queries.iter().any(|words| self.words(words)) {
            return Ok(Statement::Show(Show::Queries));
        }
        let lists: [(&[&str], ShowObjects); 9] = [
            (&["TABLES"], ShowObjects::Tables),
            (&["STREAMS"], ShowObjects::Streams),
            (&["SOURCES"], ShowObjects::Sources),
            (&["STREAMING", "VIEWS"], ShowObjects::Views),
            (&["MATERIALIZED", "VIEWS"], ShowObjects::Views),
            (&["STREAMING", "TABLES"], ShowObjects::Views),
            (&["VIEWS"], ShowObjects::Views),
            (&["SINKS"], ShowObjects::Sinks),
            (&["SCHEMAS"], ShowObjects::Schemas),
        ];
        for (words, kind) in lists {
            if self.words(words) {
                let like = if self.word("LIKE") {
                    Some(self.string()?)
                } else {
                    None
                };
                return Ok(Statement::Show(Show::Objects { kind, like }));
            }
        }
        if self.word("ALL") {
            return Ok(Statement::Show(Show::AllSettings));
        }
        Ok(Statement::Show(Show::Setting(self.setting_name()?)))
    }
}
