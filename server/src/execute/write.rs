//! INSERT, UPDATE, DELETE and TRUNCATE: the statement's query is run, its rows are checked, and one durable write changes
//! the table.
//!
//! A statement that reads the rows it changes holds the table's lock from before it reads until its change is durable,
//! and reads the table as it stands then. So two of them never undo one another.

mod checks;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Int64Type, Schema};
use futures::StreamExt;
use millpond_catalog::{Object, ObjectId};
use millpond_engine::read::ReadView;
use millpond_sql::plan::{Returning, Write, WriteAction};
use millpond_storage::ChangeBatch;
use std::collections::HashSet;
use std::sync::Arc;

use super::Execution;
use super::reading::Reading;
use crate::error::{Error, Result};
use crate::outcome::{Outcome, RowsTag, Written};
use crate::table_locks::TableLock;
use checks::Checks;

/// What a statement does to its table.
#[derive(Default)]
struct Effect {
    changes: Vec<ChangeBatch>,
    /// The rows that RETURNING sees.
    written: Vec<RecordBatch>,
    count: u64,
}

impl Execution<'_> {
    pub(super) async fn write(&mut self, write: Write) -> Result<Outcome> {
        let lock = match write.action {
            WriteAction::Insert => None,
            WriteAction::Update | WriteAction::Delete => Some(self.lock(write.table).await?),
        };
        let table = self.table(write.table)?;
        let kind = match write.action {
            WriteAction::Insert => Written::Insert,
            WriteAction::Update => Written::Update,
            WriteAction::Delete => Written::Delete,
        };
        let view = self.read(&write.reads)?;
        let view = match lock {
            Some(_) => self.at_latest(view, write.table)?,
            None => view,
        };
        let effect = self.effect(&write, &table, view.clone()).await?;
        let answer = match &write.returning {
            Some(returning) => self.answer(returning, effect.written, view, kind).await?,
            None => Outcome::done(kind.tag(effect.count)),
        };
        self.apply(vec![(write.table, effect.changes)]).await?;
        drop(lock);
        Ok(answer)
    }

    pub(super) async fn truncate(&mut self, tables: &[ObjectId]) -> Result<Outcome> {
        // In ascending order, as everybody who takes several.
        let mut locks = Vec::with_capacity(tables.len());
        for table in tables {
            locks.push(self.lock(*table).await?);
        }
        let mut writes = Vec::with_capacity(tables.len());
        for table in tables {
            self.table(*table)?;
            let snapshot = self.server.coordinator.engine().relation(*table)?.snapshot();
            let rows = tokio::task::spawn_blocking(move || {
                let rows = snapshot.scan().map(|rows| Ok(ChangeBatch::retractions(rows?)));
                rows.collect::<Result<Vec<_>>>()
            });
            writes.push((*table, rows.await.map_err(|e| stopped(&e))??));
        }
        self.apply(writes).await?;
        drop(locks);
        Ok(Outcome::done("TRUNCATE TABLE"))
    }

    async fn lock(&self, table: ObjectId) -> Result<TableLock> {
        let lock = self.server.table_locks.lock(table);
        self.work.race(async { Ok(lock.await) }).await
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
    async fn effect(&self, write: &Write, table: &Object, view: ReadView) -> Result<Effect> {
        let mut rows = self.start(write.query.clone(), Reading::new(view));
        let checks = Checks {
            table,
            rows: &write.checks,
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
            let reading = Reading::new(view).with_written(written);
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

    /// Makes changes durable and visible.
    async fn apply(&mut self, writes: Vec<(ObjectId, Vec<ChangeBatch>)>) -> Result<()> {
        if writes.iter().all(|(_, changes)| changes.is_empty()) {
            return Ok(());
        }
        let engine = self.server.coordinator.engine().clone();
        // Not raced: from here on the change is in or an error says why not.
        let written = tokio::task::spawn_blocking(move || engine.write(writes)).await;
        written.map_err(|e| stopped(&e))??;
        self.session.took_effect();
        Ok(())
    }
}

fn stopped(error: &tokio::task::JoinError) -> Error {
    Error::Bug(format!("the change stopped without an answer: {error}"))
}

impl Effect {
    /// Takes in rows of the statement's query; `met` are the numbers of the rows that came before.
    fn add(
        &mut self,
        write: &Write,
        checks: &Checks<'_>,
        met: &mut HashSet<i64>,
        batch: &RecordBatch,
    ) -> Result<()> {
        let width = checks.table.columns.len();
        let schema = checks.table.schema();
        let (new, others) = match write.action {
            WriteAction::Insert => {
                let new = checks.apply(batch)?;
                self.changes.push(ChangeBatch::insertions(new.clone()));
                (new, None)
            }
            WriteAction::Update | WriteAction::Delete => {
                let batch = first_of_each(batch, met)?;
                let columns = |first: usize| (first..first + width).collect::<Vec<_>>();
                let old = RecordBatch::try_new(schema, batch.columns()[1..=width].to_vec())?;
                self.changes.push(ChangeBatch::retractions(old.clone()));
                if write.action == WriteAction::Delete {
                    (old, Some((batch, 1 + width)))
                } else {
                    let new = checks.apply(&batch.project(&columns(1 + width))?)?;
                    self.changes.push(ChangeBatch::insertions(new.clone()));
                    (new, Some((batch, 1 + 2 * width)))
                }
            }
        };
        self.count += new.num_rows() as u64;
        if write.returning.is_some() {
            self.written.push(match others {
                Some((batch, first)) => beside(&new, &batch, first)?,
                None => new,
            });
        }
        Ok(())
    }
}

/// The rows whose number, in the first column, did not come before.
fn first_of_each(batch: &RecordBatch, met: &mut HashSet<i64>) -> Result<RecordBatch> {
    let numbers = batch.column(0).as_primitive_opt::<Int64Type>();
    let numbers = numbers.ok_or_else(|| Error::Bug("the rows of a table have no numbers".into()))?;
    let keep: BooleanArray = numbers
        .values()
        .iter()
        .map(|number| Some(met.insert(*number)))
        .collect();
    if keep.true_count() == keep.len() {
        return Ok(batch.clone());
    }
    Ok(filter_record_batch(batch, &keep)?)
}

/// Rows of the table with the columns of `batch` from `first` on beside them.
fn beside(rows: &RecordBatch, batch: &RecordBatch, first: usize) -> Result<RecordBatch> {
    let schema = rows.schema();
    let batch_schema = batch.schema();
    let others = batch_schema.fields().iter().skip(first).cloned();
    let fields: Vec<Arc<Field>> = schema.fields().iter().cloned().chain(others).collect();
    let columns = rows.columns().iter().chain(&batch.columns()[first..]).cloned();
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.collect(),
    )?)
}
