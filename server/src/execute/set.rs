//! SET, RESET and DISCARD.

use millpond_sql::plan::Set;
use millpond_sql::statement::DiscardTarget;

use super::Execution;
use crate::error::{Result, SessionError};
use crate::outcome::{Notice, NoticeKind, Outcome};
use crate::session::settings::Applied;

impl Execution<'_> {
    pub(super) fn set(&mut self, set: &Set) -> Result<Outcome> {
        let mut settings = self.session.info.settings.write();
        let applied = settings.set(&set.name, set.value.as_deref(), set.local)?;
        drop(settings);
        if applied == Applied::NoBlock {
            let text = "SET LOCAL can only be used in transaction blocks";
            self.session
                .notices
                .push(Notice::warning(NoticeKind::NoTransaction, text));
        }
        Ok(Outcome::done(set.tag))
    }

    pub(super) fn reset_all(&mut self) -> Outcome {
        self.session.info.settings.write().reset_all();
        Outcome::done("RESET")
    }

    pub(super) async fn discard(&mut self, target: DiscardTarget) -> Result<Outcome> {
        if matches!(target, DiscardTarget::All | DiscardTarget::Temporary)
            && !self.session.transaction.in_block()
        {
            let temporary = self.session.temporary_objects(&self.server.coordinator.catalog());
            self.server.coordinator.undo(temporary).await?;
        }
        Ok(Outcome::done(match target {
            DiscardTarget::All => {
                if self.session.transaction.in_block() {
                    return Err(SessionError::InTransaction("DISCARD ALL").into());
                }
                self.session.portals.clear();
                self.session.info.statements.clear();
                self.session
                    .info
                    .notifications
                    .unlisten_all(self.session.info.pid);
                self.session.info.settings.write().reset_all();
                "DISCARD ALL"
            }
            // Statements are planned again whenever they are bound: there are no plans to throw away.
            DiscardTarget::Plans => "DISCARD PLANS",
            DiscardTarget::Sequences => "DISCARD SEQUENCES",
            DiscardTarget::Temporary => "DISCARD TEMP",
        }))
    }
}
