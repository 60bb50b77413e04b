//! Statements that Postgres has and we do not, told apart from words that begin no statement.

use crate::error::Error;

use super::Tokens;

/// First words, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    (
        "MERGE",
        "Use INSERT .. ON CONFLICT, or UPDATE and INSERT in a transaction.",
    ),
    (
        "SUBSCRIBE",
        "Read the view with SELECT; SUBSCRIBE comes with a later version.",
    ),
    (
        "REFRESH",
        "A streaming view is always up to date; FLUSH waits until it has seen all input.",
    ),
    ("REASSIGN", ""),
    ("SECURITY", ""),
    ("CLUSTER", ""),
    ("LOCK", ""),
    ("CALL", "Call a function with SELECT."),
    ("DO", ""),
    ("IMPORT", ""),
    ("LOAD", ""),
    (
        "USE",
        "There is one database; schemas are chosen with SET search_path.",
    ),
    (
        "KILL",
        "Use STOP QUERY v for a streaming view, or pg_cancel_backend for a client.",
    ),
];

impl Tokens<'_> {
    /// The error for a statement that begins with `word`.
    pub fn refuse(&self, word: &str) -> Error {
        match REFUSED.iter().find(|(refused, _)| *refused == word) {
            Some((_, hint)) => {
                let error = Error::unsupported(format!("{word} is not supported yet"));
                self.here(if hint.is_empty() {
                    error
                } else {
                    error.with_hint(*hint)
                })
            }
            None => {
                let hint = crate::suggest::did_you_mean(word, STATEMENTS.iter().copied());
                self.unexpected("an SQL statement").with_hint_if(hint)
            }
        }
    }
}

/// First words of what is accepted, for "did you mean".
const STATEMENTS: &[&str] = &[
    "SELECT",
    "WITH",
    "VALUES",
    "TABLE",
    "CREATE",
    "DROP",
    "ALTER",
    "PAUSE",
    "RESUME",
    "STOP",
    "TERMINATE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "COPY",
    "EXPLAIN",
    "DESCRIBE",
    "SHOW",
    "SET",
    "RESET",
    "FLUSH",
    "WAIT",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "PREPARE",
    "EXECUTE",
    "DEALLOCATE",
    "DECLARE",
    "FETCH",
    "MOVE",
    "CLOSE",
    "DISCARD",
    "COMMENT",
    "GRANT",
    "REVOKE",
    "VACUUM",
    "ANALYZE",
    "LISTEN",
    "UNLISTEN",
    "NOTIFY",
];
