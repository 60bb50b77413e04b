//! `zone => 'Europe/Berlin'`: windows by the clocks of a zone. Days begin at its midnight, and the day on which clocks change is
//! an hour shorter or longer.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, lit};

use super::external;
use crate::error::Error;
use crate::function::AtTimeZone;
use crate::time_zone::TimeZone;

/// What clocks in the zone show at a time; one without a zone is in UTC.
///
/// # Errors
/// Not the name of a zone.
pub fn time_in(time: Expr, schema: &DFSchema, zone: Expr) -> DataFusionResult<Expr> {
    let name = match &zone {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_owned),
        _ => None,
    };
    let Some(name) = name else {
        let error = Error::invalid("the zone of a window must be a constant text");
        return Err(external(error.with_hint("Write zone => 'Europe/Berlin'.")));
    };
    if TimeZone::parse_posix(&name).is_none() {
        return Err(external(Error::invalid(format!(
            "time zone \"{name}\" not recognized"
        ))));
    }
    let at =
        |zone: &str, time: Expr| ScalarUDF::new_from_impl(AtTimeZone::default()).call(vec![lit(zone), time]);
    let instant = match time.get_type(schema)? {
        DataType::Timestamp(_, Some(_)) => time,
        _ => at("UTC", time),
    };
    Ok(at(&name, instant))
}
