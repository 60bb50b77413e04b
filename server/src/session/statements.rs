//! The prepared statements of a session, which `pg_prepared_statements` shows.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::PreparedStatement;

/// By name; the unnamed one has the empty name.
#[derive(Debug, Default)]
pub struct Statements(Mutex<HashMap<String, Arc<PreparedStatement>>>);

impl Statements {
    pub fn contains(&self, name: &str) -> bool {
        self.0.lock().contains_key(name)
    }

    pub fn get(&self, name: &str) -> Option<Arc<PreparedStatement>> {
        self.0.lock().get(name).cloned()
    }

    pub fn insert(&self, name: String, statement: PreparedStatement) {
        self.0.lock().insert(name, Arc::new(statement));
    }

    /// False when there is none of that name.
    pub fn remove(&self, name: &str) -> bool {
        self.0.lock().remove(name).is_some()
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// Those with a name, by it.
    pub fn list(&self) -> Vec<(String, Arc<PreparedStatement>)> {
        let statements = self.0.lock();
        let named = statements.iter().filter(|(name, _)| !name.is_empty());
        let mut named: Vec<_> = named.map(|(name, s)| (name.clone(), s.clone())).collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        named
    }
}
