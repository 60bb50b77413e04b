//! DELETE: a query for the rows that go.

use crate::error::Result;
use crate::plan::{Plan, PlanKind, Write, WriteAction};
use crate::statement::Delete as Statement;
use crate::text::SourceText;

use super::returning::Others;
use super::{Table, Verb};
use crate::planner::{PlanContext, Purpose, query};

pub fn plan(delete: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let table = Table::find(&delete.target, Verb::Delete, text, context)?;
    let others = Others::find(
        &delete.returning,
        delete.with.as_ref(),
        &delete.using,
        text,
        context,
    )?;
    let mut items = table.numbered_row();
    items.extend(others.items());
    let query = table.query(
        delete.with.as_ref(),
        items,
        &delete.using,
        delete.selection.as_ref(),
    )?;
    let planned = query::plan_over(
        &query,
        Purpose::Select,
        Some(table.numbered(context)),
        text,
        context,
    )?;
    let returning = others.returning(
        &table,
        &delete.returning,
        delete.with.as_ref(),
        &planned.parameters,
        text,
        context,
    )?;
    let (returning, parameters) = returning.map_or((None, planned.parameters), |(r, p)| (Some(r), p));
    Ok(Plan {
        kind: PlanKind::Write(Box::new(Write {
            table: table.object.id,
            action: WriteAction::Delete,
            query: planned.plan,
            reads: planned.reads,
            checks: table.checks(),
            keys: Vec::new(),
            conditions: None,
            on_conflict: None,
            returning,
        })),
        notices: planned.notices,
        parameters,
    })
}
