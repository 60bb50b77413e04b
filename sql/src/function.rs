//! SQL functions beyond the library's that need no catalog, in one list.
//!
//! Functions that ask the server something (`version()`, `current_setting`) come from it through
//! [`crate::Relations`]; aggregates come from the engine.

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

mod array_compare;
mod choice;
mod current_watermark;
mod extract;
mod float_cast;
mod float_checked;
mod format;
mod interval_key;
mod json;
mod marker;
mod nullable;
mod numeric;
mod numeric_divide;
mod numeric_multiply;
mod of_type;
mod processing_time;
pub mod row;
mod session_window;
mod single_value;
mod sized;
mod text_cast;
mod timestamp_difference;
mod timezone;
mod window;

pub use array_compare::ArrayCompare;
pub use choice::Choice;
pub use current_watermark::CurrentWatermark;
pub use extract::Extract;
pub use float_cast::FloatCast;
pub use float_checked::{FloatChecked, Operation as FloatOperation};
pub use format::Formatted;
pub use interval_key::IntervalKey;
pub use json::{FromJson, ToJson};
pub use marker::Marker;
pub use nullable::Nullable;
pub use numeric_divide::NumericDivide;
pub use numeric_multiply::NumericMultiply;
pub use of_type::OfType;
pub use processing_time::ProcessingTime;
pub use row::RowFunction;
pub use session_window::SessionWindow;
pub use single_value::SingleValue;
pub use sized::SizedText;
pub use text_cast::{FromText, ToText};
pub use timestamp_difference::TimestampDifference;
pub use timezone::AtTimeZone;
pub use window::Window;

/// All of them. The order has no meaning.
pub fn scalar_functions() -> Vec<Arc<ScalarUDF>> {
    let mut functions = vec![
        Arc::new(ScalarUDF::new_from_impl(Marker::asof_join())),
        Arc::new(ScalarUDF::new_from_impl(CurrentWatermark::default())),
        Arc::new(ScalarUDF::new_from_impl(Marker::dedup_within())),
        Arc::new(ScalarUDF::new_from_impl(Marker::join_within())),
        Arc::new(ScalarUDF::new_from_impl(FromJson::default())),
        Arc::new(ScalarUDF::new_from_impl(NumericDivide::default())),
        Arc::new(ScalarUDF::new_from_impl(NumericMultiply::default())),
        Arc::new(ScalarUDF::new_from_impl(ProcessingTime::default())),
        Arc::new(ScalarUDF::new_from_impl(SessionWindow::default())),
        Arc::new(ScalarUDF::new_from_impl(TimestampDifference::default())),
        Arc::new(ScalarUDF::new_from_impl(AtTimeZone::default())),
        Arc::new(ScalarUDF::new_from_impl(Window::default())),
        Arc::new(ScalarUDF::new_from_impl(IntervalKey::default())),
    ];
    functions.extend(ArrayCompare::functions().map(|f| Arc::new(ScalarUDF::new_from_impl(f))));
    functions.extend(Extract::functions().map(|f| Arc::new(ScalarUDF::new_from_impl(f))));
    functions.extend(Formatted::functions().map(|f| Arc::new(ScalarUDF::new_from_impl(f))));
    functions.extend(Choice::all());
    functions.extend(SizedText::all());
    functions.extend(ToJson::functions().map(|f| Arc::new(ScalarUDF::new_from_impl(f))));
    functions.extend(RowFunction::all());
    functions
}
