//! What a connection remembers between statements, and what others may see of it.

pub mod portal;
mod registry;
pub mod settings;
pub mod transaction;
mod work;

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Result, SessionError};
use crate::outcome::Notice;
use crate::pg::encode::{IdentifierNames, Style};
use crate::pg_catalog::SystemContext;

pub use portal::{Portal, PortalState, PreparedStatement};
pub use registry::{Activity, ActivityState, Client, SessionInfo, Sessions};
pub use settings::SessionSettings;
pub use transaction::{Effect, Event, Transaction};
pub use work::Work;

/// One client's state. Belongs to the task that serves the connection.
#[derive(Debug)]
pub struct Session {
    pub info: Arc<SessionInfo>,
    pub transaction: Transaction,
    /// By name; the unnamed one has the empty name.
    pub statements: HashMap<String, Arc<PreparedStatement>>,
    /// Portals and cursors by name; the unnamed one has the empty name.
    pub portals: HashMap<String, Portal>,
    /// What the statement that runs, or ran last, was planned with.
    pub system: Option<Arc<SystemContext>>,
    /// Not sent yet.
    pub notices: Vec<Notice>,
    /// Statements of the open block that took effect and that ROLLBACK will not undo.
    pub lasting_effects: u64,
}

impl Session {
    pub fn new(info: Arc<SessionInfo>) -> Self {
        Self {
            info,
            transaction: Transaction::default(),
            statements: HashMap::new(),
            portals: HashMap::new(),
            system: None,
            notices: Vec::new(),
            lasting_effects: 0,
        }
    }

    /// Moves the transaction on and does what follows from it.
    pub fn transact(&mut self, event: Event) -> Result<Effect> {
        let (next, step) = self.transaction.clone().next(event)?;
        self.transaction = next;
        self.notices.extend(step.notice);
        match step.effect {
            Effect::Nothing => {}
            Effect::Begin => self.info.settings.write().begin(),
            Effect::Commit => {
                self.info.settings.write().commit();
                self.end_portals();
            }
            Effect::Rollback => {
                self.info.settings.write().rollback();
                self.end_portals();
                self.warn_of_lasting_effects();
            }
        }
        if step.effect != Effect::Nothing {
            self.lasting_effects = 0;
        }
        Ok(step.effect)
    }

    /// A statement changed something for good.
    pub fn took_effect(&mut self) {
        if self.transaction.in_block() {
            self.lasting_effects += 1;
        }
    }

    /// A statement failed.
    pub fn fail(&mut self) {
        if let Ok((next, _)) = self.transaction.clone().next(Event::Error) {
            self.transaction = next;
        }
    }

    /// Portals end with their transaction, unless they were declared to be held.
    pub fn end_portals(&mut self) {
        self.portals.retain(|_, portal| portal.hold);
    }

    fn warn_of_lasting_effects(&mut self) {
        if self.lasting_effects > 0 {
            let text = format!(
                "{} statement(s) of this transaction took effect when they ran and are not undone",
                self.lasting_effects
            );
            let notice = Notice::warning(crate::outcome::NoticeKind::Limited, text);
            self.notices.push(
                notice.with_hint(
                    "Transactions group statements for clients; every statement commits on its own.",
                ),
            );
        }
    }

    pub fn statement(&self, name: &str) -> Result<Arc<PreparedStatement>> {
        let found = self.statements.get(name).cloned();
        found.ok_or_else(|| SessionError::NoStatement(name.to_owned()).into())
    }

    /// How values print.
    pub fn style(&self) -> Style {
        let settings = self.info.settings.read();
        let names = self
            .system
            .clone()
            .map(|system| system as Arc<dyn IdentifierNames>);
        Style {
            names,
            ..Style::of(settings.current())
        }
    }

    /// Makes what `set_config` changed in the statement last, now that it has succeeded.
    pub fn apply_setting_changes(&mut self) -> Result<()> {
        let changes = self.system.as_ref().map(|system| system.take_setting_changes());
        for change in changes.into_iter().flatten() {
            self.info
                .settings
                .write()
                .set(&change.name, Some(&change.value), change.local)?;
        }
        Ok(())
    }

    pub fn activity_state(&self) -> ActivityState {
        match self.transaction {
            Transaction::Idle => ActivityState::Idle,
            Transaction::Block { .. } => ActivityState::IdleInTransaction,
            Transaction::Failed { .. } => ActivityState::IdleInFailedTransaction,
        }
    }
}
