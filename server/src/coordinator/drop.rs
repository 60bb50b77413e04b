//! DROP of any kind of object.

use millpond_catalog::{Edit, ObjectId};
use millpond_sql::plan::Drop;

use super::Shared;
use crate::error::Result;

impl Shared {
    /// Drops readers before what they read. Queries stop first, so that nothing is written after the log says it is gone.
    pub(super) fn drop(&self, drop: &Drop) -> Result<String> {
        let catalog = self.catalog.read().clone();
        let indexes = drop.objects.iter().flat_map(|id| catalog.indexes_of(*id));
        let indexes: Vec<_> = indexes.map(|index| index.id).collect();
        let mut transaction = self.storage.transaction();
        for id in &drop.objects {
            self.forget(*id)?;
            transaction.delete_object(id.0);
        }
        for id in &indexes {
            transaction.delete_object(id.0);
        }
        transaction.commit()?;
        for id in indexes {
            self.apply(Edit::IndexDropped(id));
        }
        for id in &drop.objects {
            self.apply(Edit::Dropped(*id));
        }
        Ok(drop.tag.to_owned())
    }

    /// Drops what is still there and read by nothing.
    pub(super) fn undo(&self, created: &[ObjectId]) -> Result<()> {
        for id in created {
            let catalog = self.catalog.read().clone();
            if catalog.get(*id).is_none() || !catalog.dependents(*id).is_empty() {
                continue;
            }
            self.drop(&Drop {
                objects: vec![*id],
                tag: "ROLLBACK",
            })?;
        }
        Ok(())
    }
}
