//! Changes, operators, dataflows and the driver that runs a streaming query epoch by epoch.

pub mod epoch;
pub mod error;
pub mod sink;
pub mod source;

pub mod bound;
pub mod dataflow;
pub mod expression;
pub mod function;
pub mod hash;
pub mod logical;
pub mod lower;
pub mod oneoff;
pub mod operator;
mod window;

pub mod clock;
mod cut;
pub mod engine;
mod flush;
mod maintenance;
pub mod progress;
pub mod query;
pub mod read;
#[cfg(test)]
mod replay;
mod runtime;
mod source_notes;
pub mod subscription;
pub mod table;

pub use engine::{Engine, EngineOptions, FlushReport, FlushTarget};
