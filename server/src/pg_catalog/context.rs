//! What system tables and catalog functions are computed from: the state of catalog, session and engine as one statement
//! sees it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use millpond_catalog::{Catalog, Object, ObjectId, ObjectName};
use millpond_engine::engine::Engine;
use millpond_sql::Settings;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::definition::{self, SystemTable};
use super::oid;
use super::rows::Rows;
use crate::function::AdvisoryLocks;
use crate::session::{Client, SessionInfo, Sessions};

/// What lives as long as the server and is the same for all sessions.
#[derive(Clone)]
pub struct ServerState {
    pub sessions: Arc<Sessions>,
    pub advisory_locks: Arc<AdvisoryLocks>,
    /// Absent where nothing runs: while the server starts, in tests of planning.
    pub engine: Option<Engine>,
    /// When the server started, microseconds since 1970.
    pub started_us: i64,
}

/// A change that `set_config` made, to be applied to the session when the statement has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    pub name: String,
    pub value: String,
    /// Until the end of the transaction.
    pub local: bool,
}

/// Made at the start of a statement and shared by everything that the statement reads.
pub struct SystemContext {
    pub catalog: Arc<Catalog>,
    pub server: ServerState,
    pub session: Arc<SessionInfo>,
    /// When the statement began, microseconds since 1970.
    pub now_us: i64,
    settings: Mutex<Settings>,
    changes: Mutex<Vec<SettingChange>>,
    /// Rows already computed, by the oid of the table: a correlated subquery scans its tables once per outer row.
    computed: Mutex<HashMap<u32, RecordBatch>>,
}

impl SystemContext {
    pub fn new(
        catalog: Arc<Catalog>,
        server: ServerState,
        session: Arc<SessionInfo>,
        settings: Settings,
        now_us: i64,
    ) -> Self {
        Self {
            catalog,
            server,
            session,
            now_us,
            settings: Mutex::new(settings),
            changes: Mutex::default(),
            computed: Mutex::default(),
        }
    }

    /// For planning without a client: a session that nobody else sees.
    pub fn background(catalog: Arc<Catalog>) -> Self {
        let sessions = Arc::new(Sessions::default());
        let client = Client {
            user: "millpond".to_owned(),
            database: "millpond".to_owned(),
            address: None,
            settings: Settings::default(),
        };
        let session = sessions.open(client, 0, &CancellationToken::new());
        let server = ServerState {
            sessions,
            advisory_locks: Arc::default(),
            engine: None,
            started_us: 0,
        };
        Self::new(catalog, server, session, Settings::default(), 0)
    }

    /// The session's settings, with what this statement has changed.
    pub fn settings(&self) -> Settings {
        self.settings.lock().clone()
    }

    /// Changes a setting for the rest of the statement and remembers it for the session.
    ///
    /// # Errors
    /// An unknown setting, a value it does not take.
    pub fn set_setting(&self, change: SettingChange) -> millpond_sql::Result<()> {
        self.settings.lock().set(&change.name, Some(&change.value))?;
        self.changes.lock().push(change);
        Ok(())
    }

    /// What `set_config` changed since the last call, for the session to apply.
    pub fn take_setting_changes(&self) -> Vec<SettingChange> {
        std::mem::take(&mut *self.changes.lock())
    }

    /// The rows of a table, the same ones each time.
    ///
    /// # Errors
    /// What the rows come from cannot be read.
    pub fn rows(&self, table: &'static SystemTable) -> Result<RecordBatch> {
        if let Some(batch) = self.computed.lock().get(&table.oid) {
            return Ok(batch.clone());
        }
        let mut rows = Rows::new(table);
        if let Some(fill) = super::fill(table) {
            fill(self, &mut rows);
        }
        let batch = rows.finish()?;
        self.computed.lock().insert(table.oid, batch.clone());
        Ok(batch)
    }

    /// The user object whose relation has this oid.
    pub fn object_of_oid(&self, oid: u32) -> Option<&Arc<Object>> {
        let id = oid.checked_sub(oid::FIRST_USER_OID)?;
        self.catalog.get(ObjectId(u64::from(id)))
    }

    /// Schemas in the order in which names are looked up, `pg_catalog` included.
    pub fn search_path(&self) -> Vec<String> {
        let mut path = self.settings.lock().search_path();
        if !path.iter().any(|schema| schema == "pg_catalog") {
            path.insert(0, "pg_catalog".to_owned());
        }
        let own = self.settings.lock().temporary_schema().map(str::to_owned);
        // The schema of temporary objects is there once there are some.
        let own = own.filter(|schema| self.catalog.objects().any(|object| object.name.schema == *schema));
        path.retain(|schema| {
            oid::namespace_named(&self.catalog, schema).is_some() || own.as_ref() == Some(schema)
        });
        path
    }

    /// The oid of a relation or index by its name; without a schema it is looked up along the search path.
    pub fn relation_oid(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        match schema {
            Some(schema) => self.relation_in(schema, name),
            None => self
                .search_path()
                .iter()
                .find_map(|schema| self.relation_in(schema, name)),
        }
    }

    fn relation_in(&self, schema: &str, name: &str) -> Option<u32> {
        if let Some(table) = definition::find(schema, name) {
            return Some(table.oid);
        }
        if let Some(object) = self.catalog.find(&ObjectName::new(schema, name)) {
            return Some(oid::relation(object.id));
        }
        super::index::index_named(self, schema, name).map(|index| index.oid)
    }

    /// Schema and name of the relation or index with this oid.
    pub fn relation_name(&self, oid: u32) -> Option<(String, String)> {
        if let Some(table) = definition::all().find(|table| table.oid == oid) {
            return Some((table.schema.to_owned(), table.name.to_owned()));
        }
        if let Some(object) = self.object_of_oid(oid) {
            return Some((object.name.schema.clone(), object.name.name.clone()));
        }
        let index = super::index::index_of_oid(self, oid)?;
        Some((index.table.name.schema.clone(), index.name))
    }

    /// Whether a name without schema finds this relation rather than another of that name.
    pub fn is_visible(&self, schema: &str, name: &str) -> bool {
        let first = self
            .search_path()
            .into_iter()
            .find(|schema| self.relation_in(schema, name).is_some());
        first.is_some_and(|first| first == schema)
    }
}

impl fmt::Debug for SystemContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemContext({} at {})", self.session.pid, self.now_us)
    }
}

/// The schema that `CREATE` without one uses, if the search path has one.
pub fn current_schema(context: &SystemContext) -> Option<String> {
    let path = context.settings.lock().search_path();
    path.into_iter()
        .find(|schema| oid::namespace_named(&context.catalog, schema).is_some())
}
