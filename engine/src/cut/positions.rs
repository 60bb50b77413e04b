//! Where a source stands at each cut.
//!
//! A position is noted before any batch record that uses it is written, and a note is durable no later than the next
//! synced write; so after a crash every cut that a query was on its way to still says where its sources end.

use std::collections::BTreeMap;
use std::sync::Arc;

use millpond_storage::{Cut, Notes};

use crate::error::{Error, Result};
use crate::source::{Position, Source};

/// Apart from the connector's own notes by a character that no connector uses.
const PREFIX: &str = "@cut/";

pub(crate) struct Positions {
    pub(crate) source: Arc<dyn Source>,
    notes: Notes,
    /// From the cut on, until the next one.
    moved: BTreeMap<Cut, Position>,
}

impl Positions {
    pub(crate) fn recover(source: Arc<dyn Source>, notes: Notes) -> Result<Positions> {
        let mut moved = BTreeMap::new();
        for (key, value) in notes.scan(PREFIX)? {
            let damaged = || Error::Bug(format!("the noted position {key} cannot be read"));
            let cut = key[PREFIX.len()..].parse().map_err(|_| damaged())?;
            moved.insert(Cut(cut), serde_json::from_slice(&value).map_err(|_| damaged())?);
        }
        Ok(Positions { source, notes, moved })
    }

    pub(crate) fn at(&self, cut: Cut) -> Position {
        match self.moved.range(..=cut).next_back() {
            Some((_, position)) => position.clone(),
            None => self.source.start(),
        }
    }

    pub(crate) fn first_change_after(&self, cut: Cut) -> Option<Cut> {
        self.moved.range(cut.next()..).next().map(|(cut, _)| *cut)
    }

    /// The least cut from which on the source has reached `target`.
    pub(crate) fn cut_reaching(&self, target: &Position) -> Option<Cut> {
        if self.source.reached(&self.source.start(), target) {
            return Some(Cut::ZERO);
        }
        self.moved
            .iter()
            .find(|(_, position)| self.source.reached(position, target))
            .map(|(cut, _)| *cut)
    }

    pub(crate) fn record(&mut self, cut: Cut, position: Position) -> Result<()> {
        let value = serde_json::to_vec(&position).map_err(|error| Error::Bug(error.to_string()))?;
        self.notes.put(vec![(key(cut), value)])?;
        self.moved.insert(cut, position);
        Ok(())
    }

    /// Forgets what only readers before `floor` would ask for.
    pub(crate) fn prune(&mut self, floor: Cut) -> Result<()> {
        let Some((&keep, _)) = self.moved.range(..=floor).next_back() else {
            return Ok(());
        };
        let kept = self.moved.split_off(&keep);
        let gone: Vec<String> = std::mem::replace(&mut self.moved, kept)
            .into_keys()
            .map(key)
            .collect();
        if !gone.is_empty() {
            self.notes.delete(gone)?;
        }
        Ok(())
    }
}

fn key(cut: Cut) -> String {
    format!("{PREFIX}{:020}", cut.0)
}
