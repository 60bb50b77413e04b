//! Tests of the face of the crate.

// A test may fail by unwrapping.
#![allow(clippy::unwrap_used)]

mod depth;
mod golden;
mod parameters;
mod reference;
mod soup;
mod world;
