//! What a connection remembers between statements, and what others may see of it.

mod registry;

pub use registry::{Activity, ActivityState, Client, SessionInfo, Sessions};
