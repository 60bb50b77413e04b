//! Frames of window functions: the library wants an offset that is an interval as it was written.

use sqlparser::ast::{
    DataType, Expr, Function, Interval, NamedWindowExpr, Select, WindowFrame, WindowFrameBound, WindowSpec,
    WindowType,
};

/// Frames within OVER.
pub fn rewrite_function(function: &mut Function) {
    if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
        rewrite_spec(spec);
    }
}

/// Frames of the WINDOW clause.
pub fn rewrite_select(select: &mut Select) {
    for definition in &mut select.named_window {
        if let NamedWindowExpr::WindowSpec(spec) = &mut definition.1 {
            rewrite_spec(spec);
        }
    }
}

fn rewrite_spec(spec: &mut WindowSpec) {
    let Some(WindowFrame {
        start_bound,
        end_bound,
        ..
    }) = &mut spec.window_frame
    else {
        return;
    };
    for bound in std::iter::once(start_bound).chain(end_bound) {
        if let WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset)) = bound {
            uncast(offset);
        }
    }
}

/// `CAST('10 minutes' AS interval)`, which intervals have become, as `INTERVAL '10 minutes'`.
fn uncast(offset: &mut Expr) {
    let Expr::Cast {
        expr,
        data_type: DataType::Interval { .. },
        ..
    } = offset
    else {
        return;
    };
    *offset = Expr::Interval(Interval {
        value: expr.clone(),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    });
}
