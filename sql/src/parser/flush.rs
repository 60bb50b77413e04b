//! `FLUSH` and `WAIT`.

use crate::error::Result;
use crate::statement::{Flush, Statement};

use super::Tokens;

impl Tokens<'_> {
    pub fn flush(&mut self) -> Result<Statement> {
        let _ = self.one_of(&["FLUSH", "WAIT"]);
        let _ = self.words(&["STREAMING", "VIEW"]) || self.words(&["MATERIALIZED", "VIEW"]);
        let flush = if self.at_end() {
            Flush::All
        } else {
            Flush::View(self.object_name()?)
        };
        Ok(Statement::Flush(flush))
    }
}
