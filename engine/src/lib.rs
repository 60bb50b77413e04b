//! Changes, operators, dataflows and the driver that runs a streaming query epoch by epoch.

pub mod source;
