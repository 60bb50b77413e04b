//! Drives the real `millpond` binary from outside: start it on free ports with its own data directory, connect, kill
//! it, stop it, start it again on the same data.
//!
//! Nothing here knows how the server works inside; that is why this crate depends on no other crate of ours. The end
//! to end tests in `it/` and the SQL suites in `sqllogictest/` are built on it. A process that is not stopped by its
//! test dies with its [`Server`] value, and when the test fails the server's log is printed first.

mod binary;
mod process;
mod rows;
mod server;
mod wait;

pub use binary::{millpond, workspace};
pub use process::{Ended, Process};
pub use rows::{cell, number, rows, run, sorted};
pub use server::{Server, ServerOptions, serve_on};
pub use wait::{DEADLINE, eventually};

/// An error of the server as one text that a test can match: `SQLSTATE: message`, then detail, hint and position.
pub fn error_text(error: &tokio_postgres::Error) -> String {
    let Some(db) = error.as_db_error() else {
        return format!("connection: {error:?}");
    };
    let mut text = format!("{}: {}", db.code().code(), db.message());
    if let Some(detail) = db.detail() {
        text += &format!("\nDETAIL: {detail}");
    }
    if let Some(hint) = db.hint() {
        text += &format!("\nHINT: {hint}");
    }
    if let Some(tokio_postgres::error::ErrorPosition::Original(position)) = db.position() {
        text += &format!("\nPOSITION: {position}");
    }
    text
}
