//! By how much `time AT TIME ZONE zone` differs from the time: what zones do is asked of the function itself.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, TimestampMicrosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::{Expr, ScalarUDF};

use crate::lower::stream::physical;

const DAY_US: i64 = 86_400_000_000;
/// Days from 1970-01-01 that are looked at: from about 1850 to 2150. Rules of a zone hold for longer than the step.
const FIRST_DAY: i64 = -43_800;
const LAST_DAY: i64 = 65_700;
const STEP_DAYS: i64 = 9;

/// The result minus the time, in microseconds: at least and at most.
pub(super) fn bounds(function: &Arc<ScalarUDF>, zone: &Expr, data_type: DataType) -> Option<(i64, i64)> {
    let DataType::Timestamp(TimeUnit::Microsecond, of_zone) = &data_type else {
        return None;
    };
    let days = (FIRST_DAY..LAST_DAY).step_by(STEP_DAYS as usize);
    let times = TimestampMicrosecondArray::from_iter_values(days.map(|day| day * DAY_US));
    let times = times.with_timezone_opt(of_zone.clone());
    let schema = Arc::new(Schema::new(vec![Field::new("t", data_type.clone(), true)]));
    let call = function.call(vec![zone.clone(), Expr::Column(Column::new_unqualified("t"))]);
    let expr = physical(&call, &DFSchema::try_from(Arc::clone(&schema)).ok()?).ok()?;
    let batch = RecordBatch::try_new(schema, vec![Arc::new(times.clone())]).ok()?;
    let shifted = expr.evaluate(&batch).ok()?.into_array(times.len()).ok()?;
    let shifted = cast(&shifted, &DataType::Timestamp(TimeUnit::Microsecond, None)).ok()?;
    let shifted = shifted.as_primitive::<TimestampMicrosecondType>();
    let pairs = shifted.values().iter().zip(times.values());
    let shifts = pairs.map(|(shifted, time)| shifted - time);
    Some((shifts.clone().min()?, shifts.max()?))
}
