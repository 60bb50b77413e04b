//! Frames by RANGE over types that have no distance, as `bytea` and `time`: without an offset such a frame is one by GROUPS,
//! because both go by rows that are equal in the order. The library refuses the one and runs the other.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrameBound, WindowFrameUnits};

use super::typed::change_expressions;

pub fn by_groups(plan: LogicalPlan) -> Result<LogicalPlan> {
    change_expressions(plan, |expr, schema| Ok(with_groups(expr, schema)))
}

fn with_groups(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    if let Expr::WindowFunction(function) = &mut expr {
        let params = &mut function.params;
        let frame = &mut params.window_frame;
        let first = params.order_by.first().map(|order| order.expr.get_type(schema));
        let has_no_distance = matches!(
            first,
            Some(Ok(DataType::Binary | DataType::Time64(_) | DataType::Struct(_)))
        );
        if frame.units == WindowFrameUnits::Range
            && has_no_distance
            && [&frame.start_bound, &frame.end_bound]
                .into_iter()
                .all(is_without_offset)
        {
            frame.units = WindowFrameUnits::Groups;
            return Transformed::yes(expr);
        }
    }
    Transformed::no(expr)
}

fn is_without_offset(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::CurrentRow => true,
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => offset.is_null(),
    }
}
