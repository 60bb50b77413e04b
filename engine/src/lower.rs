//! From a logical plan to the dataflow that keeps its result up to date, or a user error naming the part that cannot be
//! kept up to date.

use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::OutputMode;

use crate::dataflow::Dataflow;
use crate::error::{Error, Result};

/// What decides how a view's plan is lowered, beside the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct LowerOptions {
    pub output_mode: OutputMode,
    /// A failing expression stops the query instead of setting its row aside.
    pub fail_on_error: bool,
}

/// Lowers an analysed plan, which need not be optimised.
pub fn lower(plan: &LogicalPlan, _options: &LowerOptions) -> Result<Dataflow> {
    Err(Error::Unsupported {
        message: format!("{} cannot be kept up to date", plan.display()),
        hint: None,
    })
}
