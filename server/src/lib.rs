//! The server: the Postgres protocol, sessions, the coordinator of changes, and HTTP for operators.
//!
//! The way of a statement: [`pg`] turns bytes into text and parameters, [`execute`] answers reads and hands changes to
//! the coordinator, and the [`outcome`] goes back through [`pg`] as bytes. [`session`] holds what a connection remembers
//! between statements.
//!
//! Deliberately absent: operators, SQL parsing, file formats.

pub mod config;
pub mod coordinator;
pub mod copy;
pub mod demo;
pub mod error;
pub mod execute;
pub mod function;
pub mod http;
pub mod information_schema;
pub mod outcome;
pub mod pg;
pub mod pg_catalog;
pub mod relations;
pub mod server;
pub mod session;
pub mod sys;
pub mod table_locks;
