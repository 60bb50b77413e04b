//! Schemas, indexes, comments and new names: entries of the DDL log beside the relations.

use std::sync::Arc;

use millpond_catalog::{Comments, Edit, Object, ObjectId};
use millpond_sql::plan::{CatalogChange, Drop};
use millpond_sql::{PlanContext, plan_object};
use millpond_storage::ObjectRecord;

use super::{Shared, boot};
use crate::error::{Error, Result};
use crate::relations::ServerRelations;

impl Shared {
    pub(super) fn change_definition(&self, change: CatalogChange) -> Result<String> {
        let tag = change.tag().to_owned();
        match change {
            CatalogChange::CreateSchema(name) => {
                let id = ObjectId(self.storage.next_object_id());
                self.put(id, boot::schema_record(&name, None))?;
                self.apply(Edit::SchemaCreated(id, name));
            }
            CatalogChange::DropSchemas { names, objects } => {
                self.drop(&Drop {
                    objects,
                    tag: "DROP SCHEMA",
                })?;
                let catalog = self.catalog.read().clone();
                let mut transaction = self.storage.transaction();
                for id in names.iter().filter_map(|name| catalog.schema(name)) {
                    transaction.delete_object(id.0);
                }
                transaction.commit()?;
                for name in names {
                    self.apply(Edit::SchemaDropped(name));
                }
            }
            CatalogChange::CreateIndex(draft) => {
                let index = draft.with_id(ObjectId(self.storage.next_object_id()));
                self.put(index.id, boot::index_record(&index, None))?;
                self.apply(Edit::IndexCreated(Arc::new(index)));
            }
            CatalogChange::DropIndexes(ids) => {
                let mut transaction = self.storage.transaction();
                for id in &ids {
                    transaction.delete_object(id.0);
                }
                transaction.commit()?;
                for id in ids {
                    self.apply(Edit::IndexDropped(id));
                }
            }
            CatalogChange::Comment { id, column, text } => self.comment(id, column, text)?,
            CatalogChange::Rename { id, create_sql, .. } => self.rename(id, &create_sql)?,
        }
        Ok(tag)
    }

    fn put(&self, id: ObjectId, record: ObjectRecord) -> Result<()> {
        let mut transaction = self.storage.transaction();
        transaction.put_object(id.0, record);
        Ok(transaction.commit()?)
    }

    fn comment(&self, id: ObjectId, column: u32, text: Option<String>) -> Result<()> {
        let catalog = self.catalog.read().clone();
        let mut comments = catalog.comments(id).cloned().unwrap_or_default();
        match text {
            Some(text) => comments.insert(column, text),
            None => comments.remove(&column),
        };
        let record = if let Some(object) = catalog.get(id) {
            boot::record(object, Some(&comments))
        } else if let Some(index) = catalog.index(id) {
            boot::index_record(index, Some(&comments))
        } else if let Some((name, _)) = catalog.schemas().find(|(_, schema)| *schema == id) {
            boot::schema_record(name, Some(&comments))
        } else {
            return Err(Error::Bug("a comment was planned for nothing".into()));
        };
        self.put(id, record)?;
        self.apply(Edit::Commented(id, comments));
        Ok(())
    }

    /// Plans the text of the object under its new name, as a restart will.
    fn rename(&self, id: ObjectId, create_sql: &str) -> Result<()> {
        let mut catalog = self.catalog.read().as_ref().clone();
        let Some(old) = catalog.get(id).cloned() else {
            return Err(Error::Bug("a new name was planned for nothing".into()));
        };
        let comments: Option<Comments> = catalog.comments(id).cloned();
        catalog.apply(Edit::Dropped(id));
        let catalog = Arc::new(catalog);
        let relations = ServerRelations::background(self.engine.clone(), catalog.clone());
        let settings = boot::settings_for(&old.name.schema);
        let context = PlanContext {
            catalog: &catalog,
            settings: &settings,
            relations: &relations,
            parameter_types: &[],
        };
        let (mut object, _) = plan_object(create_sql, id, &context)?;
        if object.columns != old.columns {
            return Err(Error::Bug(format!(
                "the object would be another one under its new name: {create_sql}"
            )));
        }
        carry_over(&old, &mut object);
        self.put(id, boot::record(&object, comments.as_ref()))?;
        self.apply(Edit::Altered(Arc::new(object)));
        Ok(())
    }
}

/// What the text of an object does not say.
fn carry_over(old: &Object, new: &mut Object) {
    if let (Some(old), Some(new)) = (old.query(), new.query_mut()) {
        new.paused = old.paused;
    }
}
