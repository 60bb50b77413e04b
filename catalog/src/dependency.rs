//! Who reads whom: what a drop takes with it, and in which order objects start.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Catalog, Error, Object, ObjectId, Result};

impl Catalog {
    /// Objects that read `id`, directly or through others, nearest first and without repeats.
    pub fn dependents(&self, id: ObjectId) -> Vec<Arc<Object>> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([id]);
        let mut frontier = vec![id];
        while !frontier.is_empty() {
            let next: Vec<_> = self
                .objects()
                .filter(|o| !seen.contains(&o.id) && o.reads.iter().any(|r| frontier.contains(r)))
                .cloned()
                .collect();
            frontier = next.iter().map(|o| o.id).collect();
            seen.extend(&frontier);
            found.extend(next);
        }
        found
    }

    /// The ids to drop for `DROP .. id`, readers before what they read.
    ///
    /// # Errors
    /// [`Error::HasDependents`] when something reads `id` and `cascade` is not given.
    pub fn plan_drop(&self, id: ObjectId, cascade: bool) -> Result<Vec<ObjectId>> {
        let dependents = self.dependents(id);
        if !dependents.is_empty() && !cascade {
            let object = self
                .get(id)
                .expect("the caller looked the object up in this catalog");
            return Err(Error::HasDependents {
                kind: object.kind_name(),
                name: object.name.clone(),
                dependents: dependents.iter().map(|o| o.name.clone()).collect(),
            });
        }
        // An object is created after everything it reads, so descending ids put readers first.
        let mut ids: Vec<_> = dependents.iter().map(|o| o.id).chain([id]).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }
}
