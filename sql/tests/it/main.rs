//! Tests of the face of the crate.

mod depth;
mod golden;
mod parameters;
mod reference;
mod soup;
mod world;
