//! ON CONFLICT: which key is meant, and a query for the rows that change instead of being inserted.

use millpond_catalog::{Key, SqlType};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{ConflictUpdate, OnConflict};
use crate::planner::assignment::check_types;
use crate::planner::{PlanContext, Purpose, keys, query};
use crate::statement::{ConflictAction, ConflictTarget, OnConflict as Statement};
use crate::text::SourceText;

use super::returning::Others;
use super::update::{assigned, complete};
use super::{HIDDEN, Table, hidden};

/// Plans the clause, with the types of all parameters of the statement.
pub fn plan(
    on_conflict: &Statement,
    table: &Table<'_>,
    parameters: Vec<SqlType>,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<(OnConflict, Vec<SqlType>)> {
    let key = key(&on_conflict.target, table, text)?;
    let ConflictAction::Update {
        assignments,
        selection,
    } = &on_conflict.action
    else {
        return Ok((OnConflict { key, update: None }, parameters));
    };
    if key.is_none() {
        return Err(Error::syntax(
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
        )
        .with_hint("For example, ON CONFLICT (column_name)."));
    }
    let excluded = Others::excluded(table);
    let mut assignments = assignments.clone();
    assignments
        .iter_mut()
        .try_for_each(|assignment| excluded.rename_value(&mut assignment.value, table))?;
    let mut selection = selection.clone();
    if let Some(selection) = &mut selection {
        excluded.rename(selection.as_mut(), table)?;
    }
    let assigned = assigned(&assignments, table, text)?;
    let mut items = table.standing_row();
    let values = assigned.iter().enumerate();
    items.extend(values.map(|(i, (_, value))| hidden(value.clone(), &format!("{HIDDEN}new{i}"))));
    let query = table.query(None, items, &[], selection.as_deref())?;
    let declared: Vec<_> = parameters.iter().cloned().map(Some).collect();
    let context = PlanContext {
        parameter_types: if parameters.is_empty() {
            context.parameter_types
        } else {
            &declared
        },
        ..*context
    };
    let rows = table.written(excluded.schema(table), &context);
    let planned = query::plan_over(&query, Purpose::Select, Some(rows), text, &context)?;
    let targets: Vec<usize> = assigned.iter().map(|(target, _)| *target).collect();
    let width = table.object.columns.len();
    check_types(&planned.columns[width..], &targets, table.object)?;
    let update = ConflictUpdate {
        query: complete(planned.plan, 0, &targets, table, text, &context)?,
        reads: planned.reads,
    };
    let on_conflict = OnConflict {
        key,
        update: Some(update),
    };
    Ok((on_conflict, planned.parameters))
}

/// Position of the key that the clause names.
fn key(target: &ConflictTarget, table: &Table<'_>, text: &SourceText) -> Result<Option<usize>> {
    let all = table.keys();
    match target {
        ConflictTarget::AnyKey => Ok(None),
        ConflictTarget::Constraint(name) => {
            let name = crate::planner::names::fold(name);
            let found = all.iter().position(|key| key.name == name);
            found.map(Some).ok_or_else(|| {
                let message = format!(
                    "constraint \"{name}\" for table \"{}\" does not exist",
                    table.object.name.name
                );
                Error::new(ErrorKind::UndefinedObject, message)
            })
        }
        ConflictTarget::Columns(columns) => {
            let mut wanted = keys::positions(columns, "ON CONFLICT", &table.object.columns, text)?;
            wanted.sort_unstable();
            let same = |key: &Key| {
                let mut columns = key.columns.clone();
                columns.sort_unstable();
                columns == wanted
            };
            all.iter().position(same).map(Some).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidColumnReference,
                    "there is no unique or exclusion constraint matching the ON CONFLICT specification",
                )
            })
        }
    }
}
