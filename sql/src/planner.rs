//! Statements to plans.

use datafusion::logical_expr::LogicalPlan;
use datafusion::scalar::ScalarValue;
use millpond_catalog::{Catalog, Object, ObjectId, SqlType};

use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::relations::Relations;
use crate::settings::Settings;
use crate::statement::ParsedStatement;

/// All that planning may look at besides the statement.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    pub catalog: &'a Catalog,
    pub settings: &'a Settings,
    pub relations: &'a dyn Relations,
    /// Types that the client gave for `$1`, `$2`, ...; those missing are inferred.
    pub parameter_types: &'a [Option<SqlType>],
}

/// Plans one statement.
///
/// # Errors
/// What the user has to mend.
pub fn plan(_statement: &ParsedStatement, _context: &PlanContext<'_>) -> Result<Plan> {
    Err(Error::unsupported("planning is not supported yet"))
}

/// Plans the canonical text of an object again, at start-up: the object, and the query where it is a view. The catalog of
/// the context holds what the object reads, and not the object itself.
///
/// # Errors
/// As [`plan`]; a text that this version cannot plan any more.
pub fn plan_object(
    _create_sql: &str,
    _id: ObjectId,
    _context: &PlanContext<'_>,
) -> Result<(Object, Option<LogicalPlan>)> {
    Err(Error::unsupported("planning is not supported yet"))
}

/// Optimizes the query of a SELECT or INSERT for running once.
///
/// # Errors
/// A query that no rule can bring into a form that runs.
pub fn optimize(_query: LogicalPlan) -> Result<LogicalPlan> {
    Err(Error::unsupported("planning is not supported yet"))
}

impl Plan {
    /// Puts values in the place of `$1`, `$2`, ...
    ///
    /// # Errors
    /// Another number of values than parameters, a value that its parameter's type cannot hold.
    pub fn bind(self, _values: &[ScalarValue]) -> Result<Plan> {
        Err(Error::unsupported("planning is not supported yet"))
    }
}
