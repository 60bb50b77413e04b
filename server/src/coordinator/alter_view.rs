//! ALTER STREAMING VIEW and ALTER SINK: pause, resume, other options.

use std::sync::Arc;

use millpond_catalog::{Edit, Object, ObjectKind};
use millpond_sql::plan::{AlterView, AlterViewAction, CreateView};

use super::{Shared, boot, create_view};
use crate::error::{Error, Result};

impl Shared {
    pub(super) fn alter_view(&self, alter: AlterView) -> Result<String> {
        let catalog = self.catalog.read().clone();
        let object = catalog
            .get(alter.view)
            .expect("the planner looked the view up in this catalog");
        let tag = match &object.kind {
            ObjectKind::Sink(_) => "ALTER SINK",
            _ => "ALTER MATERIALIZED VIEW",
        };
        let object = match alter.action {
            AlterViewAction::Pause => self.hold(object, true)?,
            AlterViewAction::Resume => self.hold(object, false)?,
            AlterViewAction::Set(create) => self.set_options(object, *create)?,
        };
        self.apply(Edit::Altered(Arc::new(object)));
        Ok(tag.into())
    }

    fn hold(&self, object: &Object, pause: bool) -> Result<Object> {
        let mut object = object.clone();
        let Some(view) = object.query_mut() else {
            return Err(Error::Bug(
                "something other than a view was planned as one".into(),
            ));
        };
        view.paused = pause;
        self.log(&object)?;
        if pause {
            self.engine.pause(object.id)?;
        } else {
            self.engine.resume(object.id)?;
        }
        Ok(object)
    }

    /// The query goes on where it stands, with the options of `create`.
    fn set_options(&self, old: &Object, create: CreateView) -> Result<Object> {
        let mut object = create.object.with_id(old.id);
        let paused = old.query().is_some_and(|view| view.paused);
        if let Some(view) = object.query_mut() {
            view.paused = paused;
        }
        let Some(view) = object.query() else {
            return Err(Error::Bug("a view was planned as something else".into()));
        };
        self.check_query_name(&object, None)?;
        let dataflow = create_view::lower(view, &create.query)?;
        boot::check_record(self, &object, Some(old.id))?;
        self.log(&object)?;
        self.engine.reconfigure(&object, dataflow)?;
        Ok(object)
    }

    pub(super) fn log(&self, object: &Object) -> Result<()> {
        let mut transaction = self.storage.transaction();
        let comments = self.catalog.read().comments(object.id).cloned();
        transaction.put_object(object.id.0, boot::record(object, comments.as_ref()));
        Ok(transaction.commit()?)
    }
}
