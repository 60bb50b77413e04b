//! Statement to outcome: reads are answered here, changes are handed on to the coordinator.

mod copy;
mod create_table_as;
mod cursor;
mod explain;
mod flush;
mod prepared;
mod reading;
mod select;
mod set;
mod show;
mod subscribe;
mod transaction;
mod write;

pub(crate) use prepared::evaluate;
pub(crate) use write::commit;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millpond_catalog::{Catalog, ObjectId, SqlType};
use millpond_sql::plan::OutputColumn;
use millpond_sql::statement::{Listen, Target};
use millpond_sql::{ParsedStatement, Plan, PlanContext, PlanKind, Statement};

use crate::error::{Error, Result, SessionError};
use crate::outcome::{Notice, NoticeKind, Outcome};
use crate::pg_catalog::SystemContext;
use crate::relations::ServerRelations;
use crate::server::Server;
use crate::session::{Session, Work};

/// What a statement runs with.
pub struct Execution<'a> {
    pub server: &'a Arc<Server>,
    pub session: &'a mut Session,
    pub work: &'a Work,
    /// What the statement has created.
    pub created: Option<ObjectId>,
}

impl Execution<'_> {
    /// Text that was parsed, to outcome.
    pub async fn execute(&mut self, statement: &ParsedStatement) -> Result<Outcome> {
        let planned = self.plan(statement, &[])?;
        if !planned.plan.parameters.is_empty() {
            return Err(SessionError::UnknownParameter(1).into());
        }
        self.carry_out(statement, planned).await
    }

    /// Resolves a statement against the catalog and the session as they are now.
    pub fn plan(&self, statement: &ParsedStatement, parameter_types: &[Option<SqlType>]) -> Result<Planned> {
        self.session.check_allowed(&statement.statement)?;
        let catalog = self.server.coordinator.catalog();
        let system = self.system_context(catalog.clone());
        let relations = self.relations(&system);
        let settings = system.settings();
        let context = PlanContext {
            catalog: &catalog,
            settings: &settings,
            relations: &relations,
            parameter_types,
        };
        let plan = guarded(|| Ok(millpond_sql::plan(statement, &context)?))?;
        Ok(Planned { plan, system })
    }

    /// What system tables and functions see during the statement.
    fn system_context(&self, catalog: Arc<Catalog>) -> Arc<SystemContext> {
        let info = self.session.info.clone();
        let settings = info.settings.read().current().clone();
        let now_us = self.server.clock.now_us();
        Arc::new(SystemContext::new(
            catalog,
            self.server.system.clone(),
            info,
            settings,
            now_us,
        ))
    }

    fn relations(&self, system: &Arc<SystemContext>) -> ServerRelations {
        ServerRelations::new(self.server.coordinator.engine().clone(), system.clone())
    }

    /// Plan to outcome.
    pub async fn carry_out(&mut self, statement: &ParsedStatement, planned: Planned) -> Result<Outcome> {
        let Planned { mut plan, system } = planned;
        self.check_writable(&plan.kind)?;
        self.session.system = Some(system);
        let notices = std::mem::take(&mut plan.notices);
        match plan.kind {
            PlanKind::CreateRelation(_)
            | PlanKind::CreateView(_)
            | PlanKind::Drop(_)
            | PlanKind::Change(_)
            | PlanKind::AlterView(_)
            | PlanKind::AlterSource(_) => {
                return self.change(statement).await;
            }
            PlanKind::Nothing { tag } => {
                let kind = if tag.starts_with("CREATE") {
                    NoticeKind::AlreadyExists
                } else {
                    NoticeKind::Plain
                };
                self.session
                    .notices
                    .extend(notices.into_iter().map(|n| Notice::planned(n, kind)));
                return Ok(Outcome::done(tag));
            }
            _ => {}
        }
        self.session
            .notices
            .extend(notices.into_iter().map(|n| Notice::planned(n, NoticeKind::Plain)));
        match plan.kind {
            PlanKind::CreateRelation(_)
            | PlanKind::CreateView(_)
            | PlanKind::Drop(_)
            | PlanKind::Change(_)
            | PlanKind::AlterView(_)
            | PlanKind::AlterSource(_)
            | PlanKind::Nothing { .. } => Err(Error::Bug("a change was handed on already".into())),
            PlanKind::CreateTableAs(create) => Box::pin(self.create_table_as(*create)).await,
            PlanKind::Write(write) => self.write(*write).await,
            PlanKind::Truncate(tables) => self.truncate(&tables).await,
            PlanKind::CopyFrom(copy) => Ok(Outcome::CopyIn(copy)),
            PlanKind::CopyTo(copy) => self.copy_to(*copy).await,
            PlanKind::Select(select) => self.select(select).await,
            PlanKind::Explain(explain) => self.explain(explain).await,
            PlanKind::Rows(rows) => show::show(rows),
            PlanKind::Set(set) => self.set(&set),
            PlanKind::ResetAll => Ok(self.reset_all()),
            PlanKind::Flush(view) => self.flush(view).await,
            PlanKind::Transaction(transaction) => self.transaction(transaction).await,
            PlanKind::Prepare(prepare) => self.prepare(*prepare),
            PlanKind::Execute(execute) => Box::pin(self.execute_prepared(execute)).await,
            PlanKind::Deallocate(target) => self.deallocate(target),
            PlanKind::DeclareCursor(declare) => self.declare_cursor(declare),
            PlanKind::Fetch(fetch) => self.fetch(fetch).await,
            PlanKind::Subscribe(subscribe) => self.subscribe(&subscribe),
            PlanKind::CloseCursor(target) => self.close_cursor(target),
            PlanKind::Discard(target) => self.discard(target).await,
            PlanKind::Listen(listen) => Ok(Outcome::done(self.listen(&listen))),
        }
    }

    /// LISTEN takes effect at once, NOTIFY at the commit.
    fn listen(&mut self, listen: &Listen) -> &'static str {
        let (info, all) = (&self.session.info, &self.session.info.notifications);
        match listen {
            Listen::Listen(channel) => {
                self.session.listen(channel);
                "LISTEN"
            }
            Listen::Unlisten(Target::All) => {
                all.unlisten_all(info.pid);
                "UNLISTEN"
            }
            Listen::Unlisten(Target::Named(channel)) => {
                all.unlisten(channel, info.pid);
                "UNLISTEN"
            }
            Listen::Notify { channel, payload } => {
                info.notify(channel, payload);
                "NOTIFY"
            }
        }
    }

    /// Hands a statement that changes the catalog to its owner. Once there it is carried out even if nobody waits.
    async fn change(&mut self, statement: &ParsedStatement) -> Result<Outcome> {
        self.commit_group().await?;
        let settings = self.session.info.settings.read().current().clone();
        let change = self.server.coordinator.change(statement.clone(), settings);
        let changed = self.work.race(change).await?;
        self.created = changed.created;
        match changed.created {
            Some(id) if self.session.transaction.in_block() => self.session.made.create(id),
            _ => self.session.took_effect(),
        }
        self.session.notices.extend(
            changed
                .notices
                .into_iter()
                .map(|n| Notice::planned(n, NoticeKind::Plain)),
        );
        Ok(Outcome::done(changed.tag))
    }
}

/// A plan and the state of the server that it was made for.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    pub system: Arc<SystemContext>,
}

/// The columns of the result, `None` for a statement without one.
pub fn result_columns(session: &Session, plan: &Plan) -> Result<Option<Vec<OutputColumn>>> {
    Ok(match &plan.kind {
        PlanKind::Select(select) => Some(select.columns.clone()),
        PlanKind::Subscribe(subscribe) => Some(subscribe.columns.clone()),
        PlanKind::Explain(explain) => Some(explain.columns.clone()),
        PlanKind::Rows(rows) => Some(rows.columns.clone()),
        PlanKind::Write(write) => write
            .returning
            .as_ref()
            .map(|returning| returning.columns.clone()),
        PlanKind::Execute(execute) => session.statement(&execute.name)?.columns.clone(),
        PlanKind::Fetch(fetch) if !fetch.skip => session.cursor(&fetch.cursor)?.columns.clone(),
        PlanKind::CreateRelation(_)
        | PlanKind::CreateView(_)
        | PlanKind::Drop(_)
        | PlanKind::Change(_)
        | PlanKind::CreateTableAs(_)
        | PlanKind::AlterView(_)
        | PlanKind::AlterSource(_)
        | PlanKind::Truncate(_)
        | PlanKind::CopyFrom(_)
        | PlanKind::CopyTo(_)
        | PlanKind::Set(_)
        | PlanKind::ResetAll
        | PlanKind::Flush(_)
        | PlanKind::Transaction(_)
        | PlanKind::Prepare(_)
        | PlanKind::Deallocate(_)
        | PlanKind::DeclareCursor(_)
        | PlanKind::Fetch(_)
        | PlanKind::CloseCursor(_)
        | PlanKind::Discard(_)
        | PlanKind::Listen(_)
        | PlanKind::Nothing { .. } => None,
    })
}

/// Parses a text. A panic in the parser or planner is a defect, and costs the statement and not the connection.
pub fn parse(text: &str) -> Result<Vec<ParsedStatement>> {
    guarded(|| Ok(millpond_sql::parse(text)?))
}

fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_default();
        Err(Error::Bug(format!("planning panicked: {reason}")))
    })
}

impl Session {
    /// In a failed block only its end is allowed.
    pub fn check_allowed(&self, statement: &Statement) -> Result<()> {
        use millpond_sql::statement::Transaction;
        let ends = matches!(
            statement,
            Statement::Transaction(Transaction::Commit | Transaction::Rollback | Transaction::RollbackTo(_))
        );
        if self.transaction.is_failed() && !ends {
            return Err(SessionError::TransactionFailed.into());
        }
        Ok(())
    }
}
