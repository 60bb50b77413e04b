//! BEGIN, COMMIT, ROLLBACK and savepoints: see [`crate::session::transaction`] for what they do and what they do not.

use millpond_sql::PlanKind;
use millpond_sql::statement::{Transaction, TransactionModes};

use super::{Execution, commit};
use crate::error::{Result, SessionError};
use crate::outcome::{Notice, NoticeKind, Outcome};
use crate::session::settings::Applied;
use crate::session::{Effect, Event};

impl Execution<'_> {
    pub(super) async fn transaction(&mut self, statement: Transaction) -> Result<Outcome> {
        let mut begun = TransactionModes::new();
        let (event, tag) = match statement {
            Transaction::Modes(modes) => return self.set_modes("transaction", modes),
            Transaction::DefaultModes(modes) => return self.set_modes("default_transaction", modes),
            Transaction::Begin { start, modes } => {
                begun = modes;
                (Event::Begin, if start { "START TRANSACTION" } else { "BEGIN" })
            }
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
                self.undo().await?;
                return Err(error);
            }
        }
        let effect = self.session.transact(event)?;
        self.set_modes("transaction", begun)?;
        self.undo().await?;
        // COMMIT of a failed block rolls back, and says so.
        Ok(Outcome::done(if effect == Effect::Rollback {
            "ROLLBACK"
        } else {
            tag
        }))
    }

    /// Drops what was created and then rolled back.
    async fn undo(&mut self) -> Result<()> {
        let undone = self.session.made.take_undone();
        if !undone.is_empty() {
            self.server.coordinator.undo(undone).await?;
        }
        Ok(())
    }

    fn set_modes(&mut self, prefix: &str, modes: TransactionModes) -> Result<Outcome> {
        let local = prefix == "transaction";
        for (name, value) in modes {
            let name = format!("{prefix}_{name}");
            let mut settings = self.session.info.settings.write();
            let applied = settings.set(&name, Some(&value), local)?;
            drop(settings);
            if applied == Applied::NoBlock {
                let text = "SET TRANSACTION can only be used in transaction blocks";
                let notice = Notice::warning(NoticeKind::NoTransaction, text);
                self.session.notices.push(notice);
                break;
            }
        }
        Ok(Outcome::done("SET"))
    }

    /// Refuses what changes something where the transaction was said to change nothing.
    pub(super) fn check_writable(&self, plan: &PlanKind) -> Result<()> {
        let Some(verb) = verb_of_change(plan) else {
            return Ok(());
        };
        let settings = self.session.info.settings.read();
        match settings.current().get("transaction_read_only") {
            Ok("on") => Err(SessionError::ReadOnly(verb).into()),
            _ => Ok(()),
        }
    }
}

/// The statement that a plan comes from, if it changes tables or the catalog.
fn verb_of_change(plan: &PlanKind) -> Option<&'static str> {
    use millpond_sql::plan::WriteAction;
    Some(match plan {
        PlanKind::CreateRelation(_) => "CREATE TABLE",
        PlanKind::CreateView(_) => "CREATE VIEW",
        PlanKind::Drop(drop) => drop.tag,
        PlanKind::Change(change) => change.tag(),
        PlanKind::CreateTableAs(_) => "CREATE TABLE AS",
        PlanKind::AlterView(_) => "ALTER VIEW",
        PlanKind::AlterSource(_) => "ALTER SOURCE",
        PlanKind::Write(write) => match write.action {
            WriteAction::Insert => "INSERT",
            WriteAction::Update => "UPDATE",
            WriteAction::Delete => "DELETE",
        },
        PlanKind::Truncate(_) => "TRUNCATE TABLE",
        PlanKind::CopyFrom(_) => "COPY FROM",
        _ => return None,
    })
}
