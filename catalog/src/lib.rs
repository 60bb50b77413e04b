//! The nouns of the product, and what their types mean.
//!
//! An [`Object`] is something a user created: a table, an insertable stream, a source or a streaming view. A
//! [`Catalog`] is a value that holds them; it changes only by applying an [`Edit`], so that a planned statement can be
//! logged first and applied second. Objects name what they read by [`ObjectId`], which is how drops are refused and
//! start-up is ordered. What a type means wherever its values are computed is here, too ([`interval`]).
//!
//! Deliberately absent: SQL text other than the canonical `CREATE` text kept for display and restart, files, threads.

mod catalog;
mod dependency;
mod edit;
mod error;
mod id;
mod index;
pub mod interval;
mod name;
mod object;
mod sql_type;
mod system_type;
mod type_oid;

pub use catalog::{Catalog, Comments};
pub use edit::Edit;
pub use error::{Error, Result};
pub use id::ObjectId;
pub use index::Index;
pub use name::{DEFAULT_SCHEMA, ObjectName};
pub use object::{
    Check, Column, Gather, JoinMode, Key, LateRetention, Object, ObjectKind, OptionEntry, Options,
    OutputMode, PlainView, Sink, Source, StreamingView, Table, Trigger, ViewOptions, Watermark,
    WatermarkPolicy, arrow_schema,
};
pub use sql_type::SqlType;
pub use system_type::SystemType;
