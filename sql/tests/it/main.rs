//! Tests of the face of the crate.

mod golden;
mod world;
