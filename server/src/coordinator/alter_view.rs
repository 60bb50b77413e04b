//! ALTER STREAMING VIEW: pause and resume.

use std::sync::Arc;

use millpond_catalog::{Edit, ObjectKind};
use millpond_sql::plan::AlterView;
use millpond_sql::statement::AlterAction;

use super::{Shared, boot};
use crate::error::{Error, Result};

impl Shared {
    pub(super) fn alter_view(&self, alter: &AlterView) -> Result<String> {
        let catalog = self.catalog.read().clone();
        let object = catalog
            .get(alter.view)
            .expect("the planner looked the view up in this catalog");
        let mut object = object.as_ref().clone();
        let Some(view) = object.query_mut() else {
            return Err(Error::Bug(
                "something other than a view was planned as one".into(),
            ));
        };
        let pause = alter.action == AlterAction::Pause;
        view.paused = pause;
        let mut transaction = self.storage.transaction();
        transaction.put_object(object.id.0, boot::record(&object));
        transaction.commit()?;
        if pause {
            self.engine.pause(object.id)?;
        } else {
            self.engine.resume(object.id)?;
        }
        let tag = match &object.kind {
            ObjectKind::Sink(_) => "ALTER SINK",
            _ => "ALTER MATERIALIZED VIEW",
        };
        self.apply(Edit::Altered(Arc::new(object)));
        Ok(tag.into())
    }
}
