//! The steps of a group commit: check and translate, apply, sync, prepare, publish.

use std::collections::HashMap;

use super::{Append, Core, Operation, Relations, StateWrite};
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::layout::{self, EntryKey, RelationId};
use crate::meta::Batch;
use crate::payload::{Payload, Stored};
use crate::query_log;
use crate::record;
use crate::relation::{Discarded, Entry, EntryHead, NewEntry, Prepared, Relation, Swap};
use crate::state::{StateRecord, StateSize};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What happens in memory once a transaction is durable.
#[derive(Default)]
pub(super) struct Effects {
    entries: Vec<(Arc<Relation>, Vec<NewEntry>)>,
    swaps: Vec<Swap>,
    dropped: Vec<(u64, Relations)>,
    state: Vec<StateEffect>,
    /// Files that no record names any more.
    released: Vec<String>,
    object_id: u64,
}

struct StateEffect {
    query: u64,
    operator: String,
    replace: bool,
    bytes: u64,
}

/// Makes transactions durable, in order and with one sync.
pub(super) fn write_group(core: &Core, transactions: Vec<Vec<Operation>>) -> Vec<Result<Effects>> {
    // They may have queued up before an earlier group failed.
    let mut failure = core.check().err();
    let mut outcomes = Vec::with_capacity(transactions.len());
    for operations in transactions {
        let outcome = match &failure {
            Some(failure) => Err(Error::clone(failure)),
            None => stage(core, operations).and_then(|(batch, effects)| {
                core.apply_numbered(batch)
                    .map(|()| effects)
                    .inspect_err(|error| failure = Some(error.clone()))
            }),
        };
        outcomes.push(outcome);
    }
    if failure.is_none() && outcomes.iter().any(Result::is_ok) {
        failure = core.sync().err();
    }
    let Some(error) = failure else { return outcomes };
    core.poison(error.to_string());
    // Nobody knows which of the batches survive, so none becomes visible.
    outcomes
        .into_iter()
        .map(|outcome| outcome.and(Err(error.clone())))
        .collect()
}

/// Works what is durable into memory, shows it in one step, and answers each transaction.
pub(super) fn show_group(core: &Core, outcomes: Vec<Result<Effects>>) -> Vec<Result<()>> {
    let (effects, results): (Vec<_>, Vec<_>) = outcomes.into_iter().map(split).unzip();
    let effects = effects.into_iter().flatten().collect::<Vec<_>>();
    if effects.is_empty() {
        return results;
    }
    let shown = core.check().and_then(|()| show(core, effects));
    results
        .into_iter()
        .map(|result: Result<()>| result.and(shown.clone()))
        .collect()
}

fn split(outcome: Result<Effects>) -> (Option<Effects>, Result<()>) {
    match outcome {
        Ok(effects) => (Some(effects), Ok(())),
        Err(error) => (None, Err(error)),
    }
}

/// Checks a whole transaction before anything of it is noted, then translates it.
fn stage(core: &Core, operations: Vec<Operation>) -> Result<(Batch, Effects)> {
    check(core, &operations)?;
    let (mut batch, mut effects) = (Batch::default(), Effects::default());
    for operation in operations {
        match operation {
            Operation::PutObject { id, value } => {
                let key = layout::object_key(id);
                batch.put(key.clone(), record::seal(&key, &value));
                let next = id.saturating_add(1).max(core.next_object.load(Ordering::Relaxed));
                let key = layout::next_object_key();
                batch.put(key.clone(), record::seal(&key, &next.to_le_bytes()));
                effects.object_id = effects.object_id.max(next);
            }
            Operation::DropObject { id, open } => drop_object(core, id, open, &mut batch, &mut effects)?,
            Operation::Append(append) => stage_append(core, append, &mut batch, &mut effects),
            Operation::State(write) => stage_state(core, write, &mut batch, &mut effects)?,
            Operation::PutBatch { query, epoch, record } => {
                let key = layout::batch_key(query, epoch);
                batch.put(key.clone(), record::seal(&key, &record));
            }
            Operation::Put { key, value } => batch.put(key.clone(), record::seal(&key, &value)),
            Operation::Delete { key } => batch.delete(key),
            Operation::Swap(swap) => stage_swap(swap, &mut batch, &mut effects),
        }
    }
    Ok((batch, effects))
}

fn check(core: &Core, operations: &[Operation]) -> Result<()> {
    let mut cuts: HashMap<RelationId, Cut> = HashMap::new();
    for operation in operations {
        match operation {
            Operation::Append(Append { relation, cut, .. }) => {
                relation.check_not_dropped()?;
                let last = cuts.entry(relation.id()).or_insert_with(|| relation.staged_cut());
                if *cut < *last || *cut == Cut::ZERO {
                    let id = relation.id();
                    return Err(Error::Invalid(format!(
                        "cut {cut} for relation {id} is not after cut {last}"
                    )));
                }
                *last = *cut;
            }
            Operation::Swap(swap) => swap.relation.check_not_dropped()?,
            Operation::PutBatch { query, epoch, record } => {
                query_log::check_batch(core, *query, *epoch, record)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// From here on a record may name the file, whatever becomes of the commit.
fn keep(payload: &Payload) {
    if let Some(payload) = payload.file() {
        payload.file.keep();
    }
}

fn stage_append(core: &Core, append: Append, batch: &mut Batch, effects: &mut Effects) {
    let Append {
        relation,
        cut,
        rows,
        weight,
        payload,
        changes,
    } = append;
    keep(&payload);
    relation.stage_cut(cut);
    let entry_key = EntryKey {
        sequence: core.next_sequence(),
        piece: 0,
    };
    let key = layout::log_key(relation.id(), entry_key);
    let head = EntryHead {
        first: cut,
        last: cut,
        rows,
        weight,
    };
    batch.put(key.clone(), head.record(&key, &payload));
    let new = NewEntry {
        entry: Entry::new(entry_key, head, &payload),
        changes,
    };
    match effects
        .entries
        .iter_mut()
        .find(|(known, _)| Arc::ptr_eq(known, &relation))
    {
        Some((_, entries)) => entries.push(new),
        None => effects.entries.push((relation, vec![new])),
    }
}

fn stage_state(core: &Core, write: StateWrite, batch: &mut Batch, effects: &mut Effects) -> Result<()> {
    let StateWrite {
        query,
        operator,
        epoch,
        replace,
        ports,
    } = write;
    if replace {
        for pair in core.store.scan(&layout::operator_state_prefix(query, &operator)) {
            let (key, value) = pair?;
            effects
                .released
                .extend(StateRecord::parse(&key, &value)?.file_name());
            batch.delete(key);
        }
    }
    let mut bytes = 0;
    for (port, payload) in ports {
        keep(&payload);
        bytes += payload.bytes();
        let key = layout::state_key(query, &operator, core.next_sequence());
        batch.put(
            key.clone(),
            StateRecord::seal(&key, replace, port, epoch, &payload),
        );
    }
    effects.state.push(StateEffect {
        query,
        operator,
        replace,
        bytes,
    });
    Ok(())
}

fn stage_swap(swap: Swap, batch: &mut Batch, effects: &mut Effects) {
    let id = swap.relation.id();
    for entry in &swap.old {
        batch.delete(layout::log_key(id, entry.key));
        effects
            .released
            .extend(entry.file.as_ref().map(|file| file.file.name().to_string()));
    }
    for (entry, payload) in &swap.new {
        keep(payload);
        let key = layout::log_key(id, entry.key);
        batch.put(key.clone(), entry.head.record(&key, payload));
    }
    effects.swaps.push(swap);
}

/// Deletes everything of an object. A damaged record does not stop it: that is how one gets rid of it.
fn drop_object(
    core: &Core,
    id: u64,
    open: Relations,
    batch: &mut Batch,
    effects: &mut Effects,
) -> Result<()> {
    for prefix in layout::owned_prefixes(id) {
        // The transaction itself may have written some.
        let staged = batch.changes.iter().filter(|(key, _)| key.starts_with(&prefix));
        let staged = staged
            .filter_map(|(key, value)| Some(Ok((key.clone(), value.clone()?))))
            .collect::<Vec<_>>();
        for pair in core.store.scan(&prefix).chain(staged) {
            let (key, value) = pair?;
            effects
                .released
                .extend(file_named_by(&key, &value).ok().flatten());
            batch.delete(key);
        }
    }
    open.lock()
        .values()
        .filter(|relation| relation.id().object == id)
        .for_each(|relation| relation.mark_dropped());
    effects.dropped.push((id, open));
    Ok(())
}

/// The file that holds the payload of a log or state record, if one does.
pub(crate) fn file_named_by(key: &[u8], value: &[u8]) -> Result<Option<String>> {
    if key.starts_with(&layout::logs_prefix()) {
        let (_, stored) = EntryHead::parse(key, value)?;
        return Ok(match stored {
            Stored::File { name, .. } => Some(name.to_string()),
            Stored::Inline(_) => None,
        });
    }
    if key.starts_with(&layout::states_prefix()) {
        return Ok(StateRecord::parse(key, value)?.file_name());
    }
    Ok(None)
}

fn show(core: &Core, group: Vec<Effects>) -> Result<()> {
    enum Step {
        Publish(Arc<Relation>, Prepared),
        Swap(Swap, Option<Arc<crate::relation::Snapshot>>),
        Drop(u64, Relations),
    }
    let mut steps = Vec::new();
    let mut released = Vec::new();
    let mut discarded = Discarded::new();
    for effects in group {
        for (relation, entries) in effects.entries {
            let prepared = relation.prepare(entries).map_err(|error| {
                core.poison(format!(
                    "relation {} could not be brought up to date: {error}",
                    relation.id()
                ))
            })?;
            steps.push(Step::Publish(relation, prepared));
        }
        for swap in effects.swaps {
            let snapshot = swap.relation.prepare_swap(&swap);
            steps.push(Step::Swap(swap, snapshot));
        }
        effects
            .state
            .into_iter()
            .for_each(|effect| note_state(core, effect));
        steps.extend(effects.dropped.into_iter().map(|(id, open)| Step::Drop(id, open)));
        released.extend(effects.released);
        core.next_object.fetch_max(effects.object_id, Ordering::Relaxed);
    }
    {
        let _exclusive = core.visible.write();
        for step in &mut steps {
            match step {
                Step::Publish(relation, prepared) => {
                    discarded.extend(relation.publish(std::mem::take(prepared)));
                }
                Step::Swap(swap, snapshot) => {
                    discarded.extend(swap.relation.publish_swap(swap, snapshot.take()));
                }
                Step::Drop(id, open) => forget(core, *id, open),
            }
        }
    }
    // Freed while nobody waits.
    drop(discarded);
    drop(steps);
    released.iter().for_each(|name| core.files.release(name));
    Ok(())
}

fn note_state(core: &Core, effect: StateEffect) {
    let mut sizes = core.state_sizes.lock();
    let size = sizes.entry((effect.query, effect.operator)).or_default();
    if effect.replace {
        *size = StateSize {
            base_bytes: effect.bytes,
            delta_bytes: 0,
        };
    } else {
        size.delta_bytes += effect.bytes;
    }
}

fn forget(core: &Core, object: u64, open: &Relations) {
    open.lock().retain(|id, relation| {
        if id.object == object {
            relation.clear();
        }
        id.object != object
    });
    core.state_sizes.lock().retain(|(query, _), _| *query != object);
}
