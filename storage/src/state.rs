//! Operator state: per operator a base and the deltas after it, which add up.
//!
//! Value of a state record, numbers little-endian:
//! ```text
//! u8 1 = base, 0 = delta; u8 port; u64 epoch; payload (see `payload`)
//! ```
//! Records of one operator are ordered by the sequence number in their key, oldest first.

use std::sync::Arc;

use crate::change::ChangeBatch;
use crate::commit::Core;
use crate::error::{Error, Result};
use crate::ipc::ChangeReader;
use crate::layout;
use crate::payload::{Payload, Stored};
use crate::record;

/// Encoded size of an operator's state on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateSize {
    /// What the last full checkpoint wrote.
    pub base_bytes: u64,
    /// What was added since.
    pub delta_bytes: u64,
}

/// A batch of state as it was checkpointed.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredState {
    pub operator: String,
    pub port: u8,
    pub changes: ChangeBatch,
}

pub(crate) struct StateRecord<'a> {
    pub base: bool,
    pub port: u8,
    pub payload: Stored<'a>,
}

impl<'a> StateRecord<'a> {
    pub(crate) fn seal(key: &[u8], base: bool, port: u8, epoch: u64, payload: &Payload) -> Vec<u8> {
        let mut value = vec![u8::from(base), port];
        value.extend_from_slice(&epoch.to_le_bytes());
        payload.encode(&mut value);
        record::seal(key, &value)
    }

    pub(crate) fn parse(key: &[u8], record: &'a [u8]) -> Result<Self> {
        let value = record::open(key, record)?;
        let damaged = || Error::corrupt(layout::describe(key), "its content is not operator state");
        let (head, payload) = value.split_first_chunk::<10>().ok_or_else(damaged)?;
        let payload = Stored::parse(payload).ok_or_else(damaged)?;
        Ok(Self {
            base: head[0] == 1,
            port: head[1],
            payload,
        })
    }

    pub(crate) fn file_name(&self) -> Option<String> {
        match self.payload {
            Stored::File { name, .. } => Some(name.to_string()),
            Stored::Inline(_) => None,
        }
    }
}

/// Reads a query's state as it goes: operators in order of their names, each one's batches oldest first.
pub struct StateReader {
    core: Arc<Core>,
    /// Keys that are still to be read, last first.
    keys: Vec<Vec<u8>>,
    current: Option<(String, u8, ChangeReader)>,
}

impl StateReader {
    pub(crate) fn open(core: &Arc<Core>, query: u64) -> Result<Self> {
        let scan = core.store.scan(&layout::query_state_prefix(query));
        let mut keys = scan.map(|pair| Ok(pair?.0)).collect::<Result<Vec<_>>>()?;
        keys.reverse();
        Ok(Self {
            core: core.clone(),
            keys,
            current: None,
        })
    }

    fn advance(&mut self) -> Result<Option<StoredState>> {
        loop {
            if let Some((operator, port, reader)) = &mut self.current
                && let Some(changes) = reader.next()
            {
                return Ok(Some(StoredState {
                    operator: operator.clone(),
                    port: *port,
                    changes: changes?,
                }));
            }
            let Some(key) = self.keys.pop() else {
                return Ok(None);
            };
            let place = layout::describe(&key);
            let damaged = |what: &str| Error::corrupt(&place, what);
            let (_, operator, _) = layout::parse_state_key(&key)
                .ok_or_else(|| damaged("its key is not that of operator state"))?;
            let record = self
                .core
                .store
                .get(&key)?
                .ok_or_else(|| damaged("it was replaced while it was read"))?;
            let StateRecord { port, payload, .. } = StateRecord::parse(&key, &record)?;
            let reader = payload.open(&self.core.files)?.read(None, || place)?;
            self.current = Some((operator, port, reader));
        }
    }
}

impl Iterator for StateReader {
    type Item = Result<StoredState>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.advance();
        if result.is_err() {
            // Nothing sensible follows damage.
            self.keys.clear();
            self.current = None;
        }
        result.transpose()
    }
}

impl std::fmt::Debug for StateReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StateReader({} records to read)", self.keys.len())
    }
}
