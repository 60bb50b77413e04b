//! The face of the crate; bodies follow.
#![allow(unused_variables, dead_code, clippy::all)]

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::error::{Error, Result};
use crate::{ChangeBatch, Cut};

fn soon<T>() -> Result<T> {
    Err(Error::Invalid(
        "this part of storage is being written".to_string(),
    ))
}

#[derive(Debug, Clone)]
pub struct Storage;
/// While it lives, no transaction becomes visible: snapshots taken meanwhile belong together. Hold it briefly.
#[derive(Debug)]
pub struct Freeze<'a>(std::marker::PhantomData<&'a ()>);

/// An entry of the DDL log.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ObjectRecord {
    pub sql: String,
    pub attributes: serde_json::Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    Rows,
    BadRows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelationId {
    pub object: u64,
    pub part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationOptions {
    pub append_only: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryLog {
    pub last_commit: Option<(u64, Vec<u8>)>,
    /// The batch record of the epoch after the last commit, if it was logged.
    pub open_batch: Option<(u64, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateSize {
    pub base_bytes: u64,
    pub delta_bytes: u64,
}

/// A batch of operator state as it was checkpointed.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredState {
    pub operator: String,
    pub port: u8,
    pub changes: ChangeBatch,
}

impl Storage {
    pub fn open(dir: &Path) -> Result<Storage> {
        soon()
    }
    /// The DDL log, ids ascending.
    pub fn objects(&self) -> Result<Vec<(u64, ObjectRecord)>> {
        soon()
    }
    /// Allocates an id that was never used; also not after a restart once an object with it was committed.
    pub fn next_object_id(&self) -> u64 {
        0
    }
    pub fn relation(
        &self,
        id: RelationId,
        schema: SchemaRef,
        options: RelationOptions,
    ) -> Result<Arc<Relation>> {
        soon()
    }
    pub fn transaction(&self) -> Transaction {
        Transaction
    }
    pub fn put_batch(&self, query: u64, epoch: u64, record: Vec<u8>) -> Result<()> {
        soon()
    }
    pub fn query_log(&self, query: u64) -> Result<QueryLog> {
        soon()
    }
    pub fn commits(&self, query: u64, from_epoch: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        soon()
    }
    pub fn batches(&self, query: u64, from_epoch: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        soon()
    }
    /// The newest commit is kept always.
    pub fn prune_query_log(&self, query: u64, keep_from_epoch: u64) -> Result<()> {
        soon()
    }
    /// Oldest first per operator, read as the iterator goes.
    pub fn state(&self, query: u64) -> Result<StateReader> {
        soon()
    }
    pub fn state_size(&self, query: u64, operator: &str) -> StateSize {
        StateSize::default()
    }
    pub fn notes(&self, owner: u64) -> Notes {
        Notes
    }
    pub fn freeze(&self) -> Freeze<'_> {
        Freeze(std::marker::PhantomData)
    }
}

#[derive(Debug)]
pub struct StateReader;
impl Iterator for StateReader {
    type Item = Result<StoredState>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

/// Dropping it without commit leaves nothing behind.
#[derive(Debug)]
pub struct Transaction;
impl Transaction {
    pub fn put_object(&mut self, id: u64, record: ObjectRecord) {}
    pub fn delete_object(&mut self, id: u64) {}
    pub fn append(&mut self, relation: &Arc<Relation>, cut: Cut, changes: Vec<ChangeBatch>) -> Result<()> {
        soon()
    }
    pub fn put_commit(&mut self, query: u64, epoch: u64, record: Vec<u8>) {}
    pub fn add_state(
        &mut self,
        query: u64,
        operator: &str,
        epoch: u64,
        state: Vec<(u8, ChangeBatch)>,
    ) -> Result<()> {
        soon()
    }
    pub fn replace_state(
        &mut self,
        query: u64,
        operator: &str,
        epoch: u64,
        state: Vec<(u8, ChangeBatch)>,
    ) -> Result<()> {
        soon()
    }
    pub fn put_note(&mut self, owner: u64, key: &str, value: Vec<u8>) {}
    pub fn delete_note(&mut self, owner: u64, key: &str) {}
    pub fn commit(self) -> Result<()> {
        soon()
    }
}

#[derive(Debug, Clone)]
pub struct Notes;
impl Notes {
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        soon()
    }
    pub fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
        soon()
    }
    pub fn put(&self, entries: Vec<(String, Vec<u8>)>) -> Result<()> {
        soon()
    }
    pub fn delete(&self, keys: Vec<String>) -> Result<()> {
        soon()
    }
}

#[derive(Debug)]
pub struct Relation;
impl Relation {
    pub fn id(&self) -> RelationId {
        RelationId {
            object: 0,
            part: Part::Rows,
        }
    }
    pub fn schema(&self) -> SchemaRef {
        Arc::new(arrow::datatypes::Schema::empty())
    }
    pub fn append_only(&self) -> bool {
        false
    }
    /// The latest committed state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(Snapshot)
    }
    /// The state as of the end of `cut`; `None` if that version is no longer kept.
    pub fn snapshot_at(&self, cut: Cut) -> Option<Arc<Snapshot>> {
        None
    }
    /// Entries with `after < cut <= to`, oldest first.
    pub fn changes(&self, after: Cut, to: Cut) -> Result<Vec<LogEntry>> {
        soon()
    }
    pub fn last_cut(&self) -> Cut {
        Cut::ZERO
    }
    /// Entries up to this cut may have been summed: `changes` works from here on.
    pub fn summed_to(&self) -> Cut {
        Cut::ZERO
    }
    pub fn retain_versions(&self, from: Cut) {}
    pub fn compact(&self, all_readers_past: Cut) -> Result<()> {
        soon()
    }
}

#[derive(Debug, Clone)]
pub struct LogEntry {
    pub cut: Cut,
    /// Physical rows, not the sum of weights.
    pub rows: u64,
    pub bytes: u64,
}
impl LogEntry {
    pub fn read(&self) -> Result<Vec<ChangeBatch>> {
        soon()
    }
}

#[derive(Debug)]
pub struct Snapshot;
impl Snapshot {
    pub fn schema(&self) -> SchemaRef {
        Arc::new(arrow::datatypes::Schema::empty())
    }
    pub fn num_rows(&self) -> u64 {
        0
    }
    /// Each row as often as its weight.
    pub fn scan(&self) -> Box<dyn Iterator<Item = Result<RecordBatch>> + Send> {
        Box::new(std::iter::empty())
    }
    /// The same rows once each, with weights.
    pub fn scan_changes(&self) -> Box<dyn Iterator<Item = Result<ChangeBatch>> + Send> {
        Box::new(std::iter::empty())
    }
}

/// Sums equal rows over all batches and drops what cancels: NULLs are equal, -0.0 = 0.0, all NaN are equal.
pub fn consolidate(changes: &[ChangeBatch]) -> Result<Option<ChangeBatch>> {
    soon()
}
