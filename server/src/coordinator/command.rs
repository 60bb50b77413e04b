//! What arrives at the coordinator from outside, and nothing else.

use millpond_catalog::ObjectId;
use millpond_sql::{ParsedStatement, Settings};
use tokio::sync::oneshot;

use super::Changed;
use crate::error::Result;

pub(super) enum Command {
    Change {
        statement: Box<ParsedStatement>,
        settings: Box<Settings>,
        reply: oneshot::Sender<Result<Changed>>,
    },
    Undo {
        created: Vec<ObjectId>,
        reply: oneshot::Sender<Result<()>>,
    },
}
