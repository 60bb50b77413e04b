//! Random tests.
