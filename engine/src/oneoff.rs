//! One-off queries: a logical plan over relations at fixed points, run once by DataFusion.

use std::sync::Arc;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::ObjectId;

use crate::error::{Error, Result};

/// The relations that a query reads, each at a fixed point.
pub trait Readable: Send + Sync {
    /// The rows of `object`, with the columns in `projection` (in that order; all when `None`). Dropping the stream stops
    /// the reading.
    fn scan(&self, object: ObjectId, projection: Option<&[usize]>) -> Result<SendableRecordBatchStream>;
}

#[derive(Debug, Clone)]
pub struct OneoffOptions {
    /// Bytes that sorts, hash tables and the like may hold together.
    pub memory_bytes_max: usize,
    /// Threads that may work on the query at once.
    pub parallelism: usize,
}

impl Default for OneoffOptions {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 30,
            parallelism: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Plans the query and starts it. Dropping the stream cancels it.
pub async fn execute(
    plan: LogicalPlan,
    _relations: Arc<dyn Readable>,
    _options: &OneoffOptions,
) -> Result<SendableRecordBatchStream> {
    Err(Error::Unsupported {
        message: format!("{} cannot be run", plan.display()),
        hint: None,
    })
}
