//! The coordinator: the one owner of the catalog and of the set of running queries.
//!
//! Changes arrive as [`Command`]s and are carried out one after the other by a thread of its own, each in the same five
//! steps: plan against the current catalog, lower, log, apply, start. The log is the commit point: what was refused
//! before it leaves no trace, and what was logged is carried out again at the next start. Reads never come here; they
//! work on the catalog value that was current when they were planned.

mod alter_source;
mod alter_view;
mod boot;
mod command;
mod create_relation;
mod create_view;
mod definition;
mod drop;

use std::sync::{Arc, mpsc};

use millpond_catalog::{Catalog, ObjectId};
use millpond_engine::engine::Engine;
use millpond_sql::plan::Notice;
use millpond_sql::{ParsedStatement, PlanKind, Settings};
use millpond_storage::Storage;
use parking_lot::RwLock;
use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::relations::ServerRelations;
use command::Command;
pub(crate) use create_view::lower;

/// A handle to the coordinator. Clones are the same coordinator.
#[derive(Clone)]
pub struct Coordinator {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
}

struct Shared {
    catalog: RwLock<Arc<Catalog>>,
    engine: Engine,
    storage: Storage,
}

/// A change that was carried out.
#[derive(Debug)]
pub struct Changed {
    /// Command tag, for example `CREATE TABLE`.
    pub tag: String,
    /// What was created where nothing was before.
    pub created: Option<ObjectId>,
    pub notices: Vec<Notice>,
}

impl Coordinator {
    /// Brings back everything that the DDL log holds, then takes commands.
    pub fn start(storage: Storage, engine: Engine) -> Result<Coordinator> {
        let shared = Arc::new(Shared {
            catalog: RwLock::default(),
            engine,
            storage,
        });
        boot::boot(&shared)?;
        shared.engine.start_upkeep()?;
        let (commands, arriving) = mpsc::channel();
        let owner = shared.clone();
        std::thread::Builder::new()
            .name("coordinator".into())
            .spawn(move || run(&owner, &arriving))
            .map_err(|error| Error::Bug(format!("the coordinator's thread cannot start: {error}")))?;
        Ok(Coordinator { shared, commands })
    }

    /// The catalog as it is now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog.read().clone()
    }

    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    pub fn storage(&self) -> &Storage {
        &self.shared.storage
    }

    /// Carries out a statement that changes the catalog. It is planned here, against the catalog it will change.
    pub async fn change(&self, statement: ParsedStatement, settings: Settings) -> Result<Changed> {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(Command::Change {
                statement: Box::new(statement),
                settings: Box::new(settings),
                reply,
            })
            .map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Drops what a transaction created that was rolled back, the newest first. What others use by now stays.
    pub async fn undo(&self, created: Vec<ObjectId>) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(Command::Undo { created, reply })
            .map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

fn stopped() -> Error {
    Error::Cancelled(crate::error::CancelReason::Terminated)
}

/// The loop: ends when the last handle is dropped.
fn run(shared: &Shared, arriving: &mpsc::Receiver<Command>) {
    while let Ok(command) = arriving.recv() {
        match command {
            Command::Change {
                statement,
                settings,
                reply,
            } => {
                // A client that went away does not undo what was logged.
                let _ = reply.send(shared.change(&statement, &settings));
            }
            Command::Undo { created, reply } => {
                let _ = reply.send(shared.undo(&created));
            }
        }
    }
}

impl Shared {
    /// Plans a change and carries it out.
    fn change(&self, statement: &ParsedStatement, settings: &Settings) -> Result<Changed> {
        let catalog = self.catalog.read().clone();
        let relations = ServerRelations::background(self.engine.clone(), catalog.clone());
        let context = millpond_sql::PlanContext {
            catalog: &catalog,
            settings,
            relations: &relations,
            parameter_types: &[],
        };
        let mut plan = millpond_sql::plan(statement, &context)?;
        let mut created = None;
        let tag = match plan.kind {
            PlanKind::CreateRelation(create) => {
                let replaces = create.replaces.is_some();
                let (tag, id) = self.create_relation(create)?;
                created = (!replaces).then_some(id);
                tag
            }
            PlanKind::CreateView(create) => {
                let replaces = create.replaces.is_some();
                let (tag, id) = self.create_view(create, &mut plan.notices)?;
                created = (!replaces).then_some(id);
                tag
            }
            PlanKind::Drop(drop) => self.drop(&drop)?,
            PlanKind::Change(change) => self.change_definition(change)?,
            PlanKind::AlterView(alter) => self.alter_view(alter)?,
            PlanKind::AlterSource(alter) => self.alter_source(*alter)?,
            PlanKind::Nothing { tag } => tag.to_owned(),
            other => return Err(Error::Bug(format!("this plan changes no catalog: {other:?}"))),
        };
        Ok(Changed {
            tag,
            created,
            notices: plan.notices,
        })
    }
}
