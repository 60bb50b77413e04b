//! What system tables and catalog functions are computed from: the state of catalog and session as one statement sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use millpond_catalog::{Catalog, Object, ObjectId, ObjectName};

use super::definition::SystemTable;
use super::oid;
use super::rows::Rows;

/// The session that a statement runs in.
#[derive(Debug, Clone)]
pub struct Session {
    pub user: String,
    pub database: String,
    /// What `pg_backend_pid()` says and a cancel request names.
    pub pid: i32,
}

/// Made at the start of a statement and shared by everything that the statement reads.
#[derive(Debug)]
pub struct SystemContext {
    pub catalog: Arc<Catalog>,
    pub session: Session,
    /// Rows already computed, by the oid of the table: a correlated subquery scans its tables once per outer row.
    computed: Mutex<HashMap<u32, RecordBatch>>,
}

impl SystemContext {
    pub fn new(catalog: Arc<Catalog>, session: Session) -> Self {
        Self {
            catalog,
            session,
            computed: Mutex::default(),
        }
    }

    /// The rows of a table, the same ones each time.
    pub fn rows(&self, table: &'static SystemTable) -> RecordBatch {
        let mut computed = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batch) = computed.get(&table.oid) {
            return batch.clone();
        }
        let mut rows = Rows::new(table);
        if let Some(fill) = super::fill(table) {
            fill(self, &mut rows);
        }
        let batch = rows.finish();
        computed.insert(table.oid, batch.clone());
        batch
    }

    /// The user object whose relation has this oid.
    pub fn object_of_oid(&self, oid: u32) -> Option<&Arc<Object>> {
        let id = oid.checked_sub(oid::FIRST_USER_OID)?;
        self.catalog.get(ObjectId(u64::from(id)))
    }

    /// The oid of a relation by its name; without a schema it is looked up in `pg_catalog`, then in `public`.
    pub fn relation_oid(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        let user = |schema: &str| {
            let object = self.catalog.find(&ObjectName::new(schema, name));
            object
                .map(|object| oid::relation(object.id))
                .or_else(|| self.primary_key_index_oid(schema, name))
        };
        let system = |schema: &str| super::definition::find(schema, name).map(|table| table.oid);
        match schema {
            Some(schema) => system(schema).or_else(|| user(schema)),
            None => system("pg_catalog").or_else(|| user(millpond_catalog::DEFAULT_SCHEMA)),
        }
    }

    fn primary_key_index_oid(&self, schema: &str, name: &str) -> Option<u32> {
        let table = self
            .catalog
            .find(&ObjectName::new(schema, name.strip_suffix("_pkey")?))?;
        (!super::constraint::primary_key(table).is_empty()).then(|| oid::primary_key_index(table.id))
    }
}
