//! What can be wrong with a request to the catalog; every variant is the user's to mend.

use crate::ObjectName;

/// A refused lookup or edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("relation \"{0}\" does not exist")]
    NotFound(ObjectName),
    #[error("relation \"{0}\" already exists")]
    AlreadyExists(ObjectName),
    #[error("schema \"{0}\" does not exist")]
    SchemaNotFound(String),
    #[error("cannot drop {kind} {name} because other objects depend on it")]
    HasDependents {
        kind: &'static str,
        name: ObjectName,
        dependents: Vec<ObjectName>,
    },
    #[error("\"{name}\" is not a {expected}")]
    WrongKind {
        name: ObjectName,
        expected: &'static str,
        actual: &'static str,
    },
}

pub type Result<T> = std::result::Result<T, Error>;
