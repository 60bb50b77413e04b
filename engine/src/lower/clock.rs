//! Windows over the processing time: the time of a row is that of the epoch in which it comes, so a window is final when the
//! clock has passed its end, and no watermark is needed.

use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::dataflow::Notice;
use crate::expression::PROCESSING_TIME;
use crate::lower::Lowering;

/// The column is the processing time and nothing else.
pub(super) fn is_clock(plan: &LogicalPlan, column: usize) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => match uncast(&projection.expr[column]) {
            Expr::ScalarFunction(call) => call.name() == PROCESSING_TIME,
            Expr::Column(below) => {
                let below = projection.input.schema().maybe_index_of_column(below);
                below.is_some_and(|below| is_clock(&projection.input, below))
            }
            _ => false,
        },
        LogicalPlan::SubqueryAlias(alias) => is_clock(&alias.input, column),
        LogicalPlan::Filter(filter) => is_clock(&filter.input, column),
        _ => false,
    }
}

fn uncast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => uncast(&alias.expr),
        // Between kinds of timestamps.
        Expr::Cast(cast) => uncast(&cast.expr),
        expr => expr,
    }
}

impl Lowering<'_> {
    /// Says so where rows could be counted by when they happened: `first` is the first of the inputs that are read.
    pub(super) fn remark_on_clock(&mut self, first: usize) {
        let timed = self.inputs[first..]
            .iter()
            .find_map(|input| Some((input, input.event_time.as_ref()?)));
        if let Some((input, event_time)) = timed {
            let column = input.schema.field(event_time.column).name();
            self.remarks.push(Notice {
                message: format!(
                    "windows over processing time count a row when it comes, not when it happened: {} has an event time, {column}",
                    input.name
                ),
                hint: format!("Use {column} as the time of the windows; late and replayed rows are counted where they belong then."),
            });
        }
    }
}
