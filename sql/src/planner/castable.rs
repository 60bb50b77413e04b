//! Which types a cast leads from and to, as Postgres' `pg_cast` has them. The library casts between more: a number to the
//! text that a uuid is kept as, for one.

use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, LogicalPlan};
use millpond_catalog::SqlType;

use crate::error::{Error, ErrorKind};

use super::typed::{known_type, visit_expressions};

/// # Errors
/// A cast between types that have none.
pub fn check(plan: &LogicalPlan) -> DataFusionResult<()> {
    visit_expressions(plan, check_expr)
}

fn check_expr(expr: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    let Expr::Cast(cast) = expr else { return Ok(()) };
    // What has no type yet is looked at when it is settled.
    let Some(from) = known_type(&cast.expr, schema) else {
        return Ok(());
    };
    let to = SqlType::of(&cast.field);
    if leads(&from, &to) {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::CannotCoerce,
        format!("cannot cast type {from} to {to}"),
    )
    .with_hint("Cast to text first, if the text is what the other type reads.");
    Err(DataFusionError::External(Box::new(error)))
}

fn leads(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::{
        Array, Bool, Bytea, Date, Int4, Interval, Json, Jsonb, Struct, System, Text, Time, Timestamp,
        TimestampTz, Uuid, Varchar,
    };
    match (from, to) {
        (Array(from), Array(to)) => leads(from, to),
        // Every type is written and read as text.
        (Text | Varchar(_), _) | (_, Text | Varchar(_)) => true,
        // Names and numbers of objects, which only system tables have.
        (System(_), _) | (_, System(_)) => true,
        (Bool, Int4) | (Int4, Bool) => true,
        // The second is how days are counted here.
        (Date, Date | Timestamp | TimestampTz | Int4) | (Int4, Date) => true,
        (Timestamp | TimestampTz, Date | Time | Timestamp | TimestampTz) => true,
        (Time | Interval, Time | Interval) => true,
        (Json | Jsonb, Json | Jsonb) => true,
        (Struct(_), Struct(_)) | (Bytea, Bytea) | (Uuid, Uuid) | (Bool, Bool) => true,
        (from, to) => from.is_number() && to.is_number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_lead_where_postgres_has_them() {
        let array = |element| SqlType::Array(Box::new(element));
        for (from, to, expected) in [
            (SqlType::Float4, SqlType::Uuid, false),
            (SqlType::Text, SqlType::Uuid, true),
            (SqlType::Uuid, SqlType::Text, true),
            (SqlType::Bool, SqlType::Int4, true),
            (SqlType::Bool, SqlType::Int8, false),
            (SqlType::Date, SqlType::Time, false),
            (SqlType::TimestampTz, SqlType::Time, true),
            (array(SqlType::Int4), array(SqlType::Numeric(None)), true),
            (array(SqlType::Int4), array(SqlType::Date), true),
            (array(SqlType::Int4), SqlType::Int4, false),
            (SqlType::Interval, SqlType::Bool, false),
        ] {
            assert_eq!(leads(&from, &to), expected, "{from} to {to}");
        }
    }
}
