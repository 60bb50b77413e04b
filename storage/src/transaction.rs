//! Transactions: everything that must happen together.
//!
//! Rows are encoded as they are added, and large ones written and synced to files, by the calling thread. `commit` then
//! makes all of it durable in one atomic step and shows it in the relations' snapshots in another. A transaction that is
//! dropped leaves nothing behind.

use std::collections::HashSet;
use std::sync::Arc;

use crate::change::ChangeBatch;
use crate::commit::{self, Append, Core, Operation, Relations, StateWrite};
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::layout;
use crate::object_log::ObjectRecord;
use crate::payload::Payload;
use crate::relation::{LAZY_BYTES, Relation, rows, weight, write_entry};

/// Changes that become durable and visible together.
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction {
    core: Arc<Core>,
    open: Relations,
    operations: Vec<Operation>,
    /// Operators whose state was written.
    state: HashSet<(u64, String)>,
}

impl Transaction {
    pub(crate) fn new(core: Arc<Core>, open: Relations) -> Self {
        Self {
            core,
            open,
            operations: Vec::new(),
            state: HashSet::new(),
        }
    }

    /// Adds an entry to the DDL log, or replaces it.
    pub fn put_object(&mut self, id: u64, record: ObjectRecord) {
        self.operations.push(Operation::PutObject {
            id,
            value: record.encode(),
        });
    }

    /// Deletes the entry and everything that belongs to the object: relations, query log, state, notes.
    pub fn delete_object(&mut self, id: u64) {
        self.operations.push(Operation::DropObject {
            id,
            open: self.open.clone(),
        });
    }

    /// Adds an entry to the relation's log. Cuts never decrease within a relation; several entries may have one cut. No
    /// entry comes of no rows.
    pub fn append(&mut self, relation: &Arc<Relation>, cut: Cut, changes: Vec<ChangeBatch>) -> Result<()> {
        let changes = changes
            .iter()
            .filter(|changes| !changes.is_empty())
            .map(|changes| relation.accept(changes))
            .collect::<Result<Vec<_>>>()?;
        if changes.is_empty() {
            return Ok(());
        }
        self.core.check()?;
        let payload = write_entry(relation, &changes, cut, cut)?;
        let lazy = relation.append_only() && payload.file().is_some_and(|file| file.bytes >= LAZY_BYTES);
        self.operations.push(Operation::Append(Append {
            relation: relation.clone(),
            cut,
            rows: rows(&changes),
            weight: weight(&changes),
            payload,
            changes: (!lazy).then(|| Arc::new(changes)),
        }));
        Ok(())
    }

    /// The commit record of an epoch: its presence says that the epoch happened.
    pub fn put_commit(&mut self, query: u64, epoch: u64, record: Vec<u8>) {
        self.operations.push(Operation::Put {
            key: layout::commit_key(query, epoch),
            value: record,
        });
    }

    /// Adds to an operator's state, per port. One call per operator and transaction.
    pub fn add_state(
        &mut self,
        query: u64,
        operator: &str,
        epoch: u64,
        state: Vec<(u8, ChangeBatch)>,
    ) -> Result<()> {
        self.write_state(query, operator, epoch, state, false)
    }

    /// Writes an operator's whole state, which stands for all that was added before.
    pub fn replace_state(
        &mut self,
        query: u64,
        operator: &str,
        epoch: u64,
        state: Vec<(u8, ChangeBatch)>,
    ) -> Result<()> {
        self.write_state(query, operator, epoch, state, true)
    }

    fn write_state(
        &mut self,
        query: u64,
        operator: &str,
        epoch: u64,
        state: Vec<(u8, ChangeBatch)>,
        replace: bool,
    ) -> Result<()> {
        if !self.state.insert((query, operator.to_string())) {
            return Err(Error::Invalid(format!(
                "state of operator {operator} is written twice in one transaction"
            )));
        }
        self.core.check()?;
        // Batches of one port and schema, such as those of several workers, share a record.
        let mut groups: Vec<(u8, Vec<ChangeBatch>)> = Vec::new();
        for (port, changes) in state.into_iter().filter(|(_, changes)| !changes.is_empty()) {
            let known = groups
                .iter_mut()
                .find(|(p, group)| *p == port && group[0].schema() == changes.schema());
            match known {
                Some((_, group)) => group.push(changes),
                None => groups.push((port, vec![changes])),
            }
        }
        let mut ports = Vec::new();
        for (port, group) in groups {
            let name = |number| layout::state_file(query, epoch, number);
            let written = Payload::write(&self.core.files, &group[0].schema(), &group, name);
            ports.push((port, self.core.note_failure(written)?));
        }
        let operator = operator.to_string();
        self.operations.push(Operation::State(StateWrite {
            query,
            operator,
            epoch,
            replace,
            ports,
        }));
        Ok(())
    }

    /// A note that is written with the rest.
    pub fn put_note(&mut self, owner: u64, name: &str, value: Vec<u8>) {
        self.operations.push(Operation::Put {
            key: layout::note_key(owner, name),
            value,
        });
    }

    pub fn delete_note(&mut self, owner: u64, name: &str) {
        self.operations.push(Operation::Delete {
            key: layout::note_key(owner, name),
        });
    }

    /// Returns when everything is durable and visible. On an error nothing is visible; unless the error says that the
    /// storage takes no more writes, nothing happened at all.
    pub fn commit(self) -> Result<()> {
        commit::submit(&self.core, self.operations)
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction({} operations)", self.operations.len())
    }
}
