//! The SQL functions that need the server: they read the catalog, the session or the engine, or wait for something.
//!
//! [`DEFINITIONS`] is the one list. A definition names the types as `pg_type` does, so the same line plans a call,
//! evaluates it and fills `pg_proc`. The functions are made anew for each statement, over the [`SystemContext`] that the
//! statement's system tables are computed from. Functions of values alone belong to the crates `sql` and `engine`.

mod advisory_lock;
mod array_of_subquery;
mod call;
mod definition;
mod describe;
mod expand_array;
mod identifier;
mod privilege;
mod process;
mod session;
mod size;
mod text;
mod visible;
mod wait;

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

pub use advisory_lock::AdvisoryLocks;
pub use definition::Definition;
pub use identifier::output_of;
pub use wait::query_object;

use crate::pg_catalog::SystemContext;

/// All functions, by topic. Definitions of one name are the ways it can be called.
pub const DEFINITIONS: &[&[Definition]] = &[
    session::DEFINITIONS,
    identifier::DEFINITIONS,
    describe::DEFINITIONS,
    visible::DEFINITIONS,
    privilege::DEFINITIONS,
    size::DEFINITIONS,
    text::DEFINITIONS,
    process::DEFINITIONS,
    advisory_lock::DEFINITIONS,
    wait::DEFINITIONS,
];

/// The functions for one statement.
pub fn scalar_functions(context: &Arc<SystemContext>) -> Vec<Arc<ScalarUDF>> {
    let mut names: Vec<&str> = DEFINITIONS
        .iter()
        .flat_map(|topic| topic.iter().map(|d| d.name))
        .collect();
    names.sort_unstable();
    names.dedup();
    let ours = names.into_iter().map(|name| call::function(name, context));
    ours.chain([
        expand_array::expand_array(),
        array_of_subquery::array_of_subquery(),
    ])
    .collect()
}

/// The function of one name.
pub fn scalar_function(name: &str, context: &Arc<SystemContext>) -> Option<Arc<ScalarUDF>> {
    let definition = *overloads(name).first()?;
    Some(call::function(definition.name, context))
}

/// The definitions of one name.
fn overloads(name: &str) -> Vec<&'static Definition> {
    DEFINITIONS
        .iter()
        .flat_map(|topic| topic.iter().filter(|d| d.name == name))
        .collect()
}
