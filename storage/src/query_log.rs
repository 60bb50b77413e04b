//! Batch and commit records of streaming queries: what each epoch was to read, and that it happened.
//!
//! Both are opaque bytes keyed by query and epoch. A batch record is written before anything of its epoch is read, and never
//! changes; a commit record is part of the transaction that writes the epoch's results. Both stand in one log, so no commit
//! outlives a crash that the batch records before it do not.

use crate::commit::Core;
use crate::error::{Error, Result};
use crate::layout;
use crate::meta::Batch;
use crate::record;

/// Where a query stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryLog {
    /// The newest epoch that happened.
    pub last_commit: Option<(u64, Vec<u8>)>,
    /// The epoch after it (epoch 0 if none happened), if its batch record was written: to be run again as recorded.
    pub open_batch: Option<(u64, Vec<u8>)>,
}

/// When a batch record has to be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// When the call returns: something of the epoch leaves the server before its commit.
    Now,
    /// No later than what is committed next: until then nobody can see anything of the epoch.
    WithNextCommit,
}

/// Epoch and record, ascending.
pub(crate) type Records = Vec<(u64, Vec<u8>)>;

pub(crate) fn read(core: &Core, query: u64) -> Result<QueryLog> {
    let last_commit = records(core, &layout::commits_prefix(query), 0)?.pop();
    let next = last_commit.as_ref().map_or(0, |(epoch, _)| epoch + 1);
    let mut open = records(core, &layout::batches_prefix(query), next)?;
    if let Some((epoch, _)) = open.iter().find(|(epoch, _)| *epoch != next) {
        let place = layout::describe(&layout::batch_key(query, *epoch));
        return Err(Error::corrupt(
            place,
            format!("no commit record stands before epoch {epoch}"),
        ));
    }
    Ok(QueryLog {
        last_commit,
        open_batch: open.pop(),
    })
}

pub(crate) fn put_batch(core: &Core, query: u64, epoch: u64, record: &[u8]) -> Result<()> {
    check_batch(core, query, epoch, record)?;
    let key = layout::batch_key(query, epoch);
    let mut batch = Batch::default();
    batch.put(key.clone(), record::seal(&key, record));
    core.apply_unsynced(batch)
}

/// A batch record never changes.
pub(crate) fn check_batch(core: &Core, query: u64, epoch: u64, record: &[u8]) -> Result<()> {
    let key = layout::batch_key(query, epoch);
    match core.store.get(&key)? {
        Some(found) if record::open(&key, &found)? != record => Err(Error::Invalid(format!(
            "epoch {epoch} of query {query} was logged with another range already"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn commits(core: &Core, query: u64, from_epoch: u64) -> Result<Records> {
    records(core, &layout::commits_prefix(query), from_epoch)
}

pub(crate) fn batches(core: &Core, query: u64, from_epoch: u64) -> Result<Records> {
    records(core, &layout::batches_prefix(query), from_epoch)
}

fn records(core: &Core, prefix: &[u8], from_epoch: u64) -> Result<Records> {
    let mut records = Vec::new();
    for pair in core.store.scan(prefix) {
        let (key, value) = pair?;
        let epoch = layout::last_number(&key)
            .ok_or_else(|| Error::corrupt(layout::describe(&key), "its key has no epoch"))?;
        if epoch >= from_epoch {
            records.push((epoch, record::open(&key, &value)?.to_vec()));
        }
    }
    Ok(records)
}

/// Deletes records of epochs before `keep_from_epoch`; the newest commit stays, since it says where the query stands.
pub(crate) fn prune(core: &Core, query: u64, keep_from_epoch: u64) -> Result<()> {
    let (mut commits, all) = epochs_before(core, &layout::commits_prefix(query), keep_from_epoch)?;
    let newest = if all { commits.pop() } else { None };
    let keep_from = newest.unwrap_or(keep_from_epoch);
    let (batches, _) = epochs_before(core, &layout::batches_prefix(query), keep_from)?;
    if commits.is_empty() && batches.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::default();
    commits
        .iter()
        .for_each(|epoch| batch.delete(layout::commit_key(query, *epoch)));
    batches
        .iter()
        .for_each(|epoch| batch.delete(layout::batch_key(query, *epoch)));
    core.apply_unsynced(batch)
}

/// Epochs before the given one, ascending, and whether there are no others.
fn epochs_before(core: &Core, prefix: &[u8], before: u64) -> Result<(Vec<u64>, bool)> {
    let mut epochs = Vec::new();
    for pair in core.store.scan(prefix) {
        let epoch = layout::last_number(&pair?.0).unwrap_or_default();
        if epoch >= before {
            return Ok((epochs, false));
        }
        epochs.push(epoch);
    }
    Ok((epochs, true))
}
