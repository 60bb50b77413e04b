//! The catalog as a value: cheap to clone, read without locks, changed by edits.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Edit, Error, Index, Object, ObjectId, ObjectName, Result};

/// All objects, by id and by name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    objects: BTreeMap<ObjectId, Arc<Object>>,
    names: BTreeMap<ObjectName, ObjectId>,
    /// Those that users created.
    schemas: BTreeMap<String, ObjectId>,
    indexes: BTreeMap<ObjectId, Arc<Index>>,
    comments: BTreeMap<ObjectId, Comments>,
}

/// Comments on an object and its columns: 0 is the object, the columns follow.
pub type Comments = BTreeMap<u32, String>;

impl Catalog {
    /// Schemas that users created, by name.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, ObjectId)> {
        self.schemas.iter().map(|(name, id)| (name.as_str(), *id))
    }

    pub fn schema(&self, name: &str) -> Option<ObjectId> {
        self.schemas.get(name).copied()
    }

    pub fn indexes(&self) -> impl Iterator<Item = &Arc<Index>> {
        self.indexes.values()
    }

    pub fn index(&self, id: ObjectId) -> Option<&Arc<Index>> {
        self.indexes.get(&id)
    }

    pub fn find_index(&self, name: &ObjectName) -> Option<&Arc<Index>> {
        self.indexes().find(|index| index.name == *name)
    }

    pub fn indexes_of(&self, table: ObjectId) -> impl Iterator<Item = &Arc<Index>> {
        self.indexes().filter(move |index| index.table == table)
    }

    /// Comments on an object, index or schema.
    pub fn comments(&self, id: ObjectId) -> Option<&Comments> {
        self.comments.get(&id)
    }

    pub fn get(&self, id: ObjectId) -> Option<&Arc<Object>> {
        self.objects.get(&id)
    }

    pub fn find(&self, name: &ObjectName) -> Option<&Arc<Object>> {
        self.names.get(name).and_then(|id| self.objects.get(id))
    }

    /// # Errors
    /// [`Error::NotFound`].
    pub fn lookup(&self, name: &ObjectName) -> Result<&Arc<Object>> {
        self.find(name).ok_or_else(|| Error::NotFound(name.clone()))
    }

    /// All objects in the order of their ids, which is the order of their creation.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values()
    }

    /// Those that can be read: all but the sinks.
    pub fn relations(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects()
            .filter(|object| !matches!(object.kind, crate::ObjectKind::Sink(_)))
    }

    /// Applies a planned edit.
    pub fn apply(&mut self, edit: Edit) {
        match edit {
            Edit::Created(object) => {
                let previous = self.names.insert(object.name.clone(), object.id);
                assert!(
                    previous.is_none(),
                    "the planner checked that the name {} is free",
                    object.name
                );
                self.objects.insert(object.id, object);
            }
            Edit::Altered(object) => {
                let previous = self.objects.insert(object.id, object.clone());
                let previous = previous.expect("an altered object exists");
                self.names.remove(&previous.name);
                self.names.insert(object.name.clone(), object.id);
            }
            Edit::Dropped(id) => {
                let object = self.objects.remove(&id).expect("a dropped object exists");
                self.names.remove(&object.name);
                self.comments.remove(&id);
            }
            Edit::SchemaCreated(id, name) => {
                self.schemas.insert(name, id);
            }
            Edit::SchemaDropped(name) => {
                if let Some(id) = self.schemas.remove(&name) {
                    self.comments.remove(&id);
                }
            }
            Edit::IndexCreated(index) => {
                self.indexes.insert(index.id, index);
            }
            Edit::IndexDropped(id) => {
                self.indexes.remove(&id);
                self.comments.remove(&id);
            }
            Edit::Commented(id, comments) if comments.is_empty() => {
                self.comments.remove(&id);
            }
            Edit::Commented(id, comments) => {
                self.comments.insert(id, comments);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectKind, Table};

    fn object(id: u64, name: &str, reads: &[u64]) -> Edit {
        Edit::Created(Arc::new(Object {
            id: ObjectId(id),
            name: ObjectName::public(name),
            columns: Vec::new(),
            kind: ObjectKind::Table(Table {
                append_only: false,
                stream: false,
                keys: Vec::new(),
                checks: Vec::new(),
                watermark: None,
                options: Vec::new(),
            }),
            reads: reads.iter().copied().map(ObjectId).collect(),
            create_sql: String::new(),
        }))
    }

    fn diamond() -> Catalog {
        let mut catalog = Catalog::default();
        for edit in [
            object(1, "t", &[]),
            object(2, "a", &[1]),
            object(3, "b", &[1]),
            object(4, "top", &[2, 3]),
        ] {
            catalog.apply(edit);
        }
        catalog
    }

    #[test]
    fn drop_needs_cascade_when_something_reads_the_object() {
        let catalog = diamond();
        let error = catalog.plan_drop(ObjectId(1), false).unwrap_err();
        assert!(matches!(error, Error::HasDependents { dependents, .. } if dependents.len() == 3));
        let ids = catalog.plan_drop(ObjectId(1), true).unwrap();
        assert_eq!(ids, [4, 3, 2, 1].map(ObjectId));
        assert_eq!(catalog.plan_drop(ObjectId(4), false).unwrap(), [ObjectId(4)]);
    }

    #[test]
    fn comments_go_with_what_they_are_about() {
        let mut catalog = diamond();
        let comments = Comments::from([(0, "a view".to_owned())]);
        catalog.apply(Edit::Commented(ObjectId(4), comments.clone()));
        assert_eq!(catalog.comments(ObjectId(4)), Some(&comments));
        catalog.apply(Edit::Dropped(ObjectId(4)));
        assert_eq!(catalog.comments(ObjectId(4)), None);
        catalog.apply(Edit::SchemaCreated(ObjectId(5), "s".to_owned()));
        catalog.apply(Edit::Commented(ObjectId(5), comments));
        assert_eq!(catalog.schema("s"), Some(ObjectId(5)));
        catalog.apply(Edit::SchemaDropped("s".to_owned()));
        assert_eq!((catalog.schema("s"), catalog.comments(ObjectId(5))), (None, None));
    }

    #[test]
    fn dropping_frees_the_name() {
        let mut catalog = diamond();
        catalog.apply(Edit::Dropped(ObjectId(4)));
        assert!(catalog.find(&ObjectName::public("top")).is_none());
        catalog.apply(object(5, "top", &[]));
        assert_eq!(
            catalog.lookup(&ObjectName::public("top")).unwrap().id,
            ObjectId(5)
        );
    }
}
