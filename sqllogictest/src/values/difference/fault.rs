//! Faults that are not mended yet.

/// Templates, or labels of templates for one type, whose answers differ for some values.
pub const FAULTS: &[&str] = &[];
