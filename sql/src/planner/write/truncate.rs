//! TRUNCATE: all rows go.

use crate::error::Result;
use crate::plan::{Plan, PlanKind};
use crate::planner::PlanContext;
use crate::statement::Truncate as Statement;
use crate::text::SourceText;

use super::{Verb, find};

pub fn plan(truncate: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let mut tables = truncate
        .tables
        .iter()
        .map(|name| Ok(find(name, Verb::Truncate, text, context)?.id))
        .collect::<Result<Vec<_>>>()?;
    tables.sort_unstable();
    tables.dedup();
    Ok(PlanKind::Truncate(tables).into())
}
