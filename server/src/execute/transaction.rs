//! BEGIN, COMMIT, ROLLBACK and savepoints: see [`crate::session::transaction`] for what they do and what they do not.

use millpond_sql::statement::Transaction;

use super::{Execution, commit};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::session::{Effect, Event};

impl Execution<'_> {
    pub(super) async fn transaction(&mut self, statement: Transaction) -> Result<Outcome> {
        let (event, tag) = match statement {
            Transaction::Begin { start } => (Event::Begin, if start { "START TRANSACTION" } else { "BEGIN" }),
            Transaction::Commit => (Event::Commit, "COMMIT"),
            Transaction::Rollback => (Event::Rollback, "ROLLBACK"),
            Transaction::Savepoint(name) => (Event::Savepoint(name), "SAVEPOINT"),
            Transaction::Release(name) => (Event::Release(name), "RELEASE"),
            Transaction::RollbackTo(name) => (Event::RollbackTo(name), "ROLLBACK"),
        };
        if event == Event::Commit && !self.session.transaction.is_failed() {
            let committed = commit(self.server, self.session).await;
            if let Err(error) = committed {
                // Nothing of it was done, and the block is over.
                self.session.transact(Event::Rollback)?;
                return Err(error);
            }
        }
        let effect = self.session.transact(event)?;
        // COMMIT of a failed block rolls back, and says so.
        Ok(Outcome::done(if effect == Effect::Rollback {
            "ROLLBACK"
        } else {
            tag
        }))
    }
}
