//! Primary keys and UNIQUE: no two rows with one key, and what ON CONFLICT does about it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::{filter_record_batch, interleave_record_batch};
use arrow::datatypes::{Field, Schema};
use futures::StreamExt;
use millpond_catalog::{Key, Object};
use millpond_engine::oneoff::Readable;
use millpond_engine::read::ReadView;
use millpond_engine::table::keys::{KeyColumns, KeyIndex};
use millpond_sql::plan::{ConflictUpdate, OnConflict, Write};
use millpond_storage::ChangeBatch;
use parking_lot::Mutex;

use super::Effect;
use super::checks::{Checks, row_text};
use crate::error::{Error, Result, ValueError};
use crate::execute::Execution;
use crate::session::KeyCounts;

/// A key with what is known of its values: those that are committed, and what the transaction has done since.
struct KeyState<'a> {
    key: &'a Key,
    columns: Arc<KeyColumns>,
    index: Arc<Mutex<KeyIndex>>,
    counts: KeyCounts,
}

impl KeyState<'_> {
    fn is_held(&self, key: &[u8]) -> bool {
        i64::from(self.index.lock().contains(key)) + self.counts.of(key) > 0
    }
}

/// What becomes of the rows of an INSERT with ON CONFLICT.
#[derive(Default)]
struct Sorted {
    /// New keys.
    inserted: Vec<RecordBatch>,
    /// Rows whose key is there, by it.
    conflicting: HashMap<Box<[u8]>, (usize, usize)>,
}

impl Execution<'_> {
    async fn key_state<'a>(&mut self, write: &'a Write, key: &'a Key) -> Result<KeyState<'a>> {
        let engine = self.server.coordinator.engine().clone();
        let (table, positions) = (write.table, key.columns.clone());
        // Reads all rows the first time.
        let index = tokio::task::spawn_blocking(move || engine.keys(table, &positions)).await;
        let index = index.map_err(|e| super::stopped(&e))??;
        let columns = index.lock().columns.clone();
        let counts = self
            .session
            .writes
            .take_key_counts(write.table, &key.columns, &columns)?;
        Ok(KeyState {
            key,
            columns,
            index,
            counts,
        })
    }

    fn give_back(&mut self, write: &Write, state: KeyState<'_>) {
        self.session
            .writes
            .put_key_counts(write.table, &state.key.columns, state.counts);
    }

    /// Refuses changes after which two rows have one key.
    pub(super) async fn check_keys(
        &mut self,
        write: &Write,
        table: &Object,
        changes: &[ChangeBatch],
    ) -> Result<()> {
        for key in &write.keys {
            let state = self.key_state(write, key).await?;
            let mut own = KeyCounts::default();
            changes
                .iter()
                .try_for_each(|changes| own.add(changes, &state.columns))?;
            let violated = self.violated(table, &state, &own, changes);
            self.give_back(write, state);
            if let Some(error) = violated? {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The error for the first new row whose key another row has, too.
    fn violated(
        &self,
        table: &Object,
        state: &KeyState<'_>,
        own: &KeyCounts,
        changes: &[ChangeBatch],
    ) -> Result<Option<ValueError>> {
        let index = state.index.lock();
        for rows in changes.iter().filter(|changes| changes.weights().is_none()) {
            for (row, key) in state.columns.of(rows.rows())?.into_iter().enumerate() {
                let Some(key) = key else { continue };
                if i64::from(index.contains(&key)) + state.counts.of(&key) + own.of(&key) > 1 {
                    return self
                        .duplicate(table, state.key, &rows.rows().slice(row, 1))
                        .map(Some);
                }
            }
        }
        Ok(None)
    }

    fn duplicate(&self, table: &Object, key: &Key, row: &RecordBatch) -> Result<ValueError> {
        let names: Vec<&str> = key
            .columns
            .iter()
            .map(|i| table.columns[*i].name.as_str())
            .collect();
        let values = row_text(&row.project(&key.columns)?, 0, &self.session.style())?;
        Ok(ValueError::Unique {
            relation: table.name.name.clone(),
            schema: table.name.schema.clone(),
            constraint: key.name.clone(),
            key: format!("({})=({values})", names.join(", ")),
        })
    }

    /// The effect of an INSERT with ON CONFLICT of `rows`.
    pub(super) async fn resolve_conflicts(
        &mut self,
        write: &Write,
        on_conflict: &OnConflict,
        table: &Object,
        rows: Vec<RecordBatch>,
        view: &ReadView,
    ) -> Result<Effect> {
        let arbiters = write.keys.iter().enumerate();
        let arbiters = arbiters.filter(|(i, _)| on_conflict.key.is_none_or(|key| key == *i));
        let mut states = Vec::new();
        for (_, key) in arbiters {
            states.push(self.key_state(write, key).await?);
        }
        let sorted = sort(&rows, &states, on_conflict.update.is_some());
        let columns = states.first().map(|state| Arc::clone(&state.columns));
        for state in states {
            self.give_back(write, state);
        }
        let sorted = sorted?;
        let mut effect = Effect::default();
        for batch in sorted.inserted {
            effect.insert(batch);
        }
        if let (Some(update), Some(columns)) = (&on_conflict.update, columns)
            && !sorted.conflicting.is_empty()
        {
            let pairs = self
                .pairs(table, &columns, &rows, sorted.conflicting, view)
                .await?;
            self.update_conflicting(write, update, table, pairs, view, &mut effect)
                .await?;
        }
        Ok(effect)
    }

    /// The rows of the table that have the keys of conflicting rows, with those beside them.
    async fn pairs(
        &self,
        table: &Object,
        columns: &KeyColumns,
        rows: &[RecordBatch],
        mut conflicting: HashMap<Box<[u8]>, (usize, usize)>,
        view: &ReadView,
    ) -> Result<Vec<RecordBatch>> {
        let mut standing = self.reading(view.clone())?.scan(table.id, None)?;
        let excluded: Vec<&RecordBatch> = rows.iter().collect();
        let mut pairs = Vec::new();
        self.work
            .race(async {
                while let Some(batch) = standing.next().await {
                    let batch = batch?;
                    let (mut mask, mut picks) = (Vec::with_capacity(batch.num_rows()), Vec::new());
                    for key in columns.of(&batch)? {
                        let pick = key.and_then(|key| conflicting.remove(&key));
                        mask.push(Some(pick.is_some()));
                        picks.extend(pick);
                    }
                    if !picks.is_empty() {
                        let standing = filter_record_batch(&batch, &BooleanArray::from(mask))?;
                        pairs.push(beside(&standing, &interleave_record_batch(&excluded, &picks)?)?);
                    }
                }
                Ok(())
            })
            .await?;
        Ok(pairs)
    }

    async fn update_conflicting(
        &mut self,
        write: &Write,
        update: &ConflictUpdate,
        table: &Object,
        pairs: Vec<RecordBatch>,
        view: &ReadView,
        effect: &mut Effect,
    ) -> Result<()> {
        let width = table.columns.len();
        let mut view = view.clone();
        for (id, snapshot) in self.read(&update.reads)?.relations {
            view.relations.entry(id).or_insert(snapshot);
        }
        let reading = self.reading(view)?.with_written(pairs);
        let mut changed = self.start(update.query.clone(), reading);
        let style = self.session.style();
        let checks = Checks {
            table,
            rows: &write.checks,
            style: &style,
        };
        self.work
            .race(async {
                while let Some(batch) = changed.next().await {
                    let batch = batch?;
                    let columns = |first: usize| (first..first + width).collect::<Vec<_>>();
                    let old =
                        RecordBatch::try_new(table.schema(), batch.project(&columns(0))?.columns().to_vec())?;
                    effect.changes.push(ChangeBatch::retractions(old));
                    effect.insert(checks.apply(&batch.project(&columns(width))?)?);
                }
                Ok(())
            })
            .await
    }
}

/// Tells rows with new keys from those that conflict. With `update`, no two rows may have one key.
fn sort(rows: &[RecordBatch], states: &[KeyState<'_>], update: bool) -> Result<Sorted> {
    let mut sorted = Sorted::default();
    let mut seen: Vec<HashMap<Box<[u8]>, ()>> = states.iter().map(|_| HashMap::new()).collect();
    for (number, batch) in rows.iter().enumerate() {
        let keys = states.iter().map(|state| state.columns.of(batch));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let mut mask = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let mut new = true;
            for (i, state) in states.iter().enumerate() {
                let Some(key) = &keys[i][row] else { continue };
                let repeated = seen[i].contains_key(key);
                if repeated && update {
                    return Err(ValueError::ConflictTwice.into());
                }
                if repeated || state.is_held(key) {
                    new = false;
                    if update {
                        sorted.conflicting.insert(key.clone(), (number, row));
                    }
                }
            }
            if new || update {
                for (i, keys) in keys.iter().enumerate() {
                    if let Some(key) = &keys[row] {
                        seen[i].insert(key.clone(), ());
                    }
                }
            }
            mask.push(Some(new));
        }
        sorted
            .inserted
            .push(filter_record_batch(batch, &BooleanArray::from(mask))?);
    }
    Ok(sorted)
}

/// Rows of the table with as many others of it beside them.
fn beside(rows: &RecordBatch, others: &RecordBatch) -> Result<RecordBatch> {
    let (schema, others_schema) = (rows.schema(), others.schema());
    let others_fields = others_schema.fields().iter().enumerate();
    let others_fields = others_fields.map(|(i, field)| {
        let field = field.as_ref().clone().with_nullable(true);
        Arc::new(field.with_name(format!("other{i}")))
    });
    let fields: Vec<Arc<Field>> = schema.fields().iter().cloned().chain(others_fields).collect();
    let columns = rows.columns().iter().chain(others.columns()).cloned();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).map_err(Error::from)
}
