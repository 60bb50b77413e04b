//! DROP of any kind of object.

use millpond_catalog::Edit;
use millpond_sql::plan::Drop;

use super::Shared;
use crate::error::Result;

impl Shared {
    /// Drops readers before what they read. Queries stop first, so that nothing is written after the log says it is gone.
    pub(super) fn drop(&self, drop: &Drop) -> Result<String> {
        let mut transaction = self.storage.transaction();
        for id in &drop.objects {
            self.forget(*id)?;
            transaction.delete_object(id.0);
        }
        transaction.commit()?;
        for id in &drop.objects {
            self.apply(Edit::Dropped(*id));
        }
        Ok(drop.tag.to_owned())
    }
}
