//! SELECT, VALUES, TABLE and WITH.

use sqlparser::ast;

use crate::error::Result;
use crate::plan::{Plan, PlanKind, Select};
use crate::text::SourceText;

use super::{PlanContext, Purpose, query};

pub fn plan(query: &ast::Query, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let query::Query {
        plan,
        columns,
        reads,
        parameters,
        notices,
        ..
    } = query::plan(query, Purpose::Select, text, context)?;
    Ok(Plan {
        kind: PlanKind::Select(Select {
            query: plan,
            reads,
            columns,
        }),
        notices,
        parameters,
    })
}
