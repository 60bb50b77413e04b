//! INSERT, UPDATE, DELETE and TRUNCATE: the statement's query is run, its rows are checked, and one durable write changes
//! the table.
//!
//! A statement that reads the rows it changes takes the table before it reads, until its transaction ends, and reads the
//! table as it stands then. So two of them never undo one another. What a transaction changes waits in the session for
//! COMMIT, which makes all of it durable and visible in one step; its own statements see it before.

mod checks;
mod effect;
mod keys;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use futures::StreamExt;
use millpond_catalog::{Object, ObjectId};
use millpond_engine::oneoff::Readable;
use millpond_engine::read::ReadView;
use millpond_sql::plan::{Conditions, Returning, Write, WriteAction};
use millpond_storage::ChangeBatch;

use super::Execution;
use crate::error::{Error, Result, ValueError};
use crate::outcome::{Outcome, RowsTag, Written};
use crate::server::Server;
use crate::session::Session;
use checks::{Checks, row_text};
use effect::Effect;

impl Execution<'_> {
    pub(super) async fn write(&mut self, write: Write) -> Result<Outcome> {
        self.write_rows(write, Vec::new()).await
    }

    /// Carries out a write whose query may read `given` rows, which a client has sent.
    pub(super) async fn write_rows(&mut self, write: Write, given: Vec<RecordBatch>) -> Result<Outcome> {
        let reads_what_it_changes = match write.action {
            WriteAction::Insert => !write.keys.is_empty(),
            WriteAction::Update | WriteAction::Delete => true,
        };
        if reads_what_it_changes {
            self.take(write.table).await?;
        }
        let table = self.table(write.table)?;
        let kind = match write.action {
            WriteAction::Insert => Written::Insert,
            WriteAction::Update => Written::Update,
            WriteAction::Delete => Written::Delete,
        };
        let view = self.read(&write.reads)?;
        let view = match reads_what_it_changes {
            true => self.at_latest(view, write.table)?,
            false => view,
        };
        let mut effect = self.effect(&write, &table, view.clone(), given).await?;
        if let Some(on_conflict) = &write.on_conflict {
            effect = self
                .resolve_conflicts(&write, on_conflict, &table, effect.new, &view)
                .await?;
        }
        if let Some(conditions) = &write.conditions {
            self.check_conditions(conditions, &table, &effect.new).await?;
        }
        self.check_keys(&write, &table, &effect.changes).await?;
        let answer = match &write.returning {
            Some(returning) => self.answer(returning, effect.written, view, kind).await?,
            None => Outcome::done(kind.tag(effect.count)),
        };
        self.apply(vec![(write.table, effect.changes)]).await?;
        Ok(answer)
    }

    pub(super) async fn truncate(&mut self, tables: &[ObjectId]) -> Result<Outcome> {
        let mut view = ReadView::default();
        for table in tables {
            self.take(*table).await?;
            self.table(*table)?;
            view = self.at_latest(view, *table)?;
        }
        let reading = self.reading(view)?;
        let mut writes = Vec::with_capacity(tables.len());
        for table in tables {
            let mut rows = reading.scan(*table, None)?;
            let mut changes = Vec::new();
            self.work
                .race(async {
                    while let Some(batch) = rows.next().await {
                        changes.push(ChangeBatch::retractions(batch?));
                    }
                    Ok(())
                })
                .await?;
            writes.push((*table, changes));
        }
        self.apply(writes).await?;
        Ok(Outcome::done("TRUNCATE TABLE"))
    }

    /// Waits until nobody else may change the table before the transaction ends.
    async fn take(&mut self, table: ObjectId) -> Result<()> {
        self.work.race(self.session.held.take(table)).await
    }

    fn table(&self, id: ObjectId) -> Result<Arc<Object>> {
        let catalog = self.server.coordinator.catalog();
        let table = catalog.get(id).cloned();
        // Dropped since it was planned.
        table.ok_or_else(|| Error::Bug("the table was dropped meanwhile".into()))
    }

    /// The table as it stands, beside what else the statement reads.
    fn at_latest(&self, mut view: ReadView, table: ObjectId) -> Result<ReadView> {
        let snapshot = self.server.coordinator.engine().relation(table)?.snapshot();
        view.relations.insert(table, snapshot);
        Ok(view)
    }

    /// Runs the statement's query and makes changes of its rows.
    async fn effect(
        &self,
        write: &Write,
        table: &Object,
        view: ReadView,
        given: Vec<RecordBatch>,
    ) -> Result<Effect> {
        let mut rows = self.start(write.query.clone(), self.reading(view)?.with_written(given));
        let style = self.session.style();
        let checks = Checks {
            table,
            rows: &write.checks,
            style: &style,
        };
        let mut effect = Effect::default();
        let mut met = HashSet::new();
        self.work
            .race(async {
                while let Some(batch) = rows.next().await {
                    effect.add(write, &checks, &mut met, &batch?)?;
                }
                Ok(())
            })
            .await?;
        Ok(effect)
    }

    /// Refuses rows that make a CHECK false.
    async fn check_conditions(
        &self,
        conditions: &Conditions,
        table: &Object,
        new: &[RecordBatch],
    ) -> Result<()> {
        for rows in new {
            let reading = self
                .reading(ReadView::default())?
                .with_written(vec![rows.clone()]);
            let mut results = self.start(conditions.query.clone(), reading);
            let mut first = 0;
            self.work
                .race(async {
                    while let Some(batch) = results.next().await {
                        let batch = batch?;
                        for (column, constraint) in batch.columns().iter().zip(&conditions.names) {
                            let values = column.as_boolean();
                            let failed =
                                (0..values.len()).find(|row| values.is_valid(*row) && !values.value(*row));
                            if let Some(row) = failed {
                                return Err(ValueError::Check {
                                    relation: table.name.name.clone(),
                                    schema: table.name.schema.clone(),
                                    constraint: constraint.clone(),
                                    row: row_text(rows, first + row, &self.session.style())?,
                                }
                                .into());
                            }
                        }
                        first += batch.num_rows();
                    }
                    Ok(())
                })
                .await?;
        }
        Ok(())
    }

    /// Runs RETURNING over the written rows.
    async fn answer(
        &self,
        returning: &Returning,
        mut written: Vec<RecordBatch>,
        view: ReadView,
        kind: Written,
    ) -> Result<Outcome> {
        let batches = if written.is_empty() {
            Vec::new()
        } else {
            written.retain(|batch| batch.num_rows() > 0);
            let reading = self.reading(view)?.with_written(written);
            let mut rows = self.start(returning.query.clone(), reading);
            let mut batches = Vec::new();
            self.work
                .race(async {
                    while let Some(batch) = rows.next().await {
                        batches.push(Ok(batch?));
                    }
                    Ok(())
                })
                .await?;
            batches
        };
        Ok(Outcome::Rows {
            columns: returning.columns.clone(),
            rows: futures::stream::iter(batches).boxed(),
            tag: RowsTag::Written(kind),
        })
    }

    /// Adds changes to the transaction. Outside of one they are committed.
    async fn apply(&mut self, writes: Vec<(ObjectId, Vec<ChangeBatch>)>) -> Result<()> {
        for (table, changes) in writes {
            self.session.writes.push(table, changes);
        }
        if self.session.defers_commit() {
            return Ok(());
        }
        commit(self.server, self.session).await
    }

    /// Commits what statements of this group have changed, for one that looks at what comes of it.
    pub(super) async fn commit_group(&mut self) -> Result<()> {
        if self.session.transaction.in_block() {
            return Ok(());
        }
        commit(self.server, self.session).await
    }
}

/// Makes what the transaction has changed durable and visible, in one step, and lets others change its tables.
pub(crate) async fn commit(server: &Arc<Server>, session: &mut Session) -> Result<()> {
    let mut writes = session.writes.by_table();
    session.writes.clear();
    let catalog = server.coordinator.catalog();
    // The rows of a table that was dropped are gone either way.
    writes.retain(|table, _| catalog.get(*table).is_some());
    let committed = if writes.is_empty() {
        Ok(())
    } else {
        let engine = server.coordinator.engine().clone();
        // Not raced: from here on the changes are in or an error says why not.
        let written = tokio::task::spawn_blocking(move || engine.write(writes.into_iter().collect()));
        let written = written.await;
        written
            .map_err(|e| Error::Bug(format!("the commit stopped without an answer: {e}")))?
            .map_err(Error::from)
    };
    session.held.release();
    committed
}

fn stopped(error: &tokio::task::JoinError) -> Error {
    Error::Bug(format!("the work stopped without an answer: {error}"))
}
