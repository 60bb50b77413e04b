//! What a connection remembers between statements, and what others may see of it.

mod marks;
mod notification;
pub mod portal;
mod registry;
pub mod settings;
mod statements;
pub mod transaction;
mod work;
mod writes;

use std::collections::HashMap;
use std::sync::Arc;

use millpond_catalog::{Catalog, ObjectId};
use tokio::sync::mpsc;

use crate::error::{Result, SessionError};
use crate::outcome::Notice;
use crate::pg::encode::{IdentifierNames, Style};
use crate::pg_catalog::SystemContext;
use crate::table_locks::{HeldTables, TableLocks};

pub use marks::Made;
pub use notification::{Notification, Notifications};
pub use portal::{Portal, PortalState, PreparedStatement};
pub use registry::{Activity, ActivityState, Client, SessionInfo, Sessions, temporary_schema};
pub use settings::SessionSettings;
pub use statements::Statements;
pub use transaction::{Effect, Event, Transaction};
pub use work::Work;
pub use writes::{KeyCounts, Writes};

/// One client's state. Belongs to the task that serves the connection.
#[derive(Debug)]
pub struct Session {
    pub info: Arc<SessionInfo>,
    pub transaction: Transaction,
    /// Portals and cursors by name; the unnamed one has the empty name.
    pub portals: HashMap<String, Portal>,
    /// What the statement that runs, or ran last, was planned with.
    pub system: Option<Arc<SystemContext>>,
    /// Not sent yet.
    pub notices: Vec<Notice>,
    /// Changes of tables that are not committed.
    pub writes: Writes,
    /// Tables that nobody else may change before the transaction ends.
    pub held: HeldTables,
    /// The running statement is one of several that commit together without a block: a text of many, a pipeline.
    pub grouped: bool,
    /// Changes of the catalog in the open block, which ROLLBACK will not undo.
    pub lasting_effects: u64,
    /// What the open block has made, with the places of savepoints.
    pub made: Made,
    /// Where messages to this session arrive, and what puts them there.
    pub notifications: mpsc::Receiver<Notification>,
    queue: mpsc::Sender<Notification>,
}

impl Session {
    pub fn new(info: Arc<SessionInfo>, locks: Arc<TableLocks>) -> Self {
        let held = HeldTables::new(locks, info.pid);
        let (queue, notifications) = notification::queue();
        Self {
            info,
            transaction: Transaction::default(),
            portals: HashMap::new(),
            system: None,
            notices: Vec::new(),
            writes: Writes::default(),
            held,
            grouped: false,
            lasting_effects: 0,
            made: Made::default(),
            notifications,
            queue,
        }
    }

    /// The session's temporary objects, the newest first.
    pub fn temporary_objects(&self, catalog: &Catalog) -> Vec<ObjectId> {
        let schema = temporary_schema(self.info.pid);
        let mine = catalog.objects().filter(|object| object.name.schema == schema);
        let mut ids: Vec<_> = mine.map(|object| object.id).collect();
        ids.reverse();
        ids
    }

    /// LISTEN.
    pub fn listen(&self, channel: &str) {
        let listeners = &self.info.notifications;
        listeners.listen(channel, self.info.pid, self.queue.clone());
    }

    /// Sends what NOTIFY of the transaction that has committed left.
    pub fn send_notifications(&self) {
        for notification in self.info.take_notifications() {
            self.info.notifications.send(&notification);
        }
    }

    /// Moves the transaction on and does what follows from it.
    pub fn transact(&mut self, event: Event) -> Result<Effect> {
        let (next, step) = self.transaction.clone().next(event.clone())?;
        self.transaction = next;
        let savepoints = self.transaction.savepoints();
        match event {
            Event::Savepoint(_) => {
                self.writes.set_savepoint();
                self.made.set_savepoint();
            }
            Event::Release(_) => {
                self.writes.release(savepoints);
                self.made.release(savepoints);
            }
            Event::RollbackTo(_) => {
                self.writes.roll_back_to(savepoints);
                let last = self.made.roll_back_to(savepoints);
                self.portals.retain(|_, portal| portal.number <= last);
            }
            Event::Rollback => self.discard_writes(),
            Event::Begin | Event::Commit | Event::Error => {}
        }
        self.notices.extend(step.notice);
        match step.effect {
            Effect::Nothing => {}
            Effect::Begin => self.info.settings.write().begin(),
            Effect::Commit => {
                self.info.settings.write().commit();
                self.end_portals();
                self.made.keep();
                self.send_notifications();
            }
            Effect::Rollback => {
                self.discard_writes();
                self.info.take_notifications();
                self.made.discard();
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

    /// Forgets what was not committed.
    fn discard_writes(&mut self) {
        self.writes.clear();
        self.held.release();
    }

    /// Changes of tables wait for the end of a block, or of the group of statements.
    pub fn defers_commit(&self) -> bool {
        self.grouped || self.transaction.in_block()
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
        if !self.transaction.in_block() {
            self.discard_writes();
            self.info.take_notifications();
        }
    }

    /// Adds a portal or cursor.
    pub fn add_portal(&mut self, name: String, mut portal: Portal) {
        portal.number = self.made.next_portal();
        self.portals.insert(name, portal);
    }

    /// Portals end with their transaction, unless they were declared to be held.
    pub fn end_portals(&mut self) {
        self.portals.retain(|_, portal| portal.hold);
    }

    fn warn_of_lasting_effects(&mut self) {
        if self.lasting_effects > 0 {
            let text = format!(
                "{} change(s) of the catalog in this transaction took effect at once and are not undone",
                self.lasting_effects
            );
            let notice = Notice::warning(crate::outcome::NoticeKind::Limited, text);
            self.notices
                .push(notice.with_hint("ROLLBACK undoes INSERT, UPDATE, DELETE, TRUNCATE and CREATE."));
        }
    }

    pub fn statement(&self, name: &str) -> Result<Arc<PreparedStatement>> {
        let found = self.info.statements.get(name);
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
