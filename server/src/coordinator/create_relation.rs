//! CREATE TABLE, CREATE STREAM, CREATE SOURCE.

use std::sync::Arc;

use millpond_catalog::{Edit, Object, ObjectId, ObjectKind, Source};
use millpond_sql::plan::CreateRelation;

use super::{Shared, boot};
use crate::error::Result;

impl Shared {
    pub(super) fn create_relation(&self, create: CreateRelation) -> Result<(String, ObjectId)> {
        let object = create.object.with_id(ObjectId(self.storage.next_object_id()));
        if let ObjectKind::Source(source) = &object.kind {
            millpond_connectors::validate(&source.connector, &source.options, &object.columns)?;
        }
        let id = object.id;
        let tag = format!("CREATE {}", object.kind_name().to_uppercase());
        self.replace(create.replaces, object, |object| match &object.kind {
            ObjectKind::Source(source) => self.open_source(object, source),
            ObjectKind::PlainView(_) => Ok(()),
            ObjectKind::Table(_) | ObjectKind::View(_) | ObjectKind::Sink(_) => {
                Ok(self.engine.add_table(object)?)
            }
        })?;
        Ok((tag, id))
    }

    /// Opens the connector of a source and makes it known to the engine.
    pub(super) fn open_source(&self, object: &Object, source: &Source) -> Result<()> {
        let context = self.engine.source_context(object.id);
        let opened =
            millpond_connectors::open_source(&source.connector, &source.options, &object.columns, context)?;
        Ok(self.engine.add_source(object, opened)?)
    }

    /// Logs a new object, in the same commit dropping the one it replaces, then applies and starts it.
    pub(super) fn replace(
        &self,
        replaces: Option<ObjectId>,
        object: Object,
        start: impl FnOnce(&Object) -> Result<()>,
    ) -> Result<()> {
        boot::check_record(self, &object, replaces)?;
        if let Some(old) = replaces {
            self.forget(old)?;
        }
        let mut transaction = self.storage.transaction();
        if let Some(old) = replaces {
            transaction.delete_object(old.0);
        }
        transaction.put_object(object.id.0, boot::record(&object, None));
        transaction.commit()?;
        if let Some(old) = replaces {
            self.apply(Edit::Dropped(old));
        }
        if let Err(error) = start(&object) {
            // It must not be started again with the server.
            let mut transaction = self.storage.transaction();
            transaction.delete_object(object.id.0);
            transaction.commit()?;
            return Err(error);
        }
        self.apply(Edit::Created(Arc::new(object)));
        Ok(())
    }

    /// Takes an object away from the engine, if it knows it.
    pub(super) fn forget(&self, id: ObjectId) -> Result<()> {
        let catalog = self.catalog.read().clone();
        match catalog.get(id).is_some_and(|object| object.is_stored()) {
            true => Ok(self.engine.remove(id)?),
            false => Ok(()),
        }
    }

    /// Makes an edit visible to everything planned from now on.
    pub(super) fn apply(&self, edit: Edit) {
        let mut current = self.catalog.write();
        let mut catalog = current.as_ref().clone();
        catalog.apply(edit);
        *current = Arc::new(catalog);
    }
}
