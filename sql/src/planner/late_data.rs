//! `LATE DATA TO t`: a table that gets the late rows of a view.

use std::collections::BTreeSet;
use std::sync::Arc;

use millpond_catalog::{Object, ObjectId, ObjectKind};

use super::create_relation::position_of;
use super::{PlanContext, names};
use crate::error::{Error, ErrorKind, Result};
use crate::statement::{EmitClause, EmitKind};
use crate::text::SourceText;

/// The table that is named among the clauses of a view, which depends on it like on those that it reads.
///
/// # Errors
/// Not a table, one that could refuse a row, or one whose rows come back to the view.
pub fn target<'a>(
    clauses: &[EmitClause],
    reads: &mut Vec<ObjectId>,
    text: &SourceText,
    context: &PlanContext<'a>,
) -> Result<Option<&'a Arc<Object>>> {
    let mut named = clauses.iter().filter_map(|clause| match &clause.kind {
        EmitKind::LateDataTo(name) => Some((name, clause.position)),
        _ => None,
    });
    let Some((name, _)) = named.next() else {
        return Ok(None);
    };
    if let Some((_, position)) = named.next() {
        let error = Error::syntax("LATE DATA TO is given twice");
        return Err(error.or_position(Some(text.position_of_byte(position))));
    }
    let at = |error: Error| error.or_position(position_of(name, text));
    let table = names::lookup(name, context).map_err(at)?;
    takes_any_row(table).map_err(at)?;
    if comes_back(table.id, reads, context) {
        let message = format!(
            "late rows in {} would come back to the view that they are late for",
            table.name
        );
        let hint = "Send them to a table that neither the view nor what it reads depends on.";
        return Err(at(Error::invalid(message).with_hint(hint)));
    }
    if !reads.contains(&table.id) {
        reads.push(table.id);
    }
    Ok(Some(table))
}

fn takes_any_row(object: &Object) -> Result<()> {
    let table = match &object.kind {
        ObjectKind::Table(table) => table,
        ObjectKind::Sink(_) => {
            let message = format!(
                "LATE DATA TO takes a table or stream, and {} is a sink",
                object.name
            );
            let hint = "Send them to a stream, and create a sink FROM that.";
            return Err(Error::new(ErrorKind::WrongObjectType, message).with_hint(hint));
        }
        _ => {
            let kind = object.kind_name();
            let message = format!(
                "LATE DATA TO takes a table or stream, and {} is a {kind}",
                object.name
            );
            return Err(Error::new(ErrorKind::WrongObjectType, message));
        }
    };
    let may_refuse = if object.name.schema.starts_with("pg_temp_") {
        Some("is temporary")
    } else if table.keys.iter().any(|key| key.enforced) {
        Some("has a key")
    } else if !table.checks.is_empty() {
        Some("has a CHECK constraint")
    } else if object.columns.iter().any(|column| !column.nullable) {
        Some("has a column that is NOT NULL")
    } else {
        None
    };
    match may_refuse {
        None => Ok(()),
        Some(why) => Err(Error::unsupported(format!(
            "LATE DATA TO cannot take {}, which {why}",
            object.name
        ))
        .with_detail("A late row that is refused would stop the view.")
        .with_hint("Take a table or stream that accepts any row, and read it from there.")),
    }
}

/// Whether what is written to the table reaches one of these relations, by views and by their late rows.
fn comes_back(table: ObjectId, reads: &[ObjectId], context: &PlanContext<'_>) -> bool {
    let (mut reached, mut next) = (BTreeSet::new(), vec![table]);
    while let Some(id) = next.pop() {
        if !reached.insert(id) {
            continue;
        }
        for object in context.catalog.objects() {
            let late = object.query().and_then(|view| view.options.late_data_to);
            if object.reads.contains(&id) && late != Some(id) {
                next.push(object.id);
                next.extend(late);
            }
        }
    }
    reads.iter().any(|read| reached.contains(read))
}
